// How the built-in rules are written: thresholds are options, factors have sources, advice is data.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/embedded.hpp"
#include "base/schema_table.hpp"
#include "rules/literal_trace.hpp"
#include "rules/rules.hpp"
#include "support/lua_tokens.hpp"
#include "support/support.hpp"

using namespace gh;
using namespace support;

namespace {

// Where numbers are declared, with what they mean and where they come from.
const std::set<std::string> declared{"options", "factors", "constants"};
// Arithmetic, percent, and units of time.
const std::set<std::string> of_arithmetic{"0", "1", "2", "100", "1000", "1e3", "1e6", "1e9"};
// How many rows or letters are taken or shown.
const std::set<std::string> of_showing{"short", "top", "group", "launch_shapes", "select"};

// Goes through a rule's tokens; what(line, number) for each number that is a threshold of the code.
class Numbers {
 public:
  explicit Numbers(const std::string& source) : tokens_(lua_tokens(source)) {}

  std::vector<LuaToken> thresholds() {
    std::vector<LuaToken> found;
    for (at_ = 0; at_ < tokens_.size(); ++at_) {
      if (tokens_[at_].quoted) continue;
      const std::string& text = tokens_[at_].text;
      if (text == "{" || text == "(" || text == "[")
        open_.push_back({text, before(1) == "=" ? before(2) : before(1)});
      else if ((text == "}" || text == ")" || text == "]") && !open_.empty())
        open_.pop_back();
      else if (tokens_[at_].is_number() && !is_allowed())
        found.push_back(tokens_[at_]);
    }
    return found;
  }

 private:
  // The token so many places before this one, or behind it.
  std::string before(std::size_t places) const {
    return at_ < places ? "" : tokens_[at_ - places].text;
  }
  std::string next() const { return at_ + 1 < tokens_.size() ? tokens_[at_ + 1].text : ""; }

  bool is_sign(std::size_t places, const char* signs) const {
    const std::size_t at = at_ + places;
    return at < tokens_.size() && !tokens_[at].quoted && tokens_[at].text.size() == 1 &&
           std::string(signs).find(tokens_[at].text) != std::string::npos;
  }
  // 1 / 2, but not 1 - 1 / x.
  bool is_calculated() const {
    return is_sign(1, "+-*/%") && at_ + 2 < tokens_.size() && tokens_[at_ + 2].is_number() &&
           (!is_sign(1, "+-") || !is_sign(3, "*/%^"));
  }
  // x > 1e6: whatever it counts, that is a limit. Those of one digit are judged as any number.
  bool is_limit() const {
    const std::size_t sign = before(1) == "-" ? 2 : 1;
    const bool follows =
        before(sign) == ">" || before(sign) == "<" ||
        (before(sign) == "=" && std::string("<>=~").find(before(sign + 1)) != std::string::npos);
    return tokens_[at_].text.size() > 1 &&
           (follows || is_sign(1, "<>~") || (is_sign(1, "=") && is_sign(2, "=")));
  }

  bool is_allowed() const {
    const std::string& number = tokens_[at_].text;
    for (const Open& o : open_)
      if (o.sign == "{" && declared.contains(o.key)) return true;
    if (is_calculated() || is_limit()) return false;
    if (of_arithmetic.contains(number)) return true;
    if (before(2) == "warning_at") return true;
    if (number == "0.5" && before(1) == "+" && next() == ")") return true;            // rounds
    if (before(1) == "^") return number == "10" || number == "20" || number == "30";  // KiB to GiB
    if (before(1) == "[" && next() == "]") return true;                               // a position
    if (open_.empty()) return false;
    const Open& inner = open_.back();
    return (inner.sign == "(" && of_showing.contains(inner.key)) ||
           (inner.key == "evidence" && before(2) == "most");
  }

  // A bracket, and the name before it or that it is assigned to.
  struct Open {
    std::string sign, key;
  };
  std::vector<LuaToken> tokens_;
  std::size_t at_ = 0;
  std::vector<Open> open_;
};

template <class Take>
void each_source(Take take) {
  for (const EmbeddedFile& file : embedded_files())
    if (file.path.starts_with("rules/") && !file.path.ends_with(".test.lua"))
      take(std::string(file.path), std::string(file.text));
}

}  // namespace

TEST_CASE("rule style: a number of a rule's code is an option, a factor or a constant") {
  CHECK(Numbers("local function f() if x > 0.3 then return end end").thresholds().size() == 1);
  CHECK(Numbers("return { evaluate = function() return 3 * x / 2 end }").thresholds().size() == 1);
  CHECK(Numbers("return { options = { share = { default = 1 / 3 } } }").thresholds().empty());
  for (const char* hidden :
       {"x > 1 / 2", "x * (1 + 2)", "x < 1e6", "x >= 1000", "100 < x", "1000 == x", "x < -1e6"}) {
    CAPTURE(hidden);
    CHECK(Numbers("return " + std::string(hidden)).thresholds().size() == 1);
  }
  CHECK(Numbers("return x * (1 - 1 / y) > 0 and 2 * x > y or x == 1").thresholds().empty());
  CHECK(Numbers("rows:evidence { most = 5 } name:short(28) math.floor(x + 0.5)")
            .thresholds()
            .empty());
  each_source([](const std::string& path, const std::string& source) {
    for (const LuaToken& number : Numbers(source).thresholds())
      FAIL_CHECK(path << ":" << number.line << ": " << number.text
                      << " is neither in options nor in factors nor in constants");
  });
}

