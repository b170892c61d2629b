// MarkedParts: how an axis is cut into parts of which devices, or iterations of a stream loop, have one each.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/fusion.h"

namespace tokamak {

/// A split of which the outer part is cut on, or is the marked one in the end.
struct AxisCut {
  Scalar* factor = nullptr;
  bool is_inner_factor = true;  ///< the inner part has the factor as its extent; else the outer one
};

/// The parts of an axis of a tensor's visible shape.
struct MarkedParts {
  int64_t axis = 0;
  std::vector<AxisCut> cuts = {};  ///< of the axis, of its outer part, ...; none: the axis itself is marked
  Scalar* chunk = nullptr;         ///< how many indices a part has, simplified; the last ones have fewer

  /// Of the same axis, with the same indices.
  bool operator==(const MarkedParts& other) const { return axis == other.axis && chunk == other.chunk; }
};

/// The parts that a loop axis of the tensor stands for; nothing where another step than an outer part of a split is on
/// its way from the visible shape. These functions make scalars in the tensor's fusion.
std::optional<MarkedParts> markedPartsOf(const TensorView& tensor, const IterDomain& marked);

/// The parts that Stream marks stand for. Others, as of merged axes, are left out.
std::vector<MarkedParts> streamsOf(const TensorView& tensor);

/// The parts that a Stream mark of a reduction axis stands for, if there is one. Their axis is of the logical domain.
std::optional<MarkedParts> reducedStreamOf(const TensorView& tensor);

/// What these cuts make of an axis; nothing if it would not have `count` parts, provably.
std::optional<MarkedParts> partsOfCuts(const TensorView& tensor, int64_t axis, std::vector<AxisCut> cuts,
                                       int64_t count);

/// `count` parts of `elements` elements each, of an axis whose index has `behind` of them: those of evenParts(), or
/// parts of a size. Nothing where none of these is so, provably.
std::optional<MarkedParts> partsOfElements(const TensorView& tensor, int64_t axis, Scalar& behind, Scalar& elements,
                                           int64_t count);

/// Parts of ceilDiv(n, count) indices; the axis itself where it is known to have `count` of them.
MarkedParts evenParts(const TensorView& tensor, int64_t axis, int64_t count);

}  // namespace tokamak
