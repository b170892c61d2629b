// Value: what a kernel computes for one element, as an immutable expression over loads from buffers.
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
  Variable,  ///< what a Let has named
  Number,    ///< `scalar` as a number: an index, an extent, a scalar input
  Apply,     ///< `function` of the operands
  Cast,      ///< operand 0 converted to dtype
  Choose,    ///< operand 0 where `scalar` holds, else operand 1; memory is not read by the other one
};

/// A value with a name, computed once where its Let stands.
struct Variable {
  std::string name;
  DataType dtype = DataType::F32;
  const TensorView* tensor = nullptr;  ///< whose element it is; null for an index
};
using VariableRef = std::shared_ptr<const Variable>;

struct Value;
/// Shared, never changed.
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
/// The operand itself when it has the type already.
ValueRef cast(DataType dtype, ValueRef operand);
ValueRef choose(Scalar* predicate, ValueRef a, ValueRef b);

/// What combines two partial results.
FunctionId combiningFunction(ReductionKind kind);

/// Calls `visit(const Value&)` for the value and everything below it, users before operands.
template <class Visit>
void visitValues(const Value& value, const Visit& visit) {
  visit(value);
  for (const ValueRef& operand : value.operands) visitValues(*operand, visit);
}

}  // namespace tokamak::kir
