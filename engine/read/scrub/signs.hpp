// Recognizes private text by itself, in any text: keys of well-known services, words after
// "password=", addresses, home folders.
#pragma once
#include <functional>
#include <string>
#include <string_view>

namespace gh::scrubbing {

enum class Sign {
  secret,   ///< a key, a password
  address,  ///< an e-mail address or a machine's
  user,     ///< a name: the owner of a home folder, or who logs in
  home      ///< the path of a home folder
};

/// Calls use(sign, text, a description such as "an e-mail address") for each.
void each_sign_in(std::string_view text,
                  const std::function<void(Sign, std::string_view, const char*)>& use);

}  // namespace gh::scrubbing
