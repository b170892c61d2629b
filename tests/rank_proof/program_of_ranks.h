// Random programs that all ranks share, which do what they do by their number.
#pragma once

#include <cstdint>
#include <random>
#include <string>

namespace tokamak {

/// A host program over the ranks of a mesh (0 .. ranks - 1): collectives, transfers to peers that are computed of the
/// rank, slices whose place is, and choices by it. About half of them have faults: races, and communications that do
/// not belong together.
std::string programOfRanks(std::mt19937& random, int64_t ranks);

}  // namespace tokamak
