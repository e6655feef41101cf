#include "read/scrub/signs.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "read/private_data.hpp"
#include "read/scrub/characters.hpp"
#include "read/scrub/values.hpp"

namespace gh::scrubbing {
namespace {

using Text = std::string_view;
using Use = std::function<void(Sign, Text, const char*)>;
using Judge = bool (*)(Text text);

// One kind of sign. The expression's group is the text that counts.
struct Kind {
  Sign sign;
  const char* what;
  std::string expression;
  Judge is_one = nullptr;  // what an expression cannot decide
  bool is_word = false;    // goes on up to a space, whatever signs are in it
};

// The word after "=", as shells write it: quoted, or with backslashes. In JSON a quotation mark may
// end the string, and then what follows is not a value.
const std::string word_of_shell =
    R"(("[^"\s:,}\]][^"]*"|'[^'\s:,}\]][^']*'|["']?(?:\\[^\w"'\\]|[^\s"'&,;\x00])+))";

// What precedes an option, with a space at its end. Signs in quotes do not end a command.
const std::string other_words =
    R"re((?:[^\n|;&]*\s|(?:[^\n|;&"']|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')*\s)?)re";
const std::string user_of_curl =
    R"(\b(?:curl|wget)\s)" + other_words + R"((?:-[A-Za-z]*[uU]|--user|--proxy-user)[\s=]*)";
