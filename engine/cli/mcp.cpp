// gh-advise mcp: answers agents.

#include "mcp/mcp.hpp"

#include <unistd.h>

#include "cli/cli.hpp"
#include "cli/output.hpp"

namespace gh {

Command add_mcp(CommandLine& line) {
  Parser command(line, "mcp",
                 "Serve agents: the Model Context Protocol on standard input and output");
  return {
      command, [] {
        if (isatty(STDIN_FILENO) != 0)
          print_note("mcp waits for messages of an agent, which starts it itself; Ctrl-D ends it");
        serve_agent();
        return done;
      }};
}

}  // namespace gh
