// What tells by itself, in any text, that it is someone's: keys of well-known services, words
// behind "password=", addresses, home folders.
#pragma once
#include <functional>
#include <string>
#include <string_view>

namespace gh::scrubbing {

enum class Sign {
  secret,   ///< a key, a password
  address,  ///< of e-mail, or of a machine
  user,     ///< a name: whose home folder it is, or who logs in
  home      ///< a home folder's path
};

/// Calls use(sign, text, what it is: "an e-mail address") for each.
void each_sign_in(std::string_view text,
                  const std::function<void(Sign, std::string_view, const char*)>& use);

}  // namespace gh::scrubbing
