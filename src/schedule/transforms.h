// The schedule commands on one tensor's loop nest: split, merge, reorder, swizzle, parallelize.
//
// They change the loop domain only, and no loop that is shared with another tensor (schedule/inline.h). Axes are
// positions in the loop domain, reductions included; negative ones count from the end.
// Errors: Schedule, naming the command, the tensor, the axis and what is legal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "define/operand.h"

namespace tokamak {

/// Which axis of a split has the factor as its extent.
enum class SplitSide : uint8_t { Inner, Outer };

/// Axis a of extent n becomes a and a + 1: with Inner of extents ceilDiv(n, factor) and factor, with Outer of extents
/// factor and ceilDiv(n, factor). The factor is positive; the last part may be short.
TOKAMAK_EXPORT void split(TensorView* tensor, int64_t axis, Operand factor, SplitSide side = SplitSide::Inner);
TOKAMAK_EXPORT void inner_split(TensorView* tensor, int64_t axis, Operand factor);
TOKAMAK_EXPORT void outer_split(TensorView* tensor, int64_t axis, Operand factor);

/// Axes a (outer) and a + 1 (inner) become axis a, row-major. A reduction axis merges with reduction and broadcast axes
/// only.
TOKAMAK_EXPORT void merge(TensorView* tensor, int64_t axis);

/// The new axis i is the old axis order[i]; a permutation of all axes.
TOKAMAK_EXPORT void reorder(TensorView* tensor, const std::vector<int64_t>& order);

/// Axes x and y (two different ones) become axes of the same extents with permuted elements: see DomainExpr. Xor takes
/// constant extents, that of y a power of two and that of x no larger.
TOKAMAK_EXPORT void swizzle(TensorView* tensor, int64_t axis_x, int64_t axis_y, SwizzleType type);

/// Marks the axis. One axis of a tensor may have a given device, block or thread dimension. Vectorize: the innermost
/// axis, of constant extent; Unroll: axes of constant extent; Bulk: copies. Vectorize, Group, Mma and Bulk: no shared
/// loop. DIDx, DIDy, DIDz: of a tensor with a mesh, what analysis/shards.h takes. Lowering checks the rest.
TOKAMAK_EXPORT void parallelize(TensorView* tensor, int64_t axis, ParallelType type);

}  // namespace tokamak
