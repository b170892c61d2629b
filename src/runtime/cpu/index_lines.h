// IndexLines: integer expressions over coordinates, followed along a row as straight lines for as long as they are
// straight. That is how div, mod and comparisons cost nothing per element: they say where along the row their value
// bends.
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
  /// `coordinates[i]` is dimension i; `offsets[i]` is added to it. Everything else in an expression must be known from
  /// `bindings`.
  IndexLines(std::span<Scalar* const> coordinates, std::span<const int64_t> offsets, const ScalarBindings& bindings);

  /// Makes an integer or boolean expression ready; the number is for `at`. Errors: Bind for a symbol without a value.
  int32_t add(const Scalar& scalar);
  /// Follows expression `number` from the point `dimensions` along dimension `along`. `length` is cut to how far the
  /// line is straight (at least 1).
  Line at(int32_t number, const int64_t* dimensions, size_t along, int64_t& length) const;
  /// Dimension i becomes dimension numbers[i] in all expressions (dimensions that no expression mentions have any
  /// number).
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
