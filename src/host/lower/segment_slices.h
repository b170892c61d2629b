// UnitSlices: a host unit restricted to a part of an axis, so that a stream loop can run it op by op on slices.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/ops/host/post_on_stream.h"

namespace tokamak {

/// Which part of each input a unit needs when its outputs are cut along one axis each.
class UnitSlices {
 public:
  /// `output_axes`: per output of the unit, the axis (of its visible shape) the loop runs along.
  /// Errors: HostProgram when an op of the unit is not independent along the axis, depends on positions along it, or
  /// reads a tensor of the unit both whole and in slices.
  UnitSlices(const PostOnStream& post, std::span<const int64_t> output_axes);

  /// Per input the axis (of its visible shape) that is cut, or nothing where it is used whole or is a scalar.
  const std::vector<std::optional<int64_t>>& inputAxes() const { return input_axes_; }

  /// Whether every op of the unit means the same without the axes (host/lower/dropped_axes.h).
  bool mayDropAxes() const;

  /// The unit on slices: without the axes, or with a part of each.
  std::shared_ptr<HostUnit> restricted(bool drops_axis) const;

 private:
  const PostOnStream* post_;
  std::vector<int64_t> output_axes_;
  std::vector<std::optional<int64_t>> input_axes_;
};

/// Why the unit has no slices along those axes (one per output, of its visible shape), or nothing.
std::optional<std::string> whyNoSlices(const Fusion& unit, std::span<const int64_t> output_axes);

/// Makes symbols of the unit that the shapes of its tensor inputs do not tell inputs as well, given by the scalars of
/// the same name of `outer`, as `toProgram` maps them to the program in which it is posted.
void addScalarInputs(const Fusion& outer, PostOnStream& post, HostUnit& unit,
                     const std::function<Scalar*(Scalar*)>& toProgram);

}  // namespace tokamak
