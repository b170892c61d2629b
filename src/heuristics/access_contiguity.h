// AccessContiguity: the strides of a stored tensor's loads and stores along each of its axes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analysis/addresses.h"
#include "analysis/tensor_reads.h"

namespace tokamak {

/// The accesses that compute a tensor: its loads, and its store if it is in memory. Strides are per logical axis of the
/// tensor, reduction axes included.
class AccessContiguity {
 public:
  struct Access {
    const TensorView* tensor = nullptr;
    std::vector<Scalar*> index;    ///< per axis of the tensor's visible shape, in terms of coordinates()
    Scalar* address = nullptr;     ///< the offset in memory
    std::vector<Scalar*> strides;  ///< per axis; null where the access is not linear
  };

  AccessContiguity(Fusion& fusion, const TensorView& tensor, const Strides& strides);

  /// Whether axes `axis` and `axis + 1` merge into one axis along which each access has one stride (0 where it is
  /// invariant).
  bool mayMerge(size_t axis) const { return mayMerge(axis, axis + 1); }
  /// The same for any two axes, for loops that may come in any order.
  bool mayMerge(size_t outer, size_t inner) const;
  /// Of loops over all axes in this order, outermost first: where the longest run of innermost ones that merge into one
  /// begins.
  size_t innermostGroup(std::span<const int64_t> order) const;
  /// The axis along which most accesses have stride 1; an access counts as often as it depends on axes. Nothing where
  /// no access has stride 1.
  std::optional<size_t> unitAxis() const;

  const std::vector<Access>& accesses() const { return accesses_; }
  const std::vector<Scalar*>& coordinates() const { return coordinates_; }
  const std::vector<Scalar*>& extents() const { return extents_; }

 private:
  Fusion* fusion_;
  std::vector<Scalar*> coordinates_;
  std::vector<Scalar*> extents_;
  std::vector<Access> accesses_;
};

}  // namespace tokamak
