// IndexLines: integer expressions over coordinates as piecewise linear functions along a row. So div, mod and
// comparisons cost nothing per element: they only end a linear piece.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "symbolic/scalar.h"

namespace tokamak {

/// value + slope * t at the t-th element from here.
struct Line {
  int64_t value = 0;
  int64_t slope = 0;
};

class IndexLines {
 public:
  /// `coordinates[i]` is dimension i, to which `offsets[i]` is added. `bindings` has all other symbols of expressions.
  IndexLines(std::span<Scalar* const> coordinates, std::span<const int64_t> offsets, const ScalarBindings& bindings);

  /// Adds an integer or boolean expression, and returns its number. Errors: Bind for a symbol without a value.
  int32_t add(const Scalar& scalar);
  /// The linear piece of expression `number` from the point `dimensions` along dimension `along`. Limits `length` to
  /// the piece (at least 1).
  Line at(int32_t number, const int64_t* dimensions, size_t along, int64_t& length) const;
  /// Renames dimension i to numbers[i] in all expressions. (Unmentioned dimensions have any number.)
  void renumber(std::span<const size_t> numbers);
  /// Whether an expression mentions dimension i.
  bool mentionsDimension(size_t i) const;

 private:
  struct Node {
    ScalarOp op = ScalarOp::Constant;
    int32_t operands[3] = {0, 0, 0};
    size_t dimension = 0;  // of a Symbol
    int64_t constant = 0;  // of a Constant; of a Symbol the offset
  };

  Line follow(const Node& node, const int64_t* dimensions, size_t along, int64_t& length) const;

  std::vector<Scalar*> coordinates_;
  std::vector<int64_t> offsets_;
  const ScalarBindings* bindings_;  // while expressions are added
  std::vector<Node> nodes_;
};

/// Whether `scalar` mentions one of the coordinates.
bool mentionsAny(const Scalar& scalar, std::span<Scalar* const> coordinates);

}  // namespace tokamak
