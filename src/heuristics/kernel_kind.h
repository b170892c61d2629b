// KernelKind: what a fusion is as one kernel, and why it is nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/kernel_target.h"
#include "heuristics/reduction_structure.h"
#include "ir/fusion.h"

namespace tokamak {

/// In order of priority: of several that a fusion is, the first one is what the heuristics take.
enum class KernelKind : uint8_t {
  NoOp,                  ///< nothing is computed: there are no outputs, or these have no elements
  Transpose,             ///< one output, contiguous along another axis than its inputs: in tiles
  Pointwise,             ///< no reduction, but for those that each reader recomputes
  InnerOuterPersistent,  ///< blocks have rows, and partial sums across these (PartialOuterReduction)
  InnerPersistent,       ///< something reads reductions along contiguous memory, and their rows again
  OuterPersistent,       ///< something reads reductions across contiguous memory, and their columns again
  Reduction,             ///< other reductions
};

/// "inner_persistent".
std::string_view kernelKindName(KernelKind kind);

struct KindVerdict {
  KernelKind kind = KernelKind::NoOp;
  std::optional<std::string> reason;  ///< against it; nothing: the fusion is such a kernel
};

/// Every kind, in order of priority. A fusion that should not be one kernel on the target is none, for that reason. By
/// the structure only, with the axes that the outputs have; makes scalars in the fusion, which has no schedule.
std::vector<KindVerdict> judgeKernelKinds(Fusion& fusion, const KernelTarget& target);

/// Which loops a kernel has; several at once are possible.
struct KernelLoops {
  bool has_inner_rows = false;  ///< with reductions along contiguous memory, or partial sums across rows
  bool has_outer_rows = false;  ///< with reductions across contiguous memory
};

/// `structure` is found.
KernelLoops kernelLoopsOf(const ReductionStructure& structure);

}  // namespace tokamak