const std::string quoted_or_word = R"(("[^"\n]{4,}"|'[^'\n]{4,}'|["']?[^\s"']{4,}))";

bool has_digit(Text text) { return std::any_of(text.begin(), text.end(), is_digit); }

// Rejects library versions such as 12.4.127.0, and addresses that identify no machine.
bool is_address(Text text) {
  if (text.starts_with("127.") || text.starts_with("0.") || text.starts_with("255.")) return false;
  unsigned value = 0;
  std::size_t digits = 0;
  for (const char c : text) {
    if (c == '.') {
      value = 0;
      digits = 0;
      continue;
    }
    value = value * 10 + static_cast<unsigned>(c - '0');
    if (++digits > 1 && value < 10) return false;  // 535.129.03.1
    if (value > 255) return false;
  }
  return true;
}

// Accepts fe80::1:2, but neither c10::add nor a time of day.
bool is_address_of_six(Text text) {
  return std::count(text.begin(), text.end(), ':') >= 3 && has_digit(text) &&
         (text.find("::") != text.npos || std::count(text.begin(), text.end(), ':') == 7 ||
          (text.size() == 17 && std::count(text.begin(), text.end(), ':') == 5));
}

// Rejects versions of symbols and files: memcpy@GLIBC_2.14, module@1.so.
bool is_mail(Text text) {
  const Text top = text.substr(text.rfind('.') + 1);
  return top.size() >= 2 && top != "so" && std::all_of(top.begin(), top.end(), is_letter);
}

// Rejects words, and what is too short to be no part of other names: cuda, gpu1.
bool is_machine(Text text) { return text.size() >= 6 && !is_of_letters(text); }

// After "password=": rejects the program's words and numbers.
bool is_password(Text text) {
  return text.size() >= 6 && std::any_of(text.begin(), text.end(), is_letter) &&
         !std::all_of(text.begin(), text.end(), [](char c) { return is_letter(c) || c == '_'; });
}

// Words that follow "password:" in messages and in programs, and parts of names of their types.
bool is_common(Text text) {
  static const re2::RE2 common(
      R"((?i)(?:un)?(?:required|optional|disabled|accepted|rejected|verified|validated?|validation|encrypted|encryption|decrypted|protected|provided|generated|generation|expected|defined|changed|supported|available|configured|deprecated|supplied|specified)|incorrect|permissions?|redacted|filtered|something|anything|everything|nothing|kerberos|interactive|environment|keyring|username|localhost|metadata|anonymous|readonly|sensitive|starting|connect(?:ed|ing)|checking|hashing|loading|processing|training|inference|evaluat(?:e|ion)|forwards?|backwards?|attention|embeddings?|projection|optimizer|scheduler|dataloader|transformer|undefined|function|external|internal|database|constant|parameters?|arguments?|characters?|credentials?|.*(?:passw|secret|token|credential|auth|provider|manager|generator|factory|callback|handler).*)",
      re2::RE2::Latin1);
  return re2::RE2::FullMatch(re2::StringPiece(text.data(), text.size()), common);
}

// Letters or digits alone, after a name that says "password" and nothing else.
bool is_plain_password(Text text) {
  constexpr std::size_t least_bytes = 8;
  return text.size() >= least_bytes && text.find_first_not_of(text.front()) != text.npos &&
         (std::all_of(text.begin(), text.end(), is_letter) || is_of_digits(text)) &&
         !is_common(text);
}
bool is_told_password(Text text) { return is_password(text) || is_plain_password(text); }

// Models have tokens too, so a plain one must be long: API_TOKEN=PlumOrchidLion.
bool is_told_token(Text text) {
  constexpr std::size_t least_bytes = 12;
  return is_password(text) ||
         (text.size() >= least_bytes && !is_of_digits(text) && is_plain_password(text));
}

// After "token=", which models use too: rejects words, numbers, and <|im_end|>.
bool is_token(Text text) {
  constexpr std::size_t least_bytes = 16;
  return text.size() >= least_bytes && has_digit(text) && is_password(text);
}

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all{
      {Sign::secret, "an AWS key", R"(\b((?:AKIA|ASIA)[0-9A-Z]{16})\b)"},
      {Sign::secret, "a GitHub token", R"(\b((?:gh[pousr]_|github_pat_)\w{20,}))"},
      {Sign::secret, "a GitLab token", R"(\b(glpat-[\w-]{16,}))"},
      {Sign::secret, "an API key", R"(\b([sr]k[-_][\w-]{16,}))", has_digit},
      {Sign::secret, "a Hugging Face token", R"(\b(hf_[0-9A-Za-z]{20,}))"},
      {Sign::secret, "a Slack token", R"(\b(xox[a-z]-[\w-]{8,}))"},
      {Sign::secret, "a Google key", R"(\b((?:AIza|ya29\.)[\w-]{20,}))"},
      {Sign::secret, "a package registry token", R"(\b((?:npm_|pypi-)[\w-]{20,}))", has_digit},
      {Sign::secret, "a web token", R"(\b(eyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)?))"},
      {Sign::secret, "a private key",
       R"((?s)(-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|$)))"},
      {Sign::secret, "a bearer's token", R"((?i)\bbearer\s+([\w.~+/-]{8,}=*))", is_password},
      {Sign::secret, "an HTTP name and password",
       R"((?i)\bauthorization["'\\]*\s*[:=]\s*["'\\]*(?:basic|token|apikey)\s+([\w+/.-]{6,}=*))"},
      {Sign::secret, "an Azure key", R"((?i)\b(?:Account|SharedAccess)Key=([\w+/-]{16,}=*))"},
      {Sign::secret, "a service key",
       R"(\b((?:nvapi-|gsk_|xai-|r8_|whsec_|dop_v1_|lsv2_[a-z]{2}_|ATATT3x|dapi[0-9a-f])[\w-]{20,}))",
       has_digit},
      {Sign::secret, "a URL signature",
       R"((?i)(?:^|[?&;])(?:(?:x-amz-|x-goog-)?signature|sig)=([\w%+/~-]{20,}=*))"},
      {Sign::secret, "a key in a URL", R"((?i)[?&]key=([\w%+/~-]{16,}=*))", has_digit},
      {Sign::secret, "a token", R"((?i)token["'\\]*\s*[=:]\s*)" + word_of_shell, is_token},
      {Sign::secret, "a .netrc password", R"(\blogin\s+\S+\s+password\s+(\S{6,}))"},
      {Sign::secret, "a webhook",
       R"((?i)\b(?:hooks\.slack(?:-gov)?\.com|discord(?:app)?\.com/api/webhooks|webhook\.office\.com)/([\w/@-]{10,}))"},
      {Sign::secret, "a SendGrid key", R"(\b(SG\.[\w-]{10,}\.[\w-]{10,}))"},
      {Sign::secret, "a Docker token", R"(\b(dckr_[po]at_[\w-]{10,}))"},
      {Sign::secret, "a Vault token", R"(\b(hv[sbr]\.[\w-]{16,}))", has_digit},
      {Sign::secret, "a Google secret", R"(\b(GOCSPX-[\w-]{16,}))"},
      {Sign::secret, "a password",
       R"((?i)(?:passw(?:or)?d|passphrase|pwd|secret(?:[-_]?key)?|api[-_]?key|access[-_]?key|(?:auth|access)[-_]?token|credentials?)["']?\s*[=:]\s*)" +
           word_of_shell,
       is_password, true},
      {Sign::secret, "a password",
       R"((?i)(?:passw(?:or)?d|passphrase|[-_]pwd|secret(?:[-_]?key)?|api[-_]?key|access[-_]?key)["']?[ \t]*[=:][ \t]*)" +
           word_of_shell,
       is_told_password, true},
      {Sign::secret, "a Telegram token", R"(\b(\d{8,12}:AA[\w-]{32,}))"},
      {Sign::secret, "a Discord token", R"(\b([MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}))",
       has_digit},
      {Sign::secret, "a Mailgun key", R"(\b(key-[0-9a-f]{32})\b)"},
      {Sign::secret, "a Linear key", R"(\b(lin_(?:api|oauth)_\w{20,}))", has_digit},
      {Sign::secret, "a Twilio key", R"(\b(SK[0-9a-f]{32})\b)"},
      {Sign::secret, "a password of curl", user_of_curl + R"([^\s:"']+:([^\s"']{4,}))"},
      {Sign::secret, "a password of curl", user_of_curl + R"re("[^:"\n]+:([^"\n]{4,}))re"},
      {Sign::secret, "a password of curl", user_of_curl + R"('[^:'\n]+:([^'\n]{4,}))"},
      {Sign::secret, "a password of a database",
       R"(\b(?:mysql|mariadb)[a-z-]*\s)" + other_words + "-p" + quoted_or_word},
      {Sign::secret, "a password of sshpass", R"(\bsshpass\s+-p\s*)" + quoted_or_word},
      {Sign::user, "who logs in",
       R"(\b(?:ssh|sftp|scp|rsync)\s(?:[^\n|;&]*\s)?([A-Za-z_][\w.-]*)@[A-Za-z])"},
      {Sign::address, "where one logs in",
       R"(\b(?:ssh|sftp|scp|rsync)\s(?:[^\n|;&]*\s)?[A-Za-z_][\w.-]*@([A-Za-z][\w.-]*))",
       is_machine},
      {Sign::user, "who logs in", R"(\b([A-Za-z_][\w.-]*)@[A-Za-z][\w.-]*:[/~])"},
      {Sign::address, "where one logs in", R"(\b[A-Za-z_][\w.-]*@([A-Za-z][\w.-]*):[/~])",
       is_machine},
      {Sign::secret, "a password in a URL", R"(\w://[^\s/:@"']*:([^\s/@"']+)@)"},
      {Sign::secret, "a password in a URL", R"(\w://[^\s/:@"']*:([^\s/@"']+@[^\s/"']*)@)"},
      {Sign::user, "a user in a URL", R"(\w://([^\s/:@"']+)(?::[^\s/@"']*)?@)"},
      {Sign::address, "an e-mail address",
       R"(\b([\w.+-]+@[0-9A-Za-z](?:[0-9A-Za-z-]*[0-9A-Za-z])?(?:\.[0-9A-Za-z-]+)+))", is_mail},
      {Sign::address, "a machine's address",
       R"((?:^|[^\w.-])(\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})(?:$|[^\w.-]|\.?$|\.\s))", is_address},
      {Sign::address, "a machine's address",
       R"((?i)(?:^|[^\w:])((?:[0-9a-f]{0,4}:){3,7}[0-9a-f]{1,4})(?:$|[^\w:]))", is_address_of_six},
  };
  return all;
}

