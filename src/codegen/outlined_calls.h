// Outlining: helpers that a compilation unit calls very often are called instead of being expanded at each call.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tokamak {

/// The text of deviceCode() for kernels with these texts. Helpers are always expanded where that gives little code;
/// beyond that the called helpers that would be most of it become functions. Compilers take more than twice as long
/// for twice as much code in one function, and a unit of a thousand sines has as much as a large program.
std::string outlineHelpers(std::string helpers, std::span<const std::string_view> kernels);

}  // namespace tokamak
