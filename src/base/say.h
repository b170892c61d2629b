// Say: a line of the log about what a caller should know and no result tells.
#pragma once

#include <string_view>

#include <fmt/core.h>

namespace tokamak {

/// Tells the log function of the process (base/log.h), or, where there is none, writes "tokamak: ", the text and a line
/// end. A standard error that is closed or full loses the line and nothing else.
void say(std::string_view text) noexcept;

/// The same of a formatted text.
template <class... Args>
  requires(sizeof...(Args) > 0)
void say(fmt::format_string<Args...> format, const Args&... args) noexcept {
  try {
    say(std::string_view(fmt::vformat(format, fmt::make_format_args(args...))));
  } catch (...) {
    say(std::string_view("out of host memory"));
  }
}

}  // namespace tokamak