const std::vector<std::unique_ptr<re2::RE2>>& compiled_kinds() {
  static const auto compiled = [] {
    std::vector<std::unique_ptr<re2::RE2>> made;
    for (const Kind& kind : kinds()) {
      made.push_back(std::make_unique<re2::RE2>(kind.expression, re2::RE2::Latin1));
    }
    return made;
  }();
  return compiled;
}

// Whether the text may contain any of these, in one pass.
bool may_hold_any(re2::StringPiece text) {
  static const re2::RE2 any(
      R"((?i)@|pass|pwd|secret|api[-_]?key|access[-_]?key|token|credential|bearer|akia|asia|gh[pousr]_|_pat_|glpat|[sr]k[-_]|hf_|xox|aiza|ya29|npm_|pypi-|eyj|-----BEGIN|basic\s|accountkey|sig=|signature=|hooks\.slack|webhook|key=|nvapi-|gsk_|xai-|r8_|whsec_|dop_v1_|lsv2_|ATATT|dapi[0-9a-f]|\bSG\.|dckr_|\d:AA|[MNO][\w-]{23,27}\.[\w-]{6}\.|key-[0-9a-f]|lin_|\bSK[0-9a-f]|curl\s|wget\s|mysql|mariadb|sshpass|hv[sbr]\.|GOCSPX|\d\.\d{1,3}\.\d{1,3}\.\d|[0-9a-f]:[0-9a-f]{0,4}:[0-9a-f]{0,4}:)",
      re2::RE2::Latin1);
  return re2::RE2::PartialMatch(text, any);
}

