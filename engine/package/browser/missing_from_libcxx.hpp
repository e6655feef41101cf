// What the engine uses of C++20 that emscripten's standard library (libc++ 13) does not have yet.
// The build for browsers includes this before everything else. That build has one thread, so what
// serves several is an empty shell.
#pragma once
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace std {

/// There are no threads to start: constructing one with something to do says so.
class jthread {
 public:
  jthread() = default;
  template <class Work, class... Arguments>
  explicit jthread(Work&&, Arguments&&...) {
    throw system_error(make_error_code(errc::resource_unavailable_try_again));
  }
};

template <class T>
class atomic_ref {
 public:
  explicit atomic_ref(T& value) : value_(value) {}
  template <class Order>
  bool compare_exchange_weak(T& expected, T desired, Order) const {
    if (value_ != expected) {
      expected = value_;
      return false;
    }
    value_ = desired;
    return true;
  }

 private:
  T& value_;
};

template <class To, class From>
constexpr To bit_cast(const From& from) {
  return __builtin_bit_cast(To, from);
}

template <class Array>
  requires is_unbounded_array_v<Array>
unique_ptr<Array> make_unique_for_overwrite(size_t size) {
  return unique_ptr<Array>(new remove_extent_t<Array>[size]);
}

/// The number at the beginning of a text, in the decimal form that the standard has for it: no
/// white space, no plus sign, no hexadecimal digits.
inline from_chars_result from_chars(const char* first, const char* last, double& value) {
  const auto skip_digits = [last](const char* at) {
    while (at != last && *at >= '0' && *at <= '9') ++at;
    return at;
  };
  const auto is = [last](const char* at, char letter) {
    return at != last && (*at | 0x20) == letter;
  };
  const auto skip_word = [&is](const char* at, string_view word) {
    for (const char letter : word)
      if (!is(at++, letter)) return static_cast<const char*>(nullptr);
    return at;
  };
  const char* const begin = first != last && *first == '-' ? first + 1 : first;
  const char* end = skip_digits(begin);
  bool has_digits = end != begin;
  if (end != last && *end == '.') {
    const char* const fraction = end + 1;
    end = skip_digits(fraction);
    has_digits = has_digits || end != fraction;
  }
  const string_view mantissa(begin, static_cast<size_t>(end - begin));
  if (has_digits && is(end, 'e')) {
    const char* exponent = end + 1;
    if (exponent != last && (*exponent == '-' || *exponent == '+')) ++exponent;
    if (const char* const behind = skip_digits(exponent); behind != exponent) end = behind;
  }
  if (!has_digits) {
    end = nullptr;
    for (const string_view word : {"infinity", "inf", "nan"})
      if (!end) end = skip_word(begin, word);
    if (!end) return {first, errc::invalid_argument};
  }
  const double parsed = strtod(string(first, end).c_str(), nullptr);
  const bool is_zero = mantissa.find_first_of("123456789") == string_view::npos;
  if (has_digits && (parsed - parsed != 0 || (parsed == 0 && !is_zero)))
    return {end, errc::result_out_of_range};
  value = parsed;
  return {end, errc()};
}

}  // namespace std
