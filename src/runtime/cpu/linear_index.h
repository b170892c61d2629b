// LinearIndex: an index as a constant, a multiple of each coordinate, and what is left (div, mod, ...) as atoms.
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

/// The sizes, coordinates and values that expressions are taken apart with.
struct IndexSpace {
  std::vector<Scalar*> coordinates;
  std::vector<int64_t> extents;  ///< one per coordinate
  std::vector<int64_t> offsets;  ///< one per coordinate, added to it where it is not an operand's index as it stands
  const ScalarBindings* bindings = nullptr;

  /// div and mod are resolved where the extents allow it.
  LinearIndex linear(const Scalar& scalar) const;
  /// A div and a mod of one value that together are a multiple of it again become that: what is left of a reshape whose
  /// operand is dense.
  void joinDivAndMod(LinearIndex& index) const;
  /// Lowest and highest value, when there are no atoms; the space must not be empty.
  std::optional<std::pair<int64_t, int64_t>> range(const LinearIndex& index) const;

 private:
  LinearIndex divide(const Scalar& scalar) const;
};

}  // namespace tokamak
