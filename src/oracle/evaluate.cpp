#include "oracle/evaluate.h"

#include <unordered_map>

#include "base/require.h"
#include "ir/ops/math/reduction_op.h"
#include "ir/rfactor_chain.h"
#include "ir/visit.h"
#include "oracle/op_context.h"

namespace tokamak::oracle {

namespace {

// Symbols that are an axis of an input take its size; every other extent must agree.
void bindSizes(const TensorView& tensor, const OracleTensor& value, ScalarBindings& bindings) {
  const Axes axes = shapeOf(tensor);
  TK_REQUIRE(value.dtype == tensor.dtype() && value.sizes.size() == axes.size(), Bind,
             "input {}: got a tensor of type {} with {} axes", toString(tensor), dataTypeName(value.dtype),
             value.sizes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    const Scalar* extent = axes[i]->visibleExtent();
    if (extent->isSymbol()) bindings.try_emplace(extent, value.sizes[i]);
  }
}

void checkSizes(const TensorView& tensor, const OracleTensor& value, const ScalarBindings& bindings) {
  const Axes axes = shapeOf(tensor);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t size = evaluateInt(*axes[i]->visibleExtent(), bindings);
    TK_REQUIRE(size == value.sizes[i], Bind, "input {}: axis {} has size {}; {} is needed", toString(tensor), i,
               value.sizes[i], size);
  }
}

TensorValues bindInputs(const Fusion& fusion, std::span<const Input> inputs, ScalarBindings& bindings) {
  TK_REQUIRE(inputs.size() == fusion.inputs().size(), Bind, "{}: takes {} inputs, got {}", fusion.name(),
             fusion.inputs().size(), inputs.size());
  TensorValues values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Val* val = fusion.inputs()[i];
    const auto* tensor = std::get_if<OracleTensor>(&inputs[i]);
    TK_REQUIRE((tensor != nullptr) == (val->kind() == ValKind::Tensor), Bind, "{}: input {} must be a {}",
               fusion.name(), i, val->kind() == ValKind::Tensor ? "tensor" : "scalar");
    if (tensor == nullptr) {
      bindings.insert_or_assign(static_cast<const Scalar*>(val), std::get<ScalarValue>(inputs[i]));
      continue;
    }
    bindSizes(*asTensor(val), *tensor, bindings);
    values.emplace(val, *tensor);
  }
  for (Val* val : fusion.inputs()) {
    if (const TensorView* tensor = asTensor(val)) checkSizes(*tensor, values.at(tensor), bindings);
  }
  return values;
}

// The last expression that reads each tensor; outputs are read after all of them.
std::unordered_map<const Val*, const Expr*> lastReaders(const Fusion& fusion) {
  std::unordered_map<const Val*, const Expr*> readers;
  for (const Expr* expr : fusion.exprs()) {
    for (const Val* in : expr->inputs()) readers[in] = expr;
  }
  for (const Val* output : fusion.outputs()) readers.erase(output);
  return readers;
}

}  // namespace

Evaluation evaluate(const Fusion& fusion, std::span<const Input> inputs, const Options& options) {
  Evaluation evaluation{.outputs = {}, .tensors = {}, .bindings = options.bindings};
  TensorValues values = bindInputs(fusion, inputs, evaluation.bindings);
  const OpContext context(values, evaluation.bindings, options.mode);
  const std::unordered_map<const Val*, const Expr*> last_readers = lastReaders(fusion);
  for (const Expr* expr : fusion.exprs()) {
    // A reduction that a schedule does in steps is one here.
    const auto* reduction = expr->as<ReductionOp>();
    if (reduction != nullptr && isRfactorPart(*reduction->out)) continue;
    if (const auto chain = reduction == nullptr ? std::nullopt : rfactorChainOf(*reduction->out)) {
      ReductionOp whole = *reduction;
      whole.in = chain->parts.front()->definition()->as<ReductionOp>()->in;
      whole.axes = chain->axes;
      values.insert_or_assign(expr->output(0), compute(whole, context));
      continue;
    }
    OracleTensor result = visitMath(*expr, [&](const auto& op) { return compute(op, context); });
    values.insert_or_assign(expr->output(0), std::move(result));
    if (options.keep == Keep::Everything) continue;
    for (const Val* in : expr->inputs()) {
      if (const auto last = last_readers.find(in); last != last_readers.end() && last->second == expr) values.erase(in);
    }
  }
  for (const TensorView* output : fusion.outputs()) {
    const auto value = values.find(output);
    TK_REQUIRE(value != values.end(), Definition, "{}: output {} is neither computed nor an input", fusion.name(),
               toString(*output));
    evaluation.outputs.push_back(value->second);
  }
  if (options.keep == Keep::Everything) {
    for (auto& [val, value] : values) evaluation.tensors.emplace(static_cast<const TensorView*>(val), std::move(value));
  }
  return evaluation;
}

}  // namespace tokamak::oracle
