// Characters and lines, as every text of the house counts them.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

namespace tokamak {

/// Whether the character is one of 0 to 9, whatever the locale.
constexpr bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// The text's lines without their ends; a line break at the end of the text starts no further line.
std::vector<std::string_view> linesOf(std::string_view text);

/// Adds a word, `true` or `false`, or the digits of a number.
inline void append(std::string& text, std::string_view word) { text += word; }
template <std::integral T>
void append(std::string& text, T value) {
  if constexpr (std::same_as<T, bool>) {
    text += value ? "true" : "false";
  } else {
    text += std::to_string(value);
  }
}

/// The words or numbers with `separator` between each two. (A fmt::join takes the compiler half a second in each file.)
template <class Range>
std::string joined(const Range& range, std::string_view separator = ", ") {
  std::string text;
  bool is_first = true;
  for (const auto& each : range) {
    if (!is_first) text += separator;
    append(text, each);
    is_first = false;
  }
  return text;
}

}  // namespace tokamak
