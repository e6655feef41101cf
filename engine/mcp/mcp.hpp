// For agents: the Model Context Protocol, a JSON-RPC in lines.
//
//   server.hpp  lines that come in -> lines that go out: the protocol
//   tools.hpp   a tool and its arguments -> a command line; what that printed -> the tool's result
//   child.hpp   runs that command line: this program itself, in another process
#pragma once
#include "mcp/server.hpp"
