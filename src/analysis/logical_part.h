// LogicalPart: the part of a tensor's logical axes that one index of a marked loop axis stands for.
#pragma once

#include "ir/fusion.h"

namespace tokamak {

struct LogicalPart {
  enum class Form : uint8_t {
    Index,   ///< one index of a logical axis
    Chunk,   ///< `chunk` consecutive indices of a logical axis; the last ones may be fewer
    Merged,  ///< one index of two merged logical axes: index / inner extent and index % inner extent
  };
  Form form = Form::Index;
  IterDomain* loop_axis = nullptr;  ///< the marked axis
  IterDomain* logical = nullptr;    ///< the logical axis (of Merged: the outer one)
  IterDomain* inner = nullptr;      ///< of Merged: the inner logical axis
  Scalar* chunk = nullptr;          ///< of Chunk
  bool may_pass_end = false;        ///< of Chunk: the last parts may start after the end, and have no elements
};

/// What the loop axis `marked` of `tensor` (Stream, or a device's) stands for. It makes scalars in the tensor's fusion.
/// Errors: HostProgram, naming the mark, the axis and the tensor, for a part of a swizzled axis, for an inner part of a
/// split (its indices are not consecutive), and for merges of split, merged, reduced or expanded axes and their parts.
LogicalPart logicalPartOf(const TensorView& tensor, IterDomain& marked);

/// Errors: HostProgram if the tensor belongs to a reduction that rfactor has cut, whose parts one kernel computes.
void requireUncut(const TensorView& tensor, const IterDomain& marked);

}  // namespace tokamak
