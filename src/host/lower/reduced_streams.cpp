#include "host/lower/reduced_streams.h"

#include <algorithm>

#include "analysis/sharding.h"
#include "base/require.h"
#include "compute/axis_map.h"
#include "compute/reduced_axes.h"
#include "host/ir/restrict_op.h"
#include "ir/expr_summary.h"
#include "ir/ops/math/broadcast_op.h"
#include "ir/ops/math/cast_op.h"
#include "ir/ops/math/full_op.h"
#include "ir/ops/math/linear_op.h"
#include "ir/ops/math/pointwise_op.h"
#include "kernel/value.h"
#include "schedule/shard.h"

namespace tokamak {

namespace {

bool isHalf(DataType dtype) { return dtype == DataType::F16 || dtype == DataType::BF16; }

void dropReductions(TensorView& tensor) {
  TensorDomain& domain = tensor.mutableDomain();
  const bool has_allocation = !domain.allocation.empty();
  const Axes& stored = has_allocation ? domain.allocation : domain.logical;
  std::vector<std::optional<bool>> contiguity;
  for (size_t i = 0; i < domain.contiguity.size(); ++i)
    if (!stored[i]->isReduction()) contiguity.push_back(domain.contiguity[i]);
  domain.contiguity = std::move(contiguity);
  for (Axes* axes : {&domain.logical, &domain.loop, &domain.allocation})
    std::erase_if(*axes, [](const IterDomain* axis) { return axis->isReduction(); });
}

}  // namespace

std::vector<std::optional<int64_t>> operandAxesReduced(const Expr& op, int64_t axis) {
  const Axes& logical = asTensor(op.output(0))->logical();
  const auto number = static_cast<size_t>(std::count_if(
      logical.begin(), logical.begin() + axis, [](const IterDomain* before) { return before->isReduction(); }));
  const AxisMap map(op);
  const Element* reduction = nullptr;  // to whose sum a bias may be added
  visitElements(*map.rule().value, [&](const Element& element) {
    if (element.kind == ElementKind::Reduce) reduction = &element;
  });
  std::vector<std::optional<int64_t>> axes(op.inputs().size());
  for (size_t i = 0; i < axes.size(); ++i) {
    const TensorView* const operand = asTensor(op.input(i));
    if (operand == nullptr || reduction == nullptr) continue;
    for (size_t own = 0; own < shapeOf(*operand).size(); ++own)
      if (reducedAxis(*reduction, *operand, static_cast<int64_t>(own)) == number) axes[i] = static_cast<int64_t>(own);
  }
  return axes;
}

std::optional<StreamAxis> findReducedStream(const Expr& expr) {
  if (expr.list() != OpList::Math || expr.outputs().size() != 1) return std::nullopt;
  TensorView& result = *asTensor(expr.output(0));
  const auto isMarked = [](const IterDomain* axis) { return axis->isStream() && axis->isReduction(); };
  const auto marked = std::ranges::find_if(result.loop(), isMarked);
  if (marked == result.loop().end()) return std::nullopt;
  const auto isOther = [&](const IterDomain* axis) { return axis->isStream() && axis != *marked; };
  const auto other = std::ranges::find_if(result.loop(), isOther);
  TK_REQUIRE(other == result.loop().end(), HostProgram,
             "Stream on {} and on {}: a tensor can be streamed along one axis only", describeAxis(result, **marked),
             describeAxis(result, **other));
  requireUncut(result, **marked);
  const StreamAxis axis = logicalPartOf(result, **marked);
  if (axis.logical->extent()->isConstantInt(1)) {  // operands broadcast along it: they have no parts
    (*marked)->parallelize(ParallelType::Serial);
    return std::nullopt;
  }
  for (const TensorView* operand : tensorsOf(expr.inputs())) {
    const Axes shape = shapeOf(*operand);
    const bool is_expanded =
        std::ranges::any_of(shape, [](const IterDomain* own) { return own->expandedExtent() != nullptr; });
    TK_REQUIRE(!is_expanded, HostProgram,
               "Stream on {}: {} reduces it, and its operand {} has an expanded axis, which a loop over reduced axes "
               "does not cut; copy the operand to a tensor of its own before",
               describeAxis(result, **marked), callName(expr), toString(*operand));
  }
  return axis;
}

ReducedStatement::ReducedStatement(HostIrContainer& program, const Expr& expr, const StreamAxis& axis)
    : program_(program), result_(asTensor(expr.output(0))), axis_(logicalAxisNumber(*result_, *axis.logical)) {
  const AxisMap map(expr);
  Fields fields = fieldsOf(expr);
  if (const auto* linear = expr.as<LinearOp>()) bias_ = linear->bias;
  std::erase_if(fields, [](const Field& field) { return field.name == "bias"; });
  const DataType dtype = isHalf(result_->dtype()) ? DataType::F32 : result_->dtype();
  Axes axes;
  for (const IterDomain* own : result_->logical())
    axes.push_back(program.axis({.kind = own->kind(), .extent = own->extent(), .is_rfactor = own->isRFactor()}));
  TensorView* const whole = program.tensor(dtype, std::move(axes));
  if (!result_->mesh().empty()) shard(*whole, shardingOf(*result_));
  for (Field& field : fields) {
    if (field.role == FieldRole::Result) field.value = static_cast<Val*>(whole);
    if (field.name == "dtype" && dtype != result_->dtype()) field.value = dtype;
  }
  op_ = program.append(makeExpr(expr.kind(), fields));
  const AxisMap own(*op_);
  reduction_ = reductionOf(own.rule())->reduction;
  dropReductions(*result_);
  const bool is_done_later = bias_ != nullptr || dtype != result_->dtype();
  total_ = is_done_later ? like(*result_, dtype) : result_;
}

// A tensor of the same axes (those that are visible) and shards.
TensorView* ReducedStatement::like(const TensorView& tensor, DataType dtype) {
  Axes axes;
  for (const IterDomain* axis : shapeOf(tensor))
    axes.push_back(program_.axis({.kind = axis->kind(), .extent = axis->extent()}));
  TensorView* const made = program_.tensor(dtype, std::move(axes));
  made->setMemoryType(MemoryType::Global);
  if (!tensor.mesh().empty()) shard(*made, shardingOf(tensor));
  return made;
}

Expr* ReducedStatement::identity() {
  std::vector<Scalar*> shape;
  for (const IterDomain* axis : shapeOf(*total_)) shape.push_back(axis->extent());
  const DataType dtype = total_->dtype();
  Scalar* const value = program_.constant(reductionIdentity(reduction_, dtype), dtype);
  return program_.appendOp(FullOp{.out = total_, .shape = std::move(shape), .value = value, .dtype = dtype});
}

TensorView* ReducedStatement::makeTerm(Scalar* extent) {
  const TensorView& whole = *asTensor(op_->output(0));
  Axes axes;
  for (size_t i = 0; i < whole.logical().size(); ++i) {
    const IterDomain& own = *whole.logical()[i];
    const bool is_cut = static_cast<int64_t>(i) == axis_;
    axes.push_back(program_.axis({.kind = own.kind(), .extent = is_cut ? extent : own.extent()}));
  }
  TensorView* const term = program_.tensor(whole.dtype(), std::move(axes));
  term->setMemoryType(MemoryType::Global);
  if (!whole.mesh().empty()) shard(*term, shardingOf(whole));
  return term;
}

Expr* ReducedStatement::pointwise(TensorView* out, TensorView* a, TensorView* b, ReductionKind kind) {
  return program_.appendOp(PointwiseOp{.out = out, .function = kir::combiningFunction(kind), .ins = {a, b}});
}

Expr* ReducedStatement::combine(TensorView& term) {
  TensorView* const combined = like(*total_, total_->dtype());
  program_.markAlias(total_, combined);
  return pointwise(combined, total_, &term, reduction_);
}

// The bias, which has one axis at most, with the axes of the total.
TensorView* ReducedStatement::alongLastAxis(TensorView& bias) {
  const auto last = static_cast<int64_t>(shapeOf(*total_).size()) - 1;
  std::vector<bool> flags(static_cast<size_t>(last) + 1, true);
  Axes axes(flags.size());
  for (IterDomain*& axis : axes) axis = program_.axis({.kind = IterKind::Broadcast, .extent = program_.constant(1)});
  if (!shapeOf(bias).empty()) {
    flags.back() = false;
    axes.back() = program_.axis({.kind = shapeOf(bias)[0]->kind(), .extent = shapeOf(bias)[0]->extent()});
  }
  TensorView* const made = program_.tensor(bias.dtype(), std::move(axes));
  made->setMemoryType(MemoryType::Global);
  if (!bias.mesh().empty()) {
    Sharding sharding = shardingOf(bias);
    for (MeshUse& use : sharding.uses)
      if (use.form == MeshUse::Form::Chunk) use.parts.axis = last;
    shard(*made, sharding);
  }
  program_.appendOp(BroadcastOp{.out = made, .in = &bias, .flags = std::move(flags)});
  return made;
}

std::vector<Expr*> ReducedStatement::results() {
  std::vector<Expr*> statements;
  if (total_ == result_) return statements;
  TensorView* value = total_;
  if (bias_ != nullptr) {
    TensorView* bias = bias_;
    if (bias->dtype() != value->dtype()) {
      bias = like(*bias, value->dtype());
      statements.push_back(program_.appendOp(CastOp{.out = bias, .in = bias_, .dtype = value->dtype()}));
    }
    TensorView* const sum = value->dtype() == result_->dtype() ? result_ : like(*value, value->dtype());
    if (shapeOf(*bias).size() < shapeOf(*value).size()) {
      bias = alongLastAxis(*bias);
      statements.push_back(bias->definition());
    }
    statements.push_back(pointwise(sum, value, bias, ReductionKind::Sum));
    value = sum;
  }
  if (value != result_)
    statements.push_back(program_.appendOp(CastOp{.out = result_, .in = value, .dtype = result_->dtype()}));
  return statements;
}

}  // namespace tokamak
