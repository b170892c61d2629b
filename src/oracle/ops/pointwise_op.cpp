#include "ir/ops/math/pointwise_op.h"

#include <algorithm>

#include "oracle/functions.h"
#include "oracle/index.h"
#include "oracle/op_context.h"
#include "oracle/parallel.h"

namespace tokamak::oracle {

namespace {

// One operand, element by element of the result: broadcast axes stay at 0, scalars are the same everywhere.
struct Operand {
  const OracleTensor* tensor = nullptr;
  std::vector<int64_t> strides;  // of the operand's elements per step of the result's index
  Element scalar;
  DataType from = DataType::F32;
  DataType to = DataType::F32;
};

Operand operandOf(Val* val, DataType to, const PointwiseOp& op, const OracleTensor& out, const OpContext& context) {
  Operand operand;
  operand.from = val->dtype();
  operand.to = to;
  const TensorView* tensor = asTensor(val);
  if (tensor == nullptr) {
    operand.scalar = context.scalarAs(to, asScalar(val));
    operand.from = to;
    return operand;
  }
  operand.tensor = &context[tensor];
  const Axes axes = shapeOf(*tensor);
  operand.strides.assign(axes.size(), 0);
  int64_t stride = 1;
  for (size_t i = axes.size(); i-- > 0;) {
    const int64_t size = operand.tensor->sizes[i];
    const bool repeats = axes[i]->isBroadcast() && size == 1;
    TK_REQUIRE(repeats || size == out.sizes[i], Bind,
               "{}: axis {} of {} has size {}; {} is needed, or a broadcast axis", functionInfo(op.function).name, i,
               toString(*tensor), size, out.sizes[i]);
    operand.strides[i] = repeats ? 0 : stride;
    stride *= size;
  }
  return operand;
}

}  // namespace

OracleTensor compute(const PointwiseOp& op, const OpContext& context) {
  OracleTensor out = context.result(*op.out);
  const auto types = functionTypes(op.function, op.ins.back()->dtype());
  TK_CHECK(types.has_value(), "{} does not take {}", functionInfo(op.function).name,
           dataTypeName(op.ins.back()->dtype()));
  const bool chooses = functionInfo(op.function).rule == TypeRule::Choose;
  std::vector<Operand> operands;
  for (size_t i = 0; i < op.ins.size(); ++i) {
    operands.push_back(operandOf(op.ins[i], chooses && i == 0 ? DataType::Bool : types->operand, op, out, context));
  }
  constexpr int64_t kElementsPerPart = 1 << 14;
  forEachPart((out.count() + kElementsPerPart - 1) / kElementsPerPart, [&](int64_t part) {
    std::vector<Element> elements(operands.size());
    const int64_t first = part * kElementsPerPart;
    auto flat = static_cast<size_t>(first);
    forEachIndexFrom(
        out.sizes, first, std::min(kElementsPerPart, out.count() - first), [&](std::span<const int64_t> index) {
          for (size_t i = 0; i < operands.size(); ++i) {
            const Operand& operand = operands[i];
            int64_t offset = 0;
            for (size_t a = 0; a < operand.strides.size(); ++a) offset += index[a] * operand.strides[a];
            elements[i] =
                operand.tensor == nullptr ? operand.scalar : operand.tensor->elements[static_cast<size_t>(offset)];
            elements[i] = convertElement(elements[i], operand.from, operand.to, context.mode());
          }
          out.elements[flat++] = applyFunction(op.function, *types, elements, context.mode());
        });
  });
  return out;
}

}  // namespace tokamak::oracle
