// LaneScalars: index arithmetic for all threads of a block at once.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "ir/scalar.h"

namespace tokamak {

class LaneScalars {
 public:
  LaneScalars(int64_t lanes, const ScalarBindings& bindings) : lanes_(lanes), bindings_(&bindings) {}

  /// One value per lane; integers, bools as 0 or 1. Valid until the next call of set for a symbol in it.
  std::span<const int64_t> of(Scalar& scalar);
  /// Gives a symbol its values; what was computed from it is computed anew.
  std::span<int64_t> set(const Scalar& symbol);

 private:
  struct Entry {
    std::vector<int64_t> values;
    std::vector<Entry*> operands;
    uint64_t computed = 0;  // moment
    uint64_t changed = 0;   // moment of the last change of a symbol
    bool is_symbol = false;
    bool is_fixed = false;
    const Scalar* scalar = nullptr;
  };

  Entry& entryOf(Scalar& scalar);
  uint64_t refresh(Entry& entry);

  int64_t lanes_;
  const ScalarBindings* bindings_;
  uint64_t now_ = 1;
  std::unordered_map<const Scalar*, Entry> entries_;
};

}  // namespace tokamak
