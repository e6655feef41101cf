// gh-advise serve: the page for browsers, or a report's, to whoever started it alone.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "base/files.hpp"
#include "base/text.hpp"
#include "cli/check.hpp"
#include "cli/cli.hpp"

namespace gh {
namespace {

namespace fs = std::filesystem;

struct ServeCommand {
  std::vector<std::string> reports;  // of one job
  std::string page;
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

std::string page_of_reports(const ServeCommand& o) {
  const TemporaryFolder folder;
  const std::string page = (folder.path / "report.html").string();
  CheckCommand command;
  command.reports = o.reports;
  command.rule = o.rule;
  command.report = o.options;
  command.output.outputs = {page};  // an .html
  if (check(command) == could_not && !fs::exists(page))
    throw Error("there is no page to serve, as the report could not be judged");
  return read_text(page);
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

// Where the page is: "/", digits that nobody can guess, "/". Every user of this machine reaches the
// port.
std::string secret_path() {
  std::array<unsigned char, 16> bytes{};
  if (getentropy(bytes.data(), bytes.size()) != 0)
    throw Error("there are no random numbers, so the page would have no secret address");
  std::string path = "/";
  for (const unsigned char byte : bytes) path += fmt::format("{:02x}", byte);
  return path + '/';
}

// Takes as long however much of it is right, so that nobody can find it piece by piece.
bool is_same(std::string_view asked, std::string_view secret) {
  if (asked.size() != secret.size()) return false;
  int differs = 0;
  for (std::size_t i = 0; i < secret.size(); ++i) differs |= asked[i] ^ secret[i];
  return differs == 0;
}

// Whether another user than ours, or root, holds the other end of a connection: the address stands
// on the command line of the browser that was started with it, where others can read it. False if
// the system does not say.
bool is_of_another_user(int client) {
  sockaddr_in here{}, there{};
  socklen_t here_size = sizeof here, there_size = sizeof there;
  if (getsockname(client, reinterpret_cast<sockaddr*>(&here), &here_size) != 0 ||
      getpeername(client, reinterpret_cast<sockaddr*>(&there), &there_size) != 0)
    return false;
  // As the kernel writes rows: the own address, then that of the other end. That may be a socket of
  // IPv6, connected to ::ffff:127.0.0.1.
  const auto row_of = [](const char* before, const sockaddr_in& own, const sockaddr_in& other) {
    return fmt::format("{0}{1:08X}:{2:04X} {0}{3:08X}:{4:04X}", before, own.sin_addr.s_addr,
                       ntohs(own.sin_port), other.sin_addr.s_addr, ntohs(other.sin_port));
  };
  const std::string ours = row_of("", here, there), theirs = row_of("", there, here),
                    theirs6 = row_of("0000000000000000FFFF0000", there, here);
  bool told = false;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream connections(table);
    for (std::string row; std::getline(connections, row);) {
      told = told || row.find(ours) != row.npos;
      if (row.find(theirs) == row.npos && row.find(theirs6) == row.npos) continue;
      std::istringstream columns(row);
      std::string skipped;
      for (int i = 0; i < 7; ++i) columns >> skipped;
      uid_t user = 0;
      return columns >> user && user != 0 && user != geteuid();
    }
  }
  return told;  // our end stands there, and the other one nowhere
}

// The head of a request; "" if it does not come soon, or is longer than any browser's.
std::string request_head(int client) {
  constexpr std::size_t most_bytes = 64 << 10;
  const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  std::string head;
  char part[4096];
  while (head.size() < most_bytes && head.find("\r\n\r\n") == head.npos) {
    if (std::chrono::steady_clock::now() > last) return "";
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
      "no-store\r\nContent-Security-Policy: frame-ancestors 'none'\r\nX-Frame-Options: DENY\r\n"
      "Referrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\nConnection: "
      "close\r\n\r\n",
      status, type, bytes);
}

// Whether a request names this machine, by whichever port it came here: a page elsewhere whose name
// was made to lead here does not.
bool asks_for_this_machine(const std::string& asked) {
  const std::string head = in_lower_case(asked);
  constexpr std::string_view header = "\r\nhost:";
  const std::size_t at = head.find(header);
  if (at == head.npos) return false;
  std::string_view host = std::string_view(head).substr(at + header.size());
  host = host.substr(0, host.find("\r\n"));
  while (host.starts_with(' ')) host.remove_prefix(1);
  host = host.substr(0, host.find(':'));
  return host == "127.0.0.1" || host == "localhost";
}

// "" if it is no request for a page.
std::string_view asked_path(std::string_view head) {
  for (const std::string_view method : {"GET ", "HEAD "})
    if (head.starts_with(method))
      return head.substr(method.size(), head.find(' ', method.size()) - method.size());
  return "";
}

void answer(int client, const std::string& path, const std::string& page) {
  const timeval patience{5, 0};
  setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  const std::string head = request_head(client);
  if (head.empty()) return;
  const auto send_text = [&](const char* status, std::string_view text) {
    send_all(client, response(status, "text/plain", text.size()) + std::string(text));
  };
  if (!asks_for_this_machine(head))
    send_text("403 Forbidden", "Ask for 127.0.0.1 or localhost.\n");
  else if (is_of_another_user(client))
    send_text("403 Forbidden", "Only the user who started gh-advise serve is answered.\n");
  else if (!is_same(asked_path(head), path))
    send_text("404 Not Found", "The page is at the address that gh-advise serve printed.\n");
  else
    send_all(client, response("200 OK", "text/html", page.size()) +
                         (head.starts_with("HEAD ") ? "" : page));
}

// Answers each client on a thread of its own, as browsers open connections and then say nothing.
[[noreturn]] void answer_all(int server, const std::string& path, const std::string& page) {
  constexpr int most_clients = 64;
  std::atomic<int> clients = 0;
  for (;;) {
    const int descriptor = accept4(server, nullptr, nullptr, SOCK_CLOEXEC);
    if (descriptor < 0 || clients >= most_clients) {
      if (descriptor >= 0) close(descriptor);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      continue;
    }
    ++clients;
    try {
      std::thread([descriptor, &path, &page, &clients] {
        const Socket client(descriptor);
        answer(client, path, page);
        --clients;
      }).detach();
    } catch (const std::system_error&) {  // no thread is available
      close(descriptor);
      --clients;
    }
  }
}

// Opens the address as the desktop does, in a session of its own: the browser stays when this ends.
void open_in_browser(const std::string& address) {
  pid_t ignored = 0;
  start_program({.words = {"xdg-open", address}, .group = ProcessGroup::own_in_a_session}, ignored);
}

bool has_desktop() { return std::getenv("DISPLAY") || std::getenv("WAYLAND_DISPLAY"); }

int serve(const ServeCommand& o) {
  if (!o.reports.empty() && !o.page.empty())
    throw Error("--page is for the page that reads reports itself; leave out one of both");
  const std::string page = !o.reports.empty()
                               ? page_of_reports(o)
                               : read_text(o.page.empty() ? installed_page() : o.page);
  const Socket server(listening(o.port.value_or(0)));
  const std::string path = secret_path();
  const std::string address = fmt::format("http://127.0.0.1:{}{}", port_of(server), path);
  write_to_stdout(address + "\n");
  print_note("only you can open it, and only on this machine; Ctrl-C ends it");
  if (!o.no_open && stdout_is_terminal() && has_desktop()) open_in_browser(address);
  answer_all(server, path, page);
}

}  // namespace

Command add_serve(CommandLine& line) {
  Parser command(line, "serve",
                 "Open the page that reads reports, or a report's, in a browser here");
  const auto o = std::make_shared<ServeCommand>();
  command.option("REPORT", o->reports,
                 "A report, or those of the ranks of one job, whose page to serve; without it, the "
                 "page that reads the reports that are dropped on it");
  command.option("--port N", o->port, "Listen on this port (default: any that is free)")
      .between(1, 65535);
  command.option("--page FILE", o->page, "The file browser.html, if it is not beside the program");
  command.flag("--no-open", o->no_open, "Only print the address, and start no browser");
  o->rule.add(command);
  o->options.add(command);
  return {command, [o] { return serve(*o); }};
}

}  // namespace gh
