// The tools: each is a command of this program that only reads, so that an agent gets what a user
// would.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/json_forward.hpp"
#include "mcp/child.hpp"

namespace gh {

/// There is no such tool, or it does not take such arguments.
struct BadCall : Error {
  using Error::Error;
};

/// A call of a tool that was found good.
struct ToolCall {
  std::vector<std::string> command;  ///< what to run: this program's arguments
  /// The answer that its standard output holds. Throws Json::exception if it cannot be read.
  std::function<std::string(const std::string& out)> answer;
  std::size_t most_characters = 0;
  std::string shorter;  ///< how to ask for less
};

/// All tools: names, descriptions, JSON schemas of what they take.
Json tool_list();

/// Checks the arguments of a call. Throws BadCall.
ToolCall tool_call(const std::string& tool, const Json& arguments);

/// The result of a call whose command ended.
Json tool_result(const ToolCall& call, const Printed& printed);

/// The result of a call that could not be answered.
Json failed_result(const std::string& why);

}  // namespace gh
