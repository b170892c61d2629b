#include "ir/rfactor_chain.h"

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

namespace {

// The reduction of the same kind that alone reads a tensor made by an rfactor, or null.
const ReductionOp* nextOf(const TensorView& tensor) {
  const ReductionOp* own = reductionOf(tensor);
  if (own == nullptr || tensor.domain().root.empty() || tensor.uses().size() != 1) return nullptr;
  const auto* next = tensor.uses()[0]->as<ReductionOp>();
  return next != nullptr && next->op == own->op ? next : nullptr;
}

// Whether the axis, of the tensor's shape, is reduced by one of the next steps.
bool isReducedLater(const TensorView& tensor, size_t axis) {
  const ReductionOp* next = nextOf(tensor);
  if (next == nullptr) return false;
  if (std::ranges::binary_search(next->axes, static_cast<int64_t>(axis))) return true;
  if (next->out->domain().root.empty()) return false;
  const Axes shape = shapeOf(*next->out);
  const auto own = std::ranges::find(shape, next->out->domain().root[axis]);
  return own != shape.end() && isReducedLater(*next->out, static_cast<size_t>(own - shape.begin()));
}

}  // namespace

bool isRfactorPart(const TensorView& tensor) {
  if (nextOf(tensor) == nullptr) return false;
  const Axes shape = shapeOf(tensor);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i]->isRFactor() && !isReducedLater(tensor, i)) return false;
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
