// Outlining: helpers with many calls in a compilation unit become functions instead of being inlined.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tokamak {

/// The source of helpers (deviceCode()) for these kernels' sources. Helpers are inlined as long as this gives little
/// code; then those that would give most of it become functions.
/// (A compiler's time grows faster than the code of a function, and a kernel of a thousand sines has very much.)
std::string outlineHelpers(std::string helpers, std::span<const std::string_view> kernels);

}  // namespace tokamak
