// LinearIndex: an index as a constant, a multiple of each coordinate, and nonlinear parts (div, mod, ...) as atoms.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "symbolic/scalar.h"

namespace tokamak {

struct LinearIndex {
  int64_t constant = 0;
  std::vector<int64_t> strides;                          ///< one per dimension
  std::vector<std::pair<int64_t, const Scalar*>> atoms;  ///< times a number, in order of appearance, each once

  void add(const LinearIndex& other, int64_t times);
};

/// The extents, coordinates and values for decomposing expressions.
struct IndexSpace {
  std::vector<Scalar*> coordinates;
  std::vector<int64_t> extents;  ///< one per coordinate
  std::vector<int64_t> offsets;  ///< one per coordinate, added to it where it is not an operand's index as it stands
  const ScalarBindings* bindings = nullptr;

  /// Decomposes the scalar. Resolves div and mod where the extents allow it.
  LinearIndex linear(const Scalar& scalar) const;
  /// Joins a div and a mod of one value whose sum is a multiple of it, as after a reshape of a dense operand.
  void joinDivAndMod(LinearIndex& index) const;
  /// The lowest and highest value, if there are no atoms; the space must not be empty.
  std::optional<std::pair<int64_t, int64_t>> range(const LinearIndex& index) const;

 private:
  LinearIndex divide(const Scalar& scalar) const;
};

}  // namespace tokamak
