// Operand: what a function of functions.h is applied to: a tensor, a scalar of the fusion, or a number written in C++.
#pragma once

#include <concepts>
#include <initializer_list>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/export.h"
#include "ir/tensor_view.h"
#include "symbolic/scalar.h"

namespace tokamak {

class TOKAMAK_EXPORT Operand {
 public:
  /// Errors: Definition for null, which is no number.
  Operand(Val* val);
  Operand(std::floating_point auto literal) : literal_(static_cast<double>(literal)) {}
  Operand(std::integral auto literal) : literal_(toValue(literal)) {}

  /// The tensor or scalar, or null for a number.
  Val* val() const { return val_; }
  bool isLiteral() const { return val_ == nullptr; }
  const ScalarValue& literal() const { return literal_; }
  /// The type of the value; of a number f64, i64 or bool.
  DataType dtype() const;

 private:
  template <class T>
  static ScalarValue toValue(T literal) {
    if constexpr (std::is_same_v<T, bool>)
      return literal;
    else
      return static_cast<int64_t>(literal);
  }

  Val* val_ = nullptr;
  ScalarValue literal_ = int64_t{0};
};

/// A list of operands, such as the sizes of a shape: {rows, 8}.
class Operands {
 public:
  Operands(std::initializer_list<Operand> operands) : operands_(operands) {}
  Operands(const std::vector<Scalar*>& scalars) : operands_(scalars.begin(), scalars.end()) {}
  Operands(const std::vector<int64_t>& integers) : operands_(integers.begin(), integers.end()) {}

  size_t size() const { return operands_.size(); }
  const Operand& operator[](size_t i) const { return operands_[i]; }
  auto begin() const { return operands_.begin(); }
  auto end() const { return operands_.end(); }
  operator std::span<const Operand>() const { return operands_; }

 private:
  std::vector<Operand> operands_;
};

/// A tensor that a call was given, and the name of its parameter.
struct GivenTensor {
  std::string_view parameter;
  const TensorView* tensor;
};
/// Errors: Definition for a null tensor, naming call and parameter.
TOKAMAK_EXPORT void requireGiven(std::string_view call, std::initializer_list<GivenTensor> tensors);
TOKAMAK_EXPORT void requireGiven(std::string_view call, std::string_view parameter,
                                 std::span<TensorView* const> tensors);

/// The fusion of the first operand that has one, or null.
TOKAMAK_EXPORT Fusion* fusionOf(std::span<const Operand> operands);

/// The operand as a scalar of `fusion`. Errors: Definition, naming `op`, for a tensor.
TOKAMAK_EXPORT Scalar* scalarOf(Fusion& fusion, std::string_view op, const Operand& operand);
TOKAMAK_EXPORT std::vector<Scalar*> scalarsOf(Fusion& fusion, std::string_view op, std::span<const Operand> operands);

/// The value as `dtype`: the value itself if it has that type already, a constant, a cast scalar or a CastOp's result.
TOKAMAK_EXPORT Val* castTo(Val* val, DataType dtype);
TOKAMAK_EXPORT TensorView* castTo(TensorView* tensor, DataType dtype);
TOKAMAK_EXPORT Scalar* castTo(Scalar* scalar, DataType dtype);
/// As castTo its computeType: half types become f32.
TOKAMAK_EXPORT TensorView* toComputeType(TensorView* tensor);
/// As toComputeType, and integers and bool become f32.
TOKAMAK_EXPORT TensorView* toFloating(TensorView* tensor);
/// As castTo the type of `like`, if that is floating.
TOKAMAK_EXPORT TensorView* toTypeOf(const TensorView& like, TensorView* tensor);

}  // namespace tokamak
