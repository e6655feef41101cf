// gh-advise serve: the page for browsers, or a report's, to this machine alone.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <thread>

#include "base/files.hpp"
#include "base/program.hpp"
#include "base/text.hpp"
#include "cli/check.hpp"
#include "cli/cli.hpp"

namespace gh {
namespace {

namespace fs = std::filesystem;

struct ServeCommand {
  std::string report, page;
  std::optional<int> port;
  bool no_open = false;
  RuleOptions rule;
  ReportOptions options;
};

// Where packages put the page, and where the build does.
std::string installed_page() {
  std::error_code ec;
  const fs::path folder = fs::read_symlink("/proc/self/exe", ec).parent_path();
  for (const char* place : {"../share/gh-advise/browser.html", "../browser/browser.html"})
    if (const fs::path page = folder / place; fs::exists(page, ec)) return page.string();
  throw Error(
      "there is no browser.html beside this program; take it from the release, and name it with "
      "--page");
}

std::string whole_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw Error(fmt::format("{}: cannot be read", printable(path)));
  return std::move(text).str();
}

std::string page_of_report(const ServeCommand& o) {
  const TemporaryFolder folder;
  const std::string page = (folder.path / "report.html").string();
  CheckCommand command;
  command.reports = {o.report};
  command.rule = o.rule;
  command.report = o.options;
  command.output.outputs = {page};  // an .html
  if (check(command) == could_not && !fs::exists(page))
    throw Error("there is no page to serve, as the report could not be judged");
  return whole_file(page);
}

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  operator int() const { return descriptor_; }

 private:
  int descriptor_;
};

// Listens on the loopback address, which no other machine reaches. Port 0: any that is free.
int listening(int port) {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (descriptor < 0 ||
      bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(descriptor, 16) != 0)
    throw Error(fmt::format("--port {}: {}; leave it out for a port that is free", port,
                            std::strerror(errno)));
  return descriptor;
}

int port_of(int descriptor) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

// The head of a request; "" if it does not come, or is longer than any browser's.
std::string request_head(int client) {
  constexpr std::size_t most_bytes = 64 << 10;
  std::string head;
  char part[4096];
  while (head.size() < most_bytes && head.find("\r\n\r\n") == head.npos) {
    const ssize_t got = recv(client, part, sizeof part, 0);
    if (got <= 0) return "";
    head.append(part, static_cast<std::size_t>(got));
  }
  return head.size() < most_bytes ? head : "";
}

void send_all(int client, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = send(client, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;  // who asked has left
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::string response(const char* status, const char* type, std::size_t bytes) {
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: {}; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: "
      "no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
      status, type, bytes);
}

// Whether a request names this server: a page elsewhere whose name was made to lead here does not.
bool asks_for_this(const std::string& head, int port) {
  for (const char* name : {"127.0.0.1", "localhost"})
    for (const char* header : {"Host", "host"})
      if (head.find(fmt::format("\r\n{}: {}:{}\r\n", header, name, port)) != head.npos) return true;
  return false;
}

void answer(int client, const std::string& page, int port) {
  const timeval patience{5, 0};
  setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  const std::string head = request_head(client);
  if (head.empty()) return;
  const bool only_head = head.starts_with("HEAD / ");
  if (!asks_for_this(head, port))
    send_all(client, response("403 Forbidden", "text/plain", 0));
  else if (!only_head && !head.starts_with("GET / "))
    send_all(client, response("404 Not Found", "text/plain", 0));
  else
    send_all(client, response("200 OK", "text/html", page.size()) + (only_head ? "" : page));
}

bool has_desktop() { return std::getenv("DISPLAY") || std::getenv("WAYLAND_DISPLAY"); }

int serve(const ServeCommand& o) {
  if (!o.report.empty() && !o.page.empty())
    throw Error("--page is for the page that reads reports itself; leave out one of both");
  const std::string page = !o.report.empty()
                               ? page_of_report(o)
                               : whole_file(o.page.empty() ? installed_page() : o.page);
  const Socket server(listening(o.port.value_or(0)));
  const int port = port_of(server);
  const std::string address = fmt::format("http://127.0.0.1:{}/", port);
  write_to_stdout(address + "\n");
  print_note("only this machine can open it; Ctrl-C ends it");
  if (!o.no_open && stdout_is_terminal() && has_desktop())
    std::thread([address] { run_program({"xdg-open", address}, "/dev/null"); }).detach();
  for (;;) {
    const Socket client(accept4(server, nullptr, nullptr, SOCK_CLOEXEC));
    if (client >= 0) answer(client, page, port);
  }
}

}  // namespace

Command add_serve(CommandLine& line) {
  Parser command(line, "serve",
                 "Open the page that reads reports, or a report's, in a browser here");
  const auto o = std::make_shared<ServeCommand>();
  command.option("REPORT", o->report,
                 "A report whose page to serve; without it, the page that reads the reports that "
                 "are dropped on it");
  command.option("--port", o->port, "Listen on this port (default: any that is free)")
      .type("N")
      .between(1, 65535);
  command.option("--page", o->page, "The file browser.html, if it is not beside the program")
      .type("FILE");
  command.flag("--no-open", o->no_open, "Only print the address, and start no browser");
  o->rule.add_choice(command);
  o->rule.add_sources(command);
  o->options.add(command);
  return {command, [o] { return serve(*o); }};
}

}  // namespace gh