// Removes a pair of quotes, or an opening one without a closing one.
Text without_quotes(Text word) {
  word = unquoted(word);
  if (word.starts_with('"') || word.starts_with('\'')) word.remove_prefix(1);
  return word;
}

// The word at the start of `rest`, up to a space or a quotation mark: a password may contain what
// otherwise separates words. Signs that end a sentence or a list are no part of it.
Text whole_word(Text rest, std::size_t least) {
  constexpr std::size_t most_bytes = 128;  // behind the first such sign
  const Text ends(" \t\r\n\"'\0", 7);
  const Text near = rest.substr(0, least + most_bytes);
  const std::size_t end = std::min(near.find_first_of(ends, least), near.size());
  if (end == near.size() && end < rest.size()) return rest.substr(0, least);
  Text word = rest.substr(0, end);
  if (end < rest.size() && (rest[end] == '"' || rest[end] == '\'')) return word;
  while (!word.empty() && Text(",;.)]}").find(word.back()) != Text::npos) word.remove_suffix(1);
  return word;
}

// Uses a password, and the part of it before a sign that may also separate it from something else.
void use_word(Text text, Text found, Judge is_one, const char* what, const Use& use) {
  const Text part = without_quotes(found);
  const auto begin = static_cast<std::size_t>(part.data() - text.data());
  const bool is_quoted = part.size() + 1 < found.size();
  const Text whole = is_quoted ? part : whole_word(text.substr(begin), part.size());
  if (whole.size() <= part.size()) {
    if (is_of_letters(whole) && is_common(whole)) return;
    if (is_one(whole)) return use(Sign::secret, whole, what);
    if (is_one(part)) use(Sign::secret, part, what);
    return;
  }
  const bool is_part = is_one(part);
  if (is_part) use(Sign::secret, part, what);
  // Not None,port=80 or 1,2,x.
  if (is_part || (std::any_of(part.begin(), part.end(), is_letter) && !is_of_letters(part))) {
    if (is_password(whole)) use(Sign::secret, whole, what);
  }
}

// What counts as the value of an option, a variable or an element with such a name.
Judge judge_of(Text name) {
  static const re2::RE2 password(
      R"((?i)(?:passw(?:or)?d|passphrase|[-_]pwd|(?:^|[-_.:])secret(?:[-_]?key)?|(?:api|access)[-_]?key)$)",
      re2::RE2::Latin1),
      token(R"((?i)(?:^|[-_.:])token$)", re2::RE2::Latin1),
      of_model(
          R"((?i)(?:[be]os|pad|unk|mask|sep|cls|stop|start|begin|end|special|image|next|last|first|new|num|max|min|per|class|text|word|prefix|suffix)[-_.:]token$)",
          re2::RE2::Latin1);
  const re2::StringPiece piece(name.data(), name.size());
  if (re2::RE2::PartialMatch(piece, password)) return is_told_password;
  const bool is_token =
      re2::RE2::PartialMatch(piece, token) && !re2::RE2::PartialMatch(piece, of_model);
  return is_token ? is_told_token : is_password;
}

// Finds --token=..., --token ..., API_TOKEN=... by the option's name.
void each_option_in(re2::StringPiece rest, const Use& use) {
  static const re2::RE2 option(R"(\B--?([A-Za-z][\w-]*)(?:=|\s+)|\b([A-Z][A-Z0-9_]{3,})=)",
                               re2::RE2::Latin1),
      word(word_of_shell, re2::RE2::Latin1);
  const Text text(rest.data(), rest.size());
  re2::StringPiece value;
  for (std::string name, variable; re2::RE2::FindAndConsume(&rest, option, &name, &variable);) {
    // The next word may be another option.
    re2::StringPiece after = rest;
    if (after.starts_with("-") || !re2::RE2::Consume(&after, word, &value)) continue;
    name += variable;
    if (!names_a_secret(name)) continue;
    use_word(text, Text(value.data(), value.size()), judge_of(name), "an option", use);
  }
}

