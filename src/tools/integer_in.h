// An integer from the command line.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace tokamak::tools {

/// The number that all of `text` is; nothing where it is no decimal number, or one that T does not hold.
template <class T>
std::optional<T> integerIn(std::string_view text) {
  T value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && rest == end ? std::optional(value) : std::nullopt;
}

}  // namespace tokamak::tools
