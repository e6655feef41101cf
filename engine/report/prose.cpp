#include "report/prose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>

#include "base/schema_table.hpp"
#include "base/text.hpp"
#include "report/html_parts.hpp"

namespace gh {
namespace {

constexpr std::string_view::size_type nowhere = std::string_view::npos;
// What stands in parentheses or behind an equals sign is code up to this length; beyond it a
// parenthesis is missing.
constexpr std::size_t most_of_code = 400;

// Letters of ASCII, whatever the locale.
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_name(char c) { return is_upper(c) || is_lower(c) || c == '_'; }
bool in_name(char c) { return begins_name(c) || is_digit(c); }

// Where the names of schemas/links.toml lead.
class Documentation {
 public:
  Documentation() {
    const toml::table table = schema_table("schemas/links.toml");
    const toml::array* links = table["link"].as_array();
    for (const toml::node& node : *links) {
      const toml::table& link = *node.as_table();
      const auto address = link["url"].value_or(std::string());
      addresses_.push_back(address);
      for (const std::string& name : strings(link["api"])) apis_.emplace(name, address);
      for (const std::string& name : strings(link["name"])) {
        words_.emplace(name, address);
        by_first_word_[name.substr(0, name.find(' '))].push_back(name);
      }
    }
    for (auto& [word, names] : by_first_word_)
      std::sort(names.begin(), names.end(),
                [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
  }

  bool is_api(std::string_view name) const { return apis_.contains(std::string(name)); }
  // "" where it is not known.
  std::string_view of_code(std::string_view name) const {
    const auto at = apis_.find(std::string(name));
    return at != apis_.end() ? std::string_view(at->second) : of_words(name);
  }
  std::string_view of_words(std::string_view name) const {
    const auto at = words_.find(std::string(name));
    return at != words_.end() ? std::string_view(at->second) : std::string_view();
  }
  // The longest name with which a text begins that starts with this word; "" where there is none.
  std::string_view begins(std::string_view text, std::string_view word) const {
    const auto names = by_first_word_.find(std::string(word));
    if (names == by_first_word_.end()) return "";
    for (const std::string& name : names->second)
      if (text.starts_with(name) && (text.size() == name.size() || !in_name(text[name.size()])))
        return name;
    return "";
  }
  const std::vector<std::string>& addresses() const { return addresses_; }

 private:
  std::unordered_map<std::string, std::string> apis_, words_;
  std::unordered_map<std::string, std::vector<std::string>> by_first_word_;
  std::vector<std::string> addresses_;
};

const Documentation& documentation() {
  static const Documentation it;
  return it;
}

// Where the bracket that opens at `at` is closed, one past it; `nowhere` where it is not.
std::size_t past_bracket(std::string_view text, std::size_t at) {
  std::string open;
  char quote = 0;
  for (std::size_t i = at; i < text.size() && i - at < most_of_code; ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || (c == '\'' && i > 0 && !in_name(text[i - 1]))) {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      open += c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (c == ')' || c == ']' || c == '}') {
      if (open.empty() || open.back() != c) return nowhere;
      open.pop_back();
      if (open.empty()) return i + 1;
    }
  }
  return nowhere;
}

// Where the template arguments that open at `at` are closed: kernels' names have them.
std::size_t past_template(std::string_view text, std::size_t at) {
  if (at + 1 >= text.size() || !(in_name(text[at + 1]) || text[at + 1] == '>')) return nowhere;
  int depth = 0;
  for (std::size_t i = at; i < text.size() && i - at < most_of_code; ++i) {
    if (text[i] == '<') ++depth;
    if (text[i] == '>' && --depth == 0) return i + 1;
    if (text[i] == ';' || text[i] == '"') return nowhere;
  }
  return nowhere;
}

// Behind an equals sign: up to a space outside of brackets and quotes, without the sentence's own
// punctuation.
std::size_t past_value(std::string_view text, std::size_t at) {
  std::size_t i = at;
  while (i < text.size() && i - at < most_of_code) {
    const char c = text[i];
    if (c == ' ' || c == ')' || c == ']' || c == '}' || c == '`' || c == ';') break;
    std::size_t next = i + 1;
    if (c == '(' || c == '[' || c == '{')
      next = past_bracket(text, i);
    else if (c == '"' || c == '\'')
      next = text.find(c, i + 1) == nowhere ? nowhere : text.find(c, i + 1) + 1;
    if (next == nowhere) break;
    i = next;
  }
  while (i > at && std::string_view(".,:!?").find(text[i - 1]) != nowhere) --i;
  return i;
}

// A function of a CUDA library: a known prefix, a capital letter and a small one.
bool is_cuda_function(std::string_view name) {
  static constexpr std::array prefixes{"cudaGraph", "cuda", "cudnn", "cublasLt", "cublas",
                                       "nccl",      "nvtx", "cufft", "cusparse", "cu"};
  return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view prefix) {
    return name.starts_with(prefix) && name.size() > prefix.size() + 2 &&
           is_upper(name[prefix.size()]) && is_lower(name[prefix.size() + 1]);
  });
}

// "torch.compile", not "e.g": a name between two dots has three letters.
bool has_word(std::string_view dotted) {
  std::size_t run = 0;
  for (const char c : dotted) {
    run = c == '.' ? 0 : run + 1;
    if (run >= 3) return true;
  }
  return false;
}

struct Code {
  std::size_t end = 0;  // one past it; 0: no code begins here
  bool worth_copying = false;
};

// A name and what hangs on it: dots, "::", calls, subscripts, template arguments, an assignment.
Code expression_at(std::string_view text, std::size_t from) {
  std::size_t i = from;
  bool dots = false, scopes = false, called = false, arguments = false, assigned = false;
  const auto take_name = [&] {
    if (i < text.size() && text[i] == '@') ++i;  // a macro of Julia
    while (i < text.size() && in_name(text[i])) ++i;
  };
  const auto name_at = [&](std::size_t at) {
    return at < text.size() && (begins_name(text[at]) || (text[at] == '@' && at + 1 < text.size() &&
                                                          begins_name(text[at + 1])));
  };
  take_name();
  const std::size_t first_name = i;
  while (i < text.size()) {
    if (text[i] == '.' && name_at(i + 1)) {
      dots = true;
      ++i;
      take_name();
    } else if (text.substr(i).starts_with("::") && name_at(i + 2)) {
      scopes = true;
      i += 2;
      take_name();
    } else if (text[i] == '(' || text.substr(i).starts_with("!(")) {
      const std::size_t open = text[i] == '!' ? i + 1 : i, end = past_bracket(text, open);
      if (end == nowhere) break;
      const std::string_view inside = text.substr(open + 1, end - open - 2);
      if (inside == "s" || inside == "es") break;
      called = true;
      arguments = arguments || !inside.empty();
      i = end;
    } else if (text[i] == '[') {
      const std::size_t end = past_bracket(text, i);
      if (end == nowhere) break;
      called = arguments = true;
      i = end;
    } else if (text[i] == '<' && (scopes || text.substr(from, i - from).find('_') != nowhere)) {
      const std::size_t end = past_template(text, i);
      if (end == nowhere) break;
      i = end;
    } else if (text[i] == '=' && !called && i > from + 1 &&
               !(i + 1 < text.size() && text[i + 1] == '=')) {
      i = past_value(text, i + 1);
      assigned = true;
      break;
    } else if (text[i] == '*' && text[i - 1] == '_') {  // torch._foreach_*
      ++i;
      break;
    } else {
      break;
    }
  }
  const std::string_view code = text.substr(from, i - from),
                         name = text.substr(from, first_name - from);
  const bool is_code = called || assigned || scopes || (dots && has_word(code)) ||
                       (code.size() > 2 && code.find('_') != nowhere) || code.starts_with('@') ||
                       is_cuda_function(name) || documentation().is_api(name);
  if (!is_code) return {};
  return {i, assigned || arguments};
}

// One past the word that begins here, without the sentence's punctuation.
std::size_t past_word(std::string_view text, std::size_t from) {
  std::size_t i = std::min(text.find(' ', from), text.size());
  while (i > from && std::string_view(".,:;!?)\"").find(text[i - 1]) != nowhere &&
         text.substr(from, i - from) != "...")
    --i;
  return i;
}

bool is_option(std::string_view text, std::size_t at) {
  if (at + 1 >= text.size() || text[at] != '-') return false;
  if (text[at + 1] == '-') return at + 2 < text.size() && begins_name(text[at + 2]);
  return begins_name(text[at + 1]);
}

// What follows an option and is no word of the sentence: 4, N, train.py, PERFORMANCE, SpeedOfLight.
bool is_value(std::string_view word) {
  if (word.empty()) return false;
  if (word == "..." || std::all_of(word.begin(), word.end(), is_digit)) return true;
  if (word.find_first_of("./_=:") != nowhere) return true;
  if (!begins_name(word.front())) return false;
  for (std::size_t i = 1; i < word.size(); ++i)
    if (is_lower(word[i - 1]) && is_upper(word[i])) return true;
  return std::none_of(word.begin(), word.end(), is_lower);
}

// An option that begins here, with its value: "--membind=N", "--num-workers 4".
std::size_t past_option(std::string_view text, std::size_t at) {
  std::size_t i = at;
  while (i < text.size() && (in_name(text[i]) || text[i] == '-')) ++i;
  while (text[i - 1] == '-') --i;
  if (i < text.size() &&
      (text[i] == '=' || (text[i] == ':' && i + 1 < text.size() && text[i + 1] != ' ')))
    return past_value(text, i + 1);
  if (i + 1 < text.size() && text[i] == ' ') {
    const std::size_t end = past_word(text, i + 1);
    if (end > i + 1 && is_value(text.substr(i + 1, end - i - 1)) && text[i + 1] != '-') return end;
  }
  return i;
}

Code options_at(std::string_view text, std::size_t from) {
  // One dash and a word is a dash of the sentence.
  const bool of_one_dash = text[from + 1] != '-';
  std::size_t end = past_option(text, from);
  if (of_one_dash && text.substr(from, end - from).find_first_of("=:") == nowhere) return {};
  while (end + 2 < text.size() && text[end] == ' ' && text[end + 1] == '-' &&
         is_option(text, end + 1))
    end = past_option(text, end + 1);
  return {end, text.substr(from, end - from).find_first_of("= ") != nowhere};
}

// A program and what is handed to it.
Code command_at(std::string_view text, std::size_t from) {
  static const std::set<std::string, std::less<>> programs{
      "accelerate", "dcgmi", "deepspeed",  "docker",  "export",   "gh-advise", "mpirun",
      "ncu",        "nsys",  "numactl",    "nvcc",    "pip",      "py-spy",    "python",
      "python3",    "srun",  "nvidia-smi", "taskset", "torchrun", "ulimit",    "vllm"};
  static const std::set<std::string, std::less<>> subcommands{
      "check",  "diff", "export", "gate",  "install", "launch", "profile",
      "record", "run",  "serve",  "stats", "top",     "topo"};
  std::size_t i = from;
  while (i < text.size() && (in_name(text[i]) || text[i] == '-')) ++i;
  const std::string_view program = text.substr(from, i - from);
  if (!programs.contains(program)) return {};
  std::size_t end = i;
  bool complete = false;
  while (end + 1 < text.size() && text[end] == ' ') {
    const std::size_t at = end + 1, word_end = past_word(text, at);
    const std::string_view word = text.substr(at, word_end - at);
    if (is_option(text, at)) {
      end = past_option(text, at);
    } else if ((!complete && subcommands.contains(word)) || is_value(word) ||
               (complete && programs.contains(word))) {
      end = word_end;
    } else {
      break;
    }
    complete = true;
  }
  return complete ? Code{end, true} : Code{};
}

// The code that begins here; `end` is 0 where none does.
Code code_at(std::string_view text, std::size_t at) {
  if (is_option(text, at)) return options_at(text, at);
  if (text[at] == '.' && at + 1 < text.size() && begins_name(text[at + 1])) {
    const Code method = expression_at(text, at + 1);
    return method.end > 0 && text[method.end - 1] == ')' ? method : Code{};
  }
  if (!begins_name(text[at]) &&
      !(text[at] == '@' && at + 1 < text.size() && is_lower(text[at + 1])))
    return {};
  const Code of_program = command_at(text, at);
  return of_program.end > 0 ? of_program : expression_at(text, at);
}

// Whether a word may begin here: not within another, nor within a path or a hyphenated word.
bool at_boundary(std::string_view text, std::size_t at) {
  return at == 0 ||
         !(in_name(text[at - 1]) || std::string_view("./-@:").find(text[at - 1]) != nowhere);
}

std::string link_to(std::string_view address, std::string_view text) {
  return fmt::format("<a href=\"{}\" target=_blank rel=\"noopener noreferrer\">{}</a>",
                     escaped(address), escaped(text));
}

// Linked once each.
class Linker {
 public:
  // A name in code: a word of letters, digits, dots, underscores and hyphens.
  std::string code(std::string_view text) {
    std::string out;
    std::size_t plain = 0;
    for (std::size_t i = 0; i < text.size();) {
      std::size_t end = i;
      while (end < text.size() && (in_name(text[end]) || text[end] == '.' || text[end] == '-'))
        ++end;
      if (end == i) {
        ++i;
        continue;
      }
      std::size_t from = i;
      while (from < end && text[from] == '-') ++from;
      const std::string_view name = text.substr(from, end - from);
      if (const std::string_view to = documentation().of_code(name); !to.empty() && first(to)) {
        out += escaped(text.substr(plain, from - plain)) + link_to(to, name);
        plain = end;
      }
      i = end;
    }
    return out + escaped(text.substr(plain));
  }

