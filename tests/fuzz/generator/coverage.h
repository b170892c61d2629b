// Coverage: how often each op was drawn with each type next to reductions, broadcasts and slices.
#pragma once

#include <map>
#include <string>

#include "ir/fusion.h"

namespace tokamak::generator {

enum class Neighbour : uint8_t { Any, Reduced, Broadcast, Sliced };

struct Cell {
  std::string op;                  ///< the name of a call: exp, sum, slice
  DataType dtype = DataType::F32;  ///< of the first tensor operand, or of the result
  Neighbour neighbour = Neighbour::Any;
  auto operator<=>(const Cell&) const = default;
};

class Coverage {
 public:
  /// Counts every op of the fusion. A neighbour is the op that gives an operand or that reads the result.
  void add(const Fusion& fusion);
  int64_t count(const Cell& cell) const;
  const std::map<Cell, int64_t>& cells() const { return cells_; }
  /// A table: one row per op, one column per neighbour, with the smallest count over the types seen and the total.
  std::string report() const;

 private:
  std::map<Cell, int64_t> cells_;
};

}  // namespace tokamak::generator
