// Value: an immutable expression over loads, which a kernel computes for one element.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ir/ops/math/reduction_op.h"
#include "ir/tensor_view.h"
#include "symbolic/functions.h"
#include "symbolic/scalar.h"

namespace tokamak::kir {

enum class ValueKind : uint8_t {
  Load,      ///< the element of `tensor` at the linear index `scalar`
  Variable,  ///< the variable of a Let
  Number,    ///< `scalar` as a number: an index, an extent, a scalar input
  Apply,     ///< `function` of the operands
  Cast,      ///< operand 0 converted to dtype
  Choose,    ///< operand 0 if `scalar` holds, else operand 1; the other one reads no memory
};

/// The name of a value that a Let computes.
struct Variable {
  std::string name;
  DataType dtype = DataType::F32;
  const TensorView* tensor = nullptr;  ///< the tensor whose element it is; null for an index
};
using VariableRef = std::shared_ptr<const Variable>;

struct Value;
/// Immutable and shared.
using ValueRef = std::shared_ptr<const Value>;

struct Value {
  ValueKind kind = ValueKind::Number;
  DataType dtype = DataType::F32;
  const TensorView* tensor = nullptr;
  Scalar* scalar = nullptr;
  VariableRef variable;
  FunctionId function = {};
  std::vector<ValueRef> operands;
};

ValueRef load(const TensorView& tensor, Scalar* index);
ValueRef use(VariableRef variable);
ValueRef number(Scalar* scalar, DataType dtype);
ValueRef apply(FunctionId function, DataType dtype, std::vector<ValueRef> operands);
/// A cast, or the operand itself if it has the type.
ValueRef cast(DataType dtype, ValueRef operand);
ValueRef choose(Scalar* predicate, ValueRef a, ValueRef b);

/// The function that combines two partial results.
FunctionId combiningFunction(ReductionKind kind);

/// Calls `visit(const Value&)` for the value and its operands, transitively, users first.
template <class Visit>
void visitValues(const Value& value, const Visit& visit) {
  visit(value);
  for (const ValueRef& operand : value.operands) visitValues(*operand, visit);
}

}  // namespace tokamak::kir