  // Names of one word or several: "CUDA graphs".
  std::string words(std::string_view text) {
    std::string out;
    std::size_t plain = 0;
    for (std::size_t i = 0; i < text.size();) {
      if (!begins_name(text[i]) || !at_boundary(text, i)) {
        ++i;
        continue;
      }
      std::size_t end = i;
      while (end < text.size() && (in_name(text[end]) || text[end] == '-')) ++end;
      const std::string_view name = documentation().begins(text.substr(i), text.substr(i, end - i));
      if (const std::string_view to = documentation().of_words(name); !to.empty() && first(to)) {
        out += escaped(text.substr(plain, i - plain)) + link_to(to, name);
        plain = i + name.size();
      }
      i = std::max(end, plain);
    }
    return out + escaped(text.substr(plain));
  }

 private:
  bool first(std::string_view address) { return linked_.insert(address).second; }
  std::set<std::string_view> linked_;
};

}  // namespace

std::vector<ProsePart> prose_parts(std::string_view text) {
  std::vector<ProsePart> parts;
  std::size_t plain = 0;
  const auto add = [&](std::size_t from, std::size_t to, std::size_t next, bool worth_copying) {
    if (from > plain && text[from - 1] == '`') {
      if (from - 1 > plain) parts.push_back({text.substr(plain, from - 1 - plain)});
    } else if (from > plain) {
      parts.push_back({text.substr(plain, from - plain)});
    }
    parts.push_back({text.substr(from, to - from), true, worth_copying});
    plain = next;
  };
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '`') {
      const std::size_t close = text.find('`', i + 1);
      if (close != nowhere && close > i + 1 && close - i < most_of_code) {
        const std::string_view code = text.substr(i + 1, close - i - 1);
        add(i + 1, close, close + 1, code.find_first_of(" =(") != nowhere);
        i = close + 1;
        continue;
      }
    }
    const Code code = at_boundary(text, i) ? code_at(text, i) : Code{};
    if (code.end > i) {
      add(i, code.end, code.end, code.worth_copying);
      i = code.end;
    } else if (in_name(text[i])) {
      while (i < text.size() && (in_name(text[i]) || text[i] == '-')) ++i;
    } else {
      ++i;
    }
  }
  if (plain < text.size()) parts.push_back({text.substr(plain)});
  return parts;
}

std::string prose_html(std::string_view text, bool copy) {
  const std::string seen = printable(text);
  Linker linker;
  std::string out;
  for (const ProsePart& part : prose_parts(seen)) {
    if (part.is_code)
      out += (copy && part.worth_copying ? "<code class=to-copy>" : "<code>") +
             linker.code(part.text) + "</code>";
    else
      out += linker.words(part.text);
  }
  return out;
}

std::string prose_paragraph(std::string_view text, bool copy) {
  return "<p>" + prose_html(text, copy) + "</p>";
}

std::string prose_list(const std::vector<std::string>& items, std::string_view css_class) {
  if (items.empty()) return "";
  std::string out = fmt::format("<ul class=\"{}\">", css_class);
  for (const std::string& item : items) out += "<li>" + prose_html(item) + "</li>";
  return out + "</ul>\n";
}

std::vector<std::string> documentation_addresses() { return documentation().addresses(); }

}  // namespace gh
