#include "ir/text/rfactor_chain.h"

#include <algorithm>

#include "ir/ops/math/reduction_op.h"

namespace tokamak {

namespace {

const ReductionOp* reductionOf(const TensorView& tensor) {
  return tensor.definition() == nullptr ? nullptr : tensor.definition()->as<ReductionOp>();
}

// Axes of the last part's shape as axes of the operand's shape, which the part's root axes are one by one.
std::vector<int64_t> axesOfOperand(const std::vector<int64_t>& axes, const TensorView& part) {
  std::vector<int64_t> all = reductionOf(part)->axes;
  const Axes shape = shapeOf(part);
  const Axes& root = part.domain().root;
  for (const int64_t axis : axes) {
    const auto own = std::ranges::find(root, shape[static_cast<size_t>(axis)]);
    if (own != root.end()) all.push_back(own - root.begin());
  }
  std::ranges::sort(all);
  return all;
}

}  // namespace

bool isRfactorPart(const TensorView& tensor) {
  const ReductionOp* own = reductionOf(tensor);
  if (own == nullptr || tensor.domain().root.empty() || tensor.uses().size() != 1) return false;
  const auto* rest = tensor.uses()[0]->as<ReductionOp>();
  if (rest == nullptr || rest->op != own->op) return false;
  // All that an rfactor makes of the reduction axes is reduced by the next step.
  const Axes shape = shapeOf(tensor);
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool is_reduced = std::ranges::binary_search(rest->axes, static_cast<int64_t>(i));
    if (shape[i]->isRFactor() && !is_reduced) return false;
  }
  return true;
}

std::optional<RfactorChain> rfactorChainOf(const TensorView& result) {
  const ReductionOp* op = reductionOf(result);
  if (op == nullptr || isRfactorPart(result)) return std::nullopt;
  RfactorChain chain{.parts = {}, .result = &result, .axes = op->axes};
  while (isRfactorPart(*op->in)) {
    chain.parts.insert(chain.parts.begin(), op->in);
    chain.axes = axesOfOperand(chain.axes, *op->in);
    op = reductionOf(*op->in);
  }
  return chain.parts.empty() ? std::nullopt : std::optional(std::move(chain));
}

const TensorView* rfactorResultOf(const TensorView& part) {
  const TensorView* tensor = &part;
  while (isRfactorPart(*tensor)) tensor = tensor->uses()[0]->as<ReductionOp>()->out;
  return tensor;
}

Fields fieldsOf(const RfactorChain& chain) {
  Fields fields = fieldsOf(*chain.result->definition());
  for (Field& field : fields) {
    if (field.role == FieldRole::Operand) field.value = static_cast<Val*>(reductionOf(*chain.parts[0])->in);
    if (field.role == FieldRole::AxisNumbers) field.value = chain.axes;
  }
  return fields;
}

}  // namespace tokamak
