// Mesh problems: whether a mesh is one.
#pragma once

#include <string>

#include "ir/tensor_view.h"

namespace tokamak {

/// What is wrong with a mesh, in words: a rank that stands in it twice or is negative, or a shape that is not filled;
/// else empty.
std::string meshProblem(const DeviceMesh& mesh);

}  // namespace tokamak
