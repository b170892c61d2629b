// Whether an op's results are those that its type rule gives for its operands.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace tokamak {

class Cloner;
class Expr;
class Fusion;
class Val;
struct PointwiseOp;

/// A value in a message: a tensor with its type and shape, a scalar's formula, or a stream's number.
std::string describeVal(const Val* val);

/// What is wrong with the operands of an elementwise op: their number, or the types it computes in; else empty.
std::string operandTypeProblem(const PointwiseOp& op);

enum class ShapeMatch : uint8_t {
  Equal,  ///< axes of the same kinds and extents, as formulas
  /// As many axes, reductions where reductions are: of slices, extents are formulas of their own, and an axis of one
  /// element may be a broadcast one. Sizes are compared when they are known.
  Ranks,
};

/// Thread safety: belongs to one thread at a time.
class TypeRuleChecker {
 public:
  explicit TypeRuleChecker(ShapeMatch match);
  ~TypeRuleChecker();

  /// What is wrong with the results of a math op, or with its operands; else empty. The op is defined once more, over
  /// copies of its operands, and its fusion is not changed. A schedule's rfactor gives results of its own shape: of
  /// such an op nothing is said.
  std::string problemOf(const Expr& expr);

 private:
  ShapeMatch match_;
  std::unique_ptr<Fusion> scratch_;
  std::unique_ptr<Cloner> cloner_;
};

}  // namespace tokamak
