// StreamAxis: the meaning of a Stream mark: the logical axes that the loop runs over, and the part of an iteration.
#pragma once

#include <optional>

#include "ir/fusion.h"

namespace tokamak {

struct StreamAxis {
  enum class Form : uint8_t {
    Index,   ///< one index of a logical axis per iteration
    Chunk,   ///< `chunk` consecutive indices per iteration; the last ones may be fewer
    Merged,  ///< one index of two merged logical axes per iteration: index / inner extent and index % inner extent
  };
  Form form = Form::Index;
  IterDomain* loop_axis = nullptr;  ///< the marked axis
  IterDomain* logical = nullptr;    ///< the logical axis (of Merged: the outer one)
  IterDomain* inner = nullptr;      ///< of Merged: the inner logical axis
  Scalar* chunk = nullptr;          ///< of Chunk
  bool may_pass_end = false;        ///< of Chunk: the last iterations may start after the end, and have no elements
};

/// The Stream axis of `tensor`'s loop domain, if it has one. Errors: HostProgram for two of them, for a reduction axis,
/// for an inner part of a split (its indices are not consecutive), for splits of merged axes, and for a reduction that
/// rfactor has cut.
std::optional<StreamAxis> findStreamAxis(const TensorView& tensor);

}  // namespace tokamak
