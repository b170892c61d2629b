// SegmentSlices: a segment restricted to a part of an axis, so that a stream loop can run it op by op on slices.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/ops/host/post_on_stream.h"

namespace tokamak {

/// Which part of each input a segment needs when its outputs are cut along one axis each.
class SegmentSlices {
 public:
  /// `output_axes`: per output of the segment, the axis (of its visible shape) the loop runs along.
  /// Errors: HostProgram when an op of the segment is not independent along the axis, depends on positions along it, or
  /// reads a tensor of the segment both whole and in slices.
  SegmentSlices(const PostOnStream& post, std::span<const int64_t> output_axes);

  /// Per input the axis (of its visible shape) that is cut, or nothing where it is used whole or is a scalar.
  const std::vector<std::optional<int64_t>>& inputAxes() const { return input_axes_; }

  /// Whether every op of the segment means the same without the axes (host/lower/dropped_axes.h).
  bool mayDropAxes() const;

  /// The segment on slices: without the axes, or with a part of each.
  std::shared_ptr<HostSegment> restricted(bool drops_axis) const;

 private:
  const PostOnStream* post_;
  std::vector<int64_t> output_axes_;
  std::vector<std::optional<int64_t>> input_axes_;
};

/// Why the segment has no slices along those axes (one per output, of its visible shape), or nothing.
std::optional<std::string> whyNoSlices(const Fusion& segment, std::span<const int64_t> output_axes);

/// Makes symbols of the segment that the shapes of its tensor inputs do not tell inputs as well, given by the scalars
/// of the same name of `outer`, as `toProgram` maps them to the program in which it is posted.
void addScalarInputs(const Fusion& outer, PostOnStream& post, HostSegment& segment,
                     const std::function<Scalar*(Scalar*)>& toProgram);

}  // namespace tokamak
