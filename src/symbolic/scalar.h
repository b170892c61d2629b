// Scalar: a constant, a symbol, or an expression over scalars; extents, indices, predicates and scalar inputs.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <variant>

#include "base/export.h"
#include "symbolic/val.h"

namespace tokamak {

enum class FunctionId : uint8_t;

/// How a scalar is made of its operands. Integer arithmetic is 64-bit without overflow; FloorDiv, CeilDiv and Mod take
/// a positive divisor and round towards minus infinity (Mod is never negative), plus infinity, minus infinity.
enum class ScalarOp : uint8_t {
  Constant,
  Symbol,
  Add,
  Sub,
  Mul,
  FloorDiv,
  CeilDiv,
  Mod,
  Min,
  Max,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  And,
  Or,
  Not,
  Select,    ///< operand 0 ? operand 1 : operand 2
  Cast,      ///< operand 0 converted to dtype()
  Function,  ///< a row of function_table.h applied to scalars, e.g. rsqrt
};

using ScalarValue = std::variant<int64_t, double, bool>;

/// Whether the values have one type and one bit pattern: -0.0 is not 0.0, a NaN is itself.
TOKAMAK_EXPORT bool isSameValue(const ScalarValue& a, const ScalarValue& b);

/// Immutable and interned: within one fusion two scalars of the same form are the same node, so equality is identity.
/// Symbols are equal only to themselves.
/// Thread safety: that of its fusion. What it says never changes, but simplifying it writes into it what was found, and
/// whatever computes with it makes scalars in the fusion. evaluate() and toString() only read.
class TOKAMAK_EXPORT Scalar final : public Val {
 public:
  ScalarOp op() const { return op_; }
  std::span<Scalar* const> operands() const { return {operands_, operand_count_}; }
  Scalar* operand(size_t i) const { return operands_[i]; }
  /// Which function a Function scalar applies.
  FunctionId function() const { return function_; }

  bool isConstant() const { return op_ == ScalarOp::Constant; }
  bool isSymbol() const { return op_ == ScalarOp::Symbol; }
  const ScalarValue& value() const { return value_; }
  /// The constant as an integer, if it is one.
  std::optional<int64_t> constantInt() const;
  bool isConstantInt(int64_t value) const { return constantInt() == value; }

  /// The name a symbol was given in the text ("i0", "StreamIdx"); may be empty.
  const std::string& name() const { return name_; }
  /// Another name for a symbol, in texts and messages: nothing is computed by it.
  void setName(std::string name) { name_ = std::move(name); }

  /// The creation number of the first symbol in it: the smallest; constants come last. Canonical sums and products are
  /// in this order.
  int64_t firstLeaf() const { return first_leaf_; }
  /// What simplification makes smaller: the nodes of the scalar written as a tree, then the digits of its constants.
  int64_t weight() const { return weight_; }
  /// The number of nodes of the scalar written as a tree; saturates.
  int64_t size() const { return weight_ >> kSizeShift; }
  static constexpr int kSizeShift = 24;

 private:
  friend class ScalarArena;
  friend class Simplifier;
  Scalar(ScalarArena& arena, DataType dtype, ScalarOp op) : Val(arena, ValKind::Scalar, dtype), op_(op) {}

  ScalarOp op_;
  uint8_t operand_count_ = 0;
  FunctionId function_{};
  Scalar* operands_[3] = {nullptr, nullptr, nullptr};
  ScalarValue value_ = int64_t{0};
  std::string name_;
  int64_t first_leaf_ = 0;
  int64_t weight_ = 0;
  Scalar* simplified_ = nullptr;  // remembered by the simplifier
};

/// A total order of one fusion's scalars that does not depend on when composites were made: by first leaf, then by
/// form.
TOKAMAK_EXPORT int compareScalars(const Scalar& a, const Scalar& b);

/// Values given to symbols.
using ScalarBindings = std::unordered_map<const Scalar*, ScalarValue>;

/// The result of a binary `op` on integers; nothing when 64-bit arithmetic overflows or a divisor is not positive.
TOKAMAK_EXPORT std::optional<ScalarValue> applyChecked(ScalarOp op, int64_t a, int64_t b);

/// The value of `scalar` under `bindings`, or nothing when a symbol in it is unbound.
/// Errors: Bind when 64-bit arithmetic overflows or a divisor is not positive.
TOKAMAK_EXPORT std::optional<ScalarValue> evaluate(const Scalar& scalar, const ScalarBindings& bindings);

/// As evaluate, for an integer that must be known. Errors: Bind, naming the symbol without a value.
TOKAMAK_EXPORT int64_t evaluateInt(const Scalar& scalar, const ScalarBindings& bindings);

/// The inline text used in messages: "( i0 * 8 )". Symbols print their names.
TOKAMAK_EXPORT std::string toString(const Scalar& scalar);

/// Converts a value between the three representations as a cast to `dtype` would.
TOKAMAK_EXPORT ScalarValue convertValue(const ScalarValue& value, DataType dtype);
TOKAMAK_EXPORT int64_t asInt(const ScalarValue& value);
TOKAMAK_EXPORT double asDouble(const ScalarValue& value);

}  // namespace tokamak
