// SegmentSlices: a segment on slices along an axis, for the iterations of a stream loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/ops/host/post_on_stream.h"

namespace tokamak {

/// The slices of a segment's inputs for slices of its outputs along one axis each.
class SegmentSlices {
 public:
  /// `output_axes`: per output of the segment, the axis (of its visible shape) the loop runs along.
  /// Errors: HostProgram if an op of the segment is not independent along the axis, depends on positions along it, or
  /// reads a tensor of the segment both whole and in slices.
  SegmentSlices(const PostOnStream& post, std::span<const int64_t> output_axes);

  /// Per input the sliced axis (of its visible shape); nothing for whole tensors and scalars.
  const std::vector<std::optional<int64_t>>& inputAxes() const { return input_axes_; }

  /// Whether every op of the segment is the same without the axes (host/lower/dropped_axes.h).
  bool mayDropAxes() const;

  /// The segment on slices: without the axes, or with a range of each.
  std::shared_ptr<HostSegment> restricted(bool drops_axis) const;

 private:
  const PostOnStream* post_;
  std::vector<int64_t> output_axes_;
  std::vector<std::optional<int64_t>> input_axes_;
};

/// Why the segment has no slices along those axes (one per output, of its visible shape), or nothing.
std::optional<std::string> whyNoSlices(const Fusion& segment, std::span<const int64_t> output_axes);

/// Makes inputs of the segment's symbols that its tensor inputs do not bind. Their operands are the scalars of the same
/// names in `outer`, mapped to the program by `toProgram`.
void addScalarInputs(const Fusion& outer, PostOnStream& post, HostSegment& segment,
                     const std::function<Scalar*(Scalar*)>& toProgram);

}  // namespace tokamak
