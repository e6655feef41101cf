#include "support/program.hpp"

#include <sys/wait.h>

#include <cstdlib>
#include <regex>

namespace fs = std::filesystem;

namespace support {

Ran shell(const std::string& command, const How& how) {
  const TempDir dir;
  write_file(dir / "command", "cd " + quoted(how.folder) + " && " + command + "\n");
  const std::string clean =
      "env -u COLUMNS -u NO_COLOR -u LC_CTYPE -u LANG TERM=xterm LC_ALL=C.UTF-8 ";
  const int status =
      std::system((clean + how.environment + " bash " + quoted(dir / "command") + " >" +
                   quoted(dir / "out") + " 2>" + quoted(dir / "err") + " </dev/null")
                      .c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_file(dir / "out"),
          read_file(dir / "err")};
}

Ran advise(const std::string& arguments, const How& how) {
  return shell("exec '" GH_PROGRAM "' " + arguments, how);
}

Ran on_terminal(const std::string& arguments, const How& how, int columns) {
  Ran ran = shell("exec script -qec \"stty cols " + std::to_string(columns) +
                      "; '" GH_PROGRAM "' " + arguments + "\" /dev/null",
                  how);
  ran.out =
      std::regex_replace(ran.out, std::regex("\r\x1b\\[K([^\r\n]* \\.\\.\\. [0-9]+ s(?=\r))?"), "");
  std::erase(ran.out, '\r');
  return ran;
}

std::string advice_on(const std::filesystem::path& report) {
  auto json = report_of(advise("--format json " + quoted(report)));
  json["report"].erase("path");
  json["report"].erase("environment_variables");
  return json.dump(1);
}

nlohmann::ordered_json json_of(const Ran& ran) {
  INFO(ran.err);
  REQUIRE(!ran.out.empty());
  return nlohmann::ordered_json::parse(ran.out);
}

nlohmann::ordered_json report_of(const Ran& ran) {
  const auto document = json_of(ran);
  REQUIRE(document["reports"].size() == 1);
  return document["reports"][0];
}

std::set<std::string> rule_ids(const Ran& ran) {
  std::set<std::string> ids;
  const auto document = json_of(ran);
  for (const auto& rule : document["rules"]) ids.insert(rule["id"].get<std::string>());
  return ids;
}

std::string error_line(const std::string& arguments, const How& how) {
  const Ran ran = advise(arguments, how);
  const std::string name = "gh-advise: ";
  CHECK(ran.status == 2);
  CHECK(ran.out == "");
  CHECK(ran.err.starts_with(name));
  CHECK(lines_of(ran.err).size() == 1);
  CHECK(ran.err.ends_with("\n"));
  return ran.err.size() > name.size()
             ? ran.err.substr(name.size(), ran.err.size() - name.size() - 1)
             : ran.err;
}

void write_script(const fs::path& path, const std::string& script) {
  fs::create_directories(path.parent_path());
  write_file(path, "#!/bin/sh\n" + script);
  fs::permissions(path, fs::perms::owner_all);
}

}  // namespace support
