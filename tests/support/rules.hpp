// Source code of a team's rules.
#pragma once
#include <string>

namespace support {

/// A team's rule with the given body of evaluate(trace, options).
inline std::string rule_text(const std::string& id, const std::string& body) {
  return "return {\n  id = '" + id +
         "', category = 'team', title = 'A rule of the team', since = '1', needs = {},\n"
         "  options = { share = { default = 0.5, unit = 'fraction', doc = 'How much.' }, "
         "loud = { default = false, unit = '', doc = 'Whether.' }, "
         "word = { default = 'a', unit = '', doc = 'Which.' } },\n"
         "  messages = { main = 'Share {share:fraction}.' }, "
         "doc = { what = 'A.', why = 'B.', fix = 'C.', wrong = 'D.' },\n"
         "  evaluate = function(trace, options)\n" +
         body + "\n  end,\n}\n";
}

/// A body that finds something that saves this share of the window.
inline std::string finds(const std::string& share) {
  return "    return { { message = 'main', data = { share = " + share +
         " }, subject = 'it', recoverable_ns = " + share +
         " * trace:total_ns(), advice = { 'Do it.' } } }";
}

}  // namespace support
