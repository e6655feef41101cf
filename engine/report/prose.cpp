#include "report/prose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/schema_table.hpp"
#include "base/text.hpp"
#include "report/html_parts.hpp"

namespace gh {
namespace {

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
    each_entry(schema_table("schemas/links.toml"), "link", [&](const toml::table& link) {
      const auto address = link["url"].value_or(std::string());
      addresses_.push_back(address);
      for (const std::string& name : strings(link["api"])) apis_.emplace(name, address);
      for (const std::string& name : strings(link["name"])) {
        words_.emplace(name, address);
        by_first_word_[name.substr(0, name.find(' '))].push_back(name);
      }
    });
    for (auto& [word, names] : by_first_word_)
      std::sort(names.begin(), names.end(),
                [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
  }

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

// Whether a word may begin here: not within another, nor within a path or a hyphenated word.
bool at_boundary(std::string_view text, std::size_t at) {
  return at == 0 ||
         !(in_name(text[at - 1]) || std::string_view("./-@:").find(text[at - 1]) != text.npos);
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

std::string prose_html(std::string_view text, bool copy) {
  const std::string seen = printable(text);
  Linker linker;
  std::string out;
  for (const SentencePart& part : sentence_parts(seen)) {
    const bool worth_copying = copy && part.text.find_first_of(" =(") != part.text.npos;
    out += part.is_code ? fmt::format("<code{}>{}</code>", worth_copying ? " class=to-copy" : "",
                                      linker.code(part.text))
                        : linker.words(part.text);
  }
  return out;
}

std::string shortened_sentence(const std::string& text, std::size_t most) {
  const std::string plain = plain_sentence(text);
  std::string cut = shortened(plain, most);
  return cut == plain ? text : cut;
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
