// Mutants of host programs' texts: most are still read as programs, some are other programs, some make no sense.
#pragma once

#include <random>
#include <string>
#include <string_view>

namespace tokamak {

/// The text with a token or a line exchanged, moved, said twice or left out, or a name written otherwise everywhere.
std::string mutatedHostText(std::string_view text, std::minstd_rand& random);

/// The text of another program, all of whose tensors are written alike: a statement reads or gives another tensor,
/// moves, or is said twice or not at all; a tensor has another type, an axis more or less, or an axis of another kind
/// or extent.
std::string mutatedHostProgram(std::string_view text, std::minstd_rand& random);

}  // namespace tokamak
