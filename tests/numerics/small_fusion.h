// SmallFusion: a fusion of a test, its inputs given as numbers, its outputs as elements.
#pragma once

#include <initializer_list>
#include <vector>

#include "ir/fields.h"
#include "ir/fusion.h"
#include "oracle/evaluate.h"

namespace tokamak {

class SmallFusion {
 public:
  /// An input of constant sizes (1 gives a broadcast axis) with these numbers.
  TensorView* input(DataType dtype, const std::vector<int64_t>& sizes, const std::vector<double>& numbers) {
    Axes axes;
    for (const int64_t size : sizes) {
      axes.push_back(fusion.axis(
          {.kind = size == 1 ? IterKind::Broadcast : IterKind::Iteration, .extent = fusion.constant(size)}));
    }
    TensorView* tensor = fusion.tensor(dtype, std::move(axes));
    fusion.addInput(tensor);
    inputs.emplace_back(oracle::fromNumbers(dtype, sizes, numbers));
    return tensor;
  }
  Scalar* scalarInput(DataType dtype, ScalarValue value) {
    Scalar* scalar = fusion.symbol("s", dtype);
    fusion.addInput(scalar);
    inputs.emplace_back(value);
    return scalar;
  }
  /// The result of the op called `name` ("exp", "sum", "slice"); operands and attributes by field name.
  TensorView* op(std::string_view name, Fields fields) {
    const auto found = findOp(name);
    if (found->spelling) fields.push_back({FieldRole::Spelling, spellingName(found->kind), *found->spelling});
    return asTensor(defineExpr(fusion, found->kind, fields)->output(0));
  }
  /// The same for a row of the function table.
  TensorView* call(std::string_view name, const std::vector<Val*>& operands) {
    return op(name, {{FieldRole::OperandList, "in", operands}});
  }
  TensorView* unary(std::string_view name, TensorView* in, Fields more = {}) {
    more.push_back({FieldRole::Operand, "in", static_cast<Val*>(in)});
    return op(name, std::move(more));
  }
  std::vector<Scalar*> constants(std::initializer_list<int64_t> values) {
    std::vector<Scalar*> scalars;
    for (const int64_t value : values) scalars.push_back(fusion.constant(value));
    return scalars;
  }

  oracle::OracleTensor evaluate(TensorView* output, oracle::Mode mode = oracle::Mode::exact()) {
    fusion.addOutput(output);
    return oracle::evaluate(fusion, inputs, {.mode = mode, .bindings = {}}).outputs.back();
  }

  Fusion fusion;
  std::vector<oracle::Input> inputs;

 private:
  static std::string_view spellingName(OpKind kind) {
    for (const Field& field : defaultFields(kind)) {
      if (field.role == FieldRole::Spelling) return field.name;
    }
    return "";
  }
};

inline Field attribute(std::string_view name, FieldValue value) {
  return {FieldRole::Attribute, name, std::move(value)};
}

/// The elements as doubles.
inline std::vector<double> numbersOf(const oracle::OracleTensor& tensor) {
  std::vector<double> numbers;
  for (const oracle::Element& e : tensor.elements) {
    numbers.push_back(isFloatingType(tensor.dtype) ? e.number : static_cast<double>(e.integer));
  }
  return numbers;
}

inline bool isExact(const oracle::OracleTensor& tensor) {
  for (const oracle::Element& e : tensor.elements) {
    if (e.bound != 0) return false;
  }
  return true;
}

}  // namespace tokamak
