// Symbols: which symbols a scalar is computed of.
#pragma once

#include <vector>

#include "symbolic/scalar.h"

namespace tokamak {

/// Each symbol once, in the order in which the scalar names them; the scalar itself if it is one.
std::vector<const Scalar*> symbolsOf(const Scalar& scalar);

}  // namespace tokamak