TEST_CASE(
    "rule style: a constant has a comment, and an option and a factor say where they come from") {
  each_source([](const std::string& path, const std::string& source) {
    for (std::size_t at = source.find("\nlocal constants = {\n"); at != source.npos;
         at = source.npos) {
      const std::string table = source.substr(at, source.find("\n}", at) - at);
      std::size_t lines = 0, comments = 0;
      for (std::size_t i = table.find("\n  "); i != table.npos; i = table.find("\n  ", i + 1))
        ++lines;
      for (std::size_t i = table.find("--"); i != table.npos; i = table.find("--", i + 1))
        ++comments;
      INFO(path);
      CHECK(comments >= lines);
    }
  });
  for (const Rule& rule : own_rules())
    for (const auto& [name, option] : rule.options) {
      INFO(rule.id, ", ", name);
      CHECK(option.doc.size() > 10);
      if (option.range) CHECK(option.range->source.size() > 10);
    }
}

// A misspelled cause would select nothing.
TEST_CASE("rule style: the causes that rules name exist") {
  std::vector<std::string> known{""}, accounts;
  for (std::size_t c = 0; c < idle_causes; ++c)
    known.emplace_back(name_of(static_cast<IdleCause>(c)));
  for (const auto c : {MigrationCause::prefetch, MigrationCause::fault, MigrationCause::speculative,
                       MigrationCause::eviction, MigrationCause::access_counter})
    known.emplace_back(name_of(c));
  const Analysis none(trace_from_text("return { ops = { { 0, 10, kernel = 'k' } } }"), Classes(),
                      {});
  for (const std::string& cause : none.account.causes) accounts.push_back("account." + cause + "_");
  // The text is one of these, or its beginning up to a '*' begins one.
  const auto begins = [](std::string text, const std::vector<std::string>& all) {
    const bool whole = text.empty() || text.back() != '*';
    if (!whole) text.pop_back();
    return std::any_of(all.begin(), all.end(), [&](const std::string& one) {
      return whole ? one == text : one.starts_with(text);
    });
  };
  std::size_t named = 0;
  each_source([&](const std::string& path, const std::string& source) {
    const std::vector<LuaToken> tokens = lua_tokens(source);
    for (std::size_t i = 0; i + 2 < tokens.size(); ++i) {
      INFO(path, ":", tokens[i].line);
      if (tokens[i].quoted && tokens[i].text.starts_with("account.") &&
          tokens[i].text != "account.idle.") {
        ++named;
        CHECK(std::any_of(accounts.begin(), accounts.end(),
                          [&](const std::string& a) { return tokens[i].text.starts_with(a); }));
      }
      if (tokens[i].quoted || tokens[i].text != "cause" || !tokens[i + 1].is_sign("=")) continue;
      const bool list = tokens[i + 2].is_sign("{");
      for (std::size_t at = i + 2 + list; at < tokens.size() && tokens[at].quoted; at += 2) {
        ++named;
        CAPTURE(tokens[at].text);
        CHECK(begins(tokens[at].text, known));
        if (!list) break;
      }
    }
  });
  CHECK(named > 40);
}

// A misspelled condition would hold never, or always.
TEST_CASE("rule style: what advice asks for is a message, or is seen somewhere in the rule") {
  std::size_t asked = 0;
  std::set<std::string> owners{"owner"};
  each_entry(schema_table("schemas/owners.toml"), "owner", [&](const toml::table& entry) {
    owners.insert(entry["key"].value_or(std::string()));
    // A misspelled kind of program would never get its fix.
    const auto is_kind = [](std::string_view key) {
      const std::vector<std::string>& kinds = program_kinds();
      return std::find(kinds.begin(), kinds.end(), key) != kinds.end();
    };
    if (const toml::table* fixes = entry["fix"].as_table())
      for (const auto& [kind, fix] : *fixes) {
        CHECK_MESSAGE(is_kind(kind.str()), kind.str());
        if (const toml::table* more = fix.as_table())
          for (const auto& [beside, text] : *more) {
            CHECK_MESSAGE(is_kind(beside.str()), beside.str());
            CHECK(text.is_string());
          }
      }
  });
  each_source([&](const std::string& path, const std::string& source) {
    const std::vector<LuaToken> tokens = lua_tokens(source);
    std::set<std::string> known = owners;  // and whatever stands elsewhere in the rule
    std::vector<LuaToken> conditions;
    bool in_condition = false;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const auto& [text, line, quoted] = tokens[i];
      if (!quoted && (text == "when" || text == "unless") && i + 1 < tokens.size() &&
          tokens[i + 1].text == "=")
        in_condition = true;
      else if (in_condition && quoted)
        conditions.push_back(tokens[i]);
      else if (in_condition && text != "=" && text != "{" && text != ",")
        in_condition = false;
      if (in_condition && i > 0 && quoted && tokens[i - 1].is_sign("="))
        in_condition = false;
      else if (!in_condition)
        known.insert(text);
    }
    for (const LuaToken& c : conditions) {
      ++asked;
      INFO(path, ":", c.line, ": ", c.text);
      CHECK(known.contains(c.text));
    }
  });
  CHECK(asked > 200);
}