// Finds <password>...</password> by the element's name.
void each_element_in(re2::StringPiece rest, const Use& use) {
  static const re2::RE2 element(R"(<([A-Za-z][\w.:-]*)(?:\s[^<>]*)?>\s*([^<>]*[^<>\s])\s*</)",
                                re2::RE2::Latin1);
  re2::StringPiece name, value;
  while (re2::RE2::FindAndConsume(&rest, element, &name, &value)) {
    const Text meant(value.data(), value.size());
    const Text key(name.data(), name.size());
    if (names_a_secret(key) && judge_of(key)(meant)) use(Sign::secret, meant, "an element");
  }
}

// --- home folders on Linux, clusters, macOS and Windows

constexpr Text common_homes[] = {"shared", "Shared", "public", "Public", "users", "local"};

bool ends_name(char c) {
  return c == '/' || c == '\\' || c == '"' || c == '\'' || c == ':' || c == '<' || c == '>' ||
         c == '|' || c == ';' || c == ',' || c == ')' || c == '(' ||
         static_cast<unsigned char>(c) < ' ';
}

// The owner's name at the start of `rest`. It may contain spaces if a separator follows: "Jane
// Doe/x.py", but not "jane to /tmp" or "jane and a/b/c".
Text owner_of(Text rest) {
  const auto end =
      static_cast<std::size_t>(std::find_if(rest.begin(), rest.end(), ends_name) - rest.begin());
  const Text whole = rest.substr(0, end);
  const std::size_t space = whole.find(' ');
  if (space == whole.npos) return whole;
  constexpr std::ptrdiff_t most_spaces = 3;
  const bool goes_on = end < rest.size() && (rest[end] == '/' || rest[end] == '\\');
  const bool is_name = goes_on && !whole.ends_with(' ') && whole.find("  ") == whole.npos &&
                       std::count(whole.begin(), whole.end(), ' ') <= most_spaces;
  return is_name ? whole : whole.substr(0, space);
}

void each_home_in(re2::StringPiece text, const Use& use) {
  // Matches up to the name of the owner.
  static const re2::RE2 start(
      R"(((?:/[\w.+-]+)*/homes?/(?:users/)?(?:[a-z]/)?|(?:[A-Za-z]:|\b)?/Users/|(?:[A-Za-z]:)?\\+Users\\+|[A-Za-z]:/Users/))",
      re2::RE2::Latin1);
  const Text all(text.data(), text.size());
  if (all.find("/home") == all.npos && all.find("Users") == all.npos) return;
  re2::StringPiece rest = text;
  for (re2::StringPiece folder; re2::RE2::FindAndConsume(&rest, start, &folder);) {
    Text owner = owner_of(Text(rest.data(), rest.size()));
    while (owner.ends_with('.') || owner.ends_with(' ')) owner.remove_suffix(1);
    if (owner.empty() || std::find(std::begin(common_homes), std::end(common_homes), owner) !=
                             std::end(common_homes)) {
      continue;
    }
    use(Sign::home, Text(folder.data(), folder.size() + owner.size()), "a home folder");
    use(Sign::user, owner, "a home folder's owner");
  }
}

}  // namespace

void each_sign_in(Text text, const Use& use) {
  const re2::StringPiece whole(text.data(), text.size());
  each_home_in(whole, use);
  if (text.find('=') != text.npos || text.find("--") != text.npos) each_option_in(whole, use);
  if (text.find("</") != text.npos) each_element_in(whole, use);
  if (!may_hold_any(whole)) return;
  for (std::size_t i = 0; i < kinds().size(); ++i) {
    const Kind& kind = kinds()[i];
    re2::StringPiece rest = whole, one;
    while (re2::RE2::FindAndConsume(&rest, *compiled_kinds()[i], &one)) {
      const Text word(one.data(), one.size());
      if (kind.is_word) {
        use_word(text, word, kind.is_one, kind.what, use);
        continue;
      }
      const Text found = without_quotes(word);
      if (!kind.is_one || kind.is_one(found)) use(kind.sign, found, kind.what);
    }
  }
}

}  // namespace gh::scrubbing
