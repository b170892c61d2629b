// Rank team: the team that a rank has where a statement of a program over all ranks names one.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/ops/host/collective_permute.h"
#include "ir/ops/host/communication.h"

namespace tokamak {

/// The row of the tensors' mesh that the rank is in, where the statement names the first row of a dimension; else, as
/// between two meshes, the team as it is named. The rank need not be in it.
std::vector<int64_t> teamOfRank(const Communication& op, int64_t rank);
std::vector<int64_t> teamOfRank(const CollectivePermute& op, int64_t rank);

}  // namespace tokamak
