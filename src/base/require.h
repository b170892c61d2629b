// What raises errors: what a caller did wrong (TK_REQUIRE), what only we can do wrong (TK_CHECK).
#pragma once

#include <fmt/core.h>

#include "base/error.h"

namespace tokamak {

/// Where a requirement stands in the source; used by the test that every message is reached.
struct SourceSite {
  const char* file;
  int line;
};

[[noreturn]] void raiseError(SourceSite site, ErrorCode code, fmt::string_view format, fmt::format_args args);

template <class... Args>
[[noreturn]] void raise(SourceSite site, ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  raiseError(site, code, format, fmt::make_format_args(args...));
}

}  // namespace tokamak

#define TK_SITE (::tokamak::SourceSite{__FILE__, __LINE__})

/// Raises `code` (an enumerator of ErrorCode) with a formatted sentence.
#define TK_RAISE(code, ...) ::tokamak::raise(TK_SITE, ::tokamak::ErrorCode::code, __VA_ARGS__)

/// Raises `code` unless `condition` holds: for what a caller can cause.
#define TK_REQUIRE(condition, code, ...) \
  do {                                   \
    if (!(condition)) [[unlikely]]       \
      TK_RAISE(code, __VA_ARGS__);       \
  } while (false)

/// Raises an internal error unless `condition` holds: for what only we can cause.
#define TK_CHECK(condition, ...)       \
  do {                                 \
    if (!(condition)) [[unlikely]]     \
      TK_RAISE(Internal, __VA_ARGS__); \
  } while (false)
