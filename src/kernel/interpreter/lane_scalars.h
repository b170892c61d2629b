// LaneScalars: index arithmetic for all threads of a block at once.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "symbolic/scalar.h"

namespace tokamak {

class LaneScalars {
 public:
  /// `bits`: of the threads' integers; results have 64.
  LaneScalars(int64_t lanes, const ScalarBindings& bindings, int bits)
      : lanes_(lanes), bindings_(&bindings), bound_(bits < 64 ? int64_t{1} << (bits - 1) : 0) {}

  /// One value per lane, bools as 0 or 1. Valid until the next call of set for a symbol in it.
  std::span<const int64_t> of(Scalar& scalar);
  /// The symbol's values, to be set; scalars that depend on it are computed anew.
  std::span<int64_t> set(const Scalar& symbol);

  /// The part of the scalar whose last value did not fit in `bits` for a lane, or null.
  const Scalar* tooWide(Scalar& scalar, int64_t lane);

 private:
  struct Entry {
    std::vector<int64_t> values;
    std::vector<Entry*> operands;
    uint64_t computed = 0;  // moment
    uint64_t changed = 0;   // moment of the last change of a symbol
    bool is_symbol = false;
    bool is_fixed = false;
    bool may_be_wide = false;  // in some lane
    const Scalar* scalar = nullptr;
  };

  Entry& entryOf(Scalar& scalar);
  uint64_t refresh(Entry& entry);
  void noteWidth(Entry& entry) const;
  const Scalar* widePart(const Entry& entry, int64_t lane) const;
  bool isWide(int64_t value) const { return bound_ != 0 && (value < -bound_ || value >= bound_); }

  int64_t lanes_;
  const ScalarBindings* bindings_;
  int64_t bound_;  // values are below, and at least its negative; 0: any
  uint64_t now_ = 1;
  std::unordered_map<const Scalar*, Entry> entries_;
};

}  // namespace tokamak
