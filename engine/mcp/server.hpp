// The server: JSON-RPC 2.0, a message a line.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/json.hpp"
#include "mcp/tools.hpp"

namespace gh {

/// Longer lines are refused, and not kept in memory.
inline constexpr std::size_t longest_message = 4u << 20;

/// Answers an agent. Tools run one after the other on a thread of the server, so that an agent can
/// cancel a call while it runs.
class McpServer {
 public:
  /// `write` gets each line to send; it is called from two threads, never at the same time.
  explicit McpServer(std::function<void(const std::string& line)> write);
  ~McpServer();
  McpServer(const McpServer&) = delete;
  McpServer& operator=(const McpServer&) = delete;

  /// Takes a line. Throws ClosedPipe if nobody reads the answers any more.
  void receive(std::string_view line);
  /// Instead of a line that is too long.
  void refuse_long_line();
  /// Waits until everything is answered.
  void finish();

 private:
  // The answers to a line, which are sent together if it was a batch.
  struct Reply {
    bool batch = false;
    std::size_t missing = 1;  // messages that are not settled yet
    Json answers = Json::array();
  };
  struct Call {
    Json id;
    ToolCall call;
    std::shared_ptr<Reply> reply;
    bool cancelled = false;
  };

  void handle(const Json& message, const std::shared_ptr<Reply>& reply);
  Json initialize(const Json& params);
  void call(const Json& id, const Json& params, const std::shared_ptr<Reply>& reply);
  void cancel(const Json& params);
  void work();
  Json run(Call& call);
  void settle(Reply& reply, const Json& answer);
  void end_work();

  std::function<void(const std::string&)> write_;
  std::string version_;  // of the protocol

  std::mutex mutex_;  // of everything below, and of all replies
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Call>> waiting_;
  std::unique_ptr<Call> running_;
  std::unique_ptr<Child> child_;  // of the call that runs
  bool finishing_ = false;
  std::exception_ptr failed_;  // nobody reads the answers any more
  std::thread worker_;
};

/// Serves an agent on standard input and output until the input ends.
void serve_agent();

}  // namespace gh
