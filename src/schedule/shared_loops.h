// Shared loops: what inlining has made common to several tensors, for those who change loops in another way.
#pragma once

#include <cstdint>
#include <string>

#include "schedule/inline.h"

namespace tokamak {

class DomainGraph;

/// How many of its first loops the tensor shares with its consumers or with tensors that it reads.
int64_t sharedLoopCount(const TensorView& tensor);

/// Why the loop at `position`, if it is shared, cannot be run in this way: another tensor in it has another type. Or
/// empty.
std::string sharedTypeProblem(TensorView* tensor, int64_t position, ParallelType type);

/// What is wrong with the inline positions of a fusion, or empty. The commands keep them legal; this is for who changes
/// domains in another way.
std::string inlineProblem(const Fusion& fusion, const DomainGraph& graph);

}  // namespace tokamak
