#include "program.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"
#include "described_ops.h"
#include "ir/all_ops.h"
#include "ir/describe.h"
#include "schedule/propagate.h"
#include "schedule/transforms.h"

namespace tokamak::generator {

namespace {

template <class Op>
TensorView* define(Fusion& fusion, Op op) {
  op.infer(ShapeRule(fusion, Op::info.name));
  return asTensor(fusion.appendOp(std::move(op))->output(0));
}

}  // namespace

int64_t Program::opCount() const {
  return std::ranges::count_if(nodes, [](const Node& node) { return node.kind == NodeKind::Op; });
}

ProgramBuilder::ProgramBuilder() : fusion_(std::make_unique<Fusion>("random")) {}
ProgramBuilder::~ProgramBuilder() = default;

bool ProgramBuilder::isRepeatable(int node, size_t axis) const {
  const IterDomain* domain = shapeOf(*tensor(node))[axis];
  return domain->isBroadcast() && domain->expandedExtent() == nullptr;
}

Scalar* ProgramBuilder::extent(int64_t size) const {
  const auto symbol = symbols_.find(size);
  return size == 1 || symbol == symbols_.end() ? fusion_->constant(size) : symbol->second;
}

// Sizes that are a product of two neighbours of the operand's are written as such, so that merged axes stay symbolic.
// With as many elements as the operand only because there are none, a reshape has constants: it is one for no other
// sizes.
std::vector<Scalar*> ProgramBuilder::shapeFor(const Node& node) const {
  std::vector<Scalar*> shape;
  const bool is_reshape = !node.operands.empty() && node.op == OpKind::ReshapeOp;
  const auto elements = [](const std::vector<int64_t>& sizes) {
    constexpr int64_t kForNone = 1'000'003;
    return std::transform_reduce(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>(),
                                 [](int64_t size) { return size == 0 ? kForNone : size; });
  };
  const bool has_symbols = !is_reshape || elements(node.sizes) == elements(sizes(node.operands[0].node));
  for (const int64_t size : node.sizes) shape.push_back(has_symbols ? extent(size) : fusion_->constant(size));
  if (!is_reshape || !has_symbols) return shape;
  const Axes axes = shapeOf(*tensor(node.operands[0].node));
  const std::vector<int64_t>& have = sizes(node.operands[0].node);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!shape[i]->isConstant() || node.sizes[i] <= 1) continue;
    for (size_t a = 0; a + 1 < have.size(); ++a) {
      if (have[a] * have[a + 1] == node.sizes[i]) {
        shape[i] = fusion_->mul(axes[a]->visibleExtent(), axes[a + 1]->visibleExtent());
        break;
      }
    }
  }
  return shape;
}

TensorView* ProgramBuilder::addTensorInput(const Node& node) {
  TensorDomain domain;
  for (size_t i = 0; i < node.sizes.size(); ++i) {
    const int64_t size = node.sizes[i];
    if (i < node.symbolic.size() && node.symbolic[i] && !symbols_.contains(size)) {
      symbols_[size] = fusion_->symbol(fmt::format("i{}", symbols_.size()));
      bindings_[symbols_[size]] = size;
    }
    const bool is_symbolic = i < node.symbolic.size() && node.symbolic[i];
    Scalar* length = is_symbolic ? symbols_[size] : fusion_->constant(size);
    const bool is_expanded = i < node.expanded.size() && node.expanded[i];
    if (is_expanded)
      domain.logical.push_back(fusion_->axis({.kind = IterKind::Broadcast, .expanded_extent = length}));
    else if (size == 1 && !is_symbolic)
      domain.logical.push_back(fusion_->axis({.kind = IterKind::Broadcast}));
    else
      domain.logical.push_back(fusion_->axis({.extent = length}));
  }
  if (node.layout == Layout::Permuted) {
    for (const int64_t axis : node.order) domain.allocation.push_back(domain.logical[static_cast<size_t>(axis)]);
  }
  if (node.layout == Layout::Sliced) {
    for (const IterDomain* axis : domain.logical) {
      domain.contiguity.push_back(axis->isBroadcast() ? std::nullopt : std::optional(false));
    }
  }
  TensorView* tensor = fusion_->tensor(node.dtype, std::move(domain));
  fusion_->addInput(tensor);
  return tensor;
}

void ProgramBuilder::add(const Node& node) {
  if (node.kind == NodeKind::ScalarInput) {
    Scalar* scalar = fusion_->symbol(fmt::format("s{}", values_.size()), node.dtype);
    fusion_->addInput(scalar);
    values_.push_back(scalar);
    sizes_.emplace_back();
    return;
  }
  TensorView* made = node.kind == NodeKind::TensorInput ? addTensorInput(node) : addOp(node);
  made->setLabel(count());
  std::vector<int64_t> made_sizes;
  for (const IterDomain* axis : shapeOf(*made)) made_sizes.push_back(evaluateInt(*axis->visibleExtent(), bindings_));
  values_.push_back(made);
  sizes_.push_back(std::move(made_sizes));
}

TensorView* ProgramBuilder::addOp(const Node& node) {
  Fusion& fusion = *fusion_;
  const auto tensorAt = [&](size_t i) { return tensor(node.operands.at(i).node); };
  const auto constants = [&](size_t first, size_t count) {
    std::vector<Scalar*> scalars;
    for (size_t i = 0; i < count; ++i) scalars.push_back(fusion.constant(node.numbers.at(first + i)));
    return scalars;
  };
  const auto valueOf = [&](DataType dtype) { return fusion.constant(ScalarValue{node.constant}, dtype); };
  switch (node.op) {
    case OpKind::LoadStoreOp: return define(fusion, LoadStoreOp{.in = tensorAt(0)});
    case OpKind::CastOp: return define(fusion, CastOp{.in = tensorAt(0), .dtype = node.dtype});
    case OpKind::BroadcastOp: return define(fusion, BroadcastOp{.in = tensorAt(0), .flags = node.flags});
    case OpKind::SqueezeOp: return define(fusion, SqueezeOp{.in = tensorAt(0), .flags = node.flags});
    case OpKind::ExpandOp: return define(fusion, ExpandOp{.in = tensorAt(0), .shape = shapeFor(node)});
    case OpKind::ReshapeOp: return define(fusion, ReshapeOp{.in = tensorAt(0), .shape = shapeFor(node)});
    case OpKind::PermuteOp: return define(fusion, PermuteOp{.in = tensorAt(0), .order = node.numbers});
    case OpKind::SelectOp:
      return define(
          fusion,
          SelectOp{.in = tensorAt(0), .axis = node.numbers.at(0), .index = fusion.constant(node.numbers.at(1))});
    case OpKind::TakeAlongAxisOp:
      return define(fusion, TakeAlongAxisOp{.in = tensorAt(0), .index = tensorAt(1), .axis = node.numbers.at(0)});
    case OpKind::PadOp:
      return define(fusion, PadOp{.in = tensorAt(0),
                                  .widths = constants(0, node.numbers.size()),
                                  .value = valueOf(tensorAt(0)->dtype())});
    case OpKind::FullOp:
      return define(fusion, FullOp{.shape = shapeFor(node), .value = valueOf(node.dtype), .dtype = node.dtype});
    case OpKind::IotaOp:
      return define(fusion, IotaOp{.length = shapeFor(node).at(0),
                                   .start = fusion.constant(node.numbers.at(0)),
                                   .step = fusion.constant(node.numbers.at(1)),
                                   .dtype = node.dtype});
    case OpKind::ReductionOp:
      return define(fusion, ReductionOp{.in = tensorAt(0), .op = node.reduction, .axes = node.numbers});
    case OpKind::SegmentSetOp: return define(fusion, SegmentSetOp{.in = tensorAt(0)});
    case OpKind::MatmulOp: return define(fusion, MatmulOp{.a = tensorAt(0), .b = tensorAt(1), .dtype = node.dtype});
    case OpKind::LinearOp:
      return define(fusion, LinearOp{.in = tensorAt(0),
                                     .weight = tensorAt(1),
                                     .bias = node.operands.size() > 2 ? tensorAt(2) : nullptr,
                                     .dtype = node.dtype});
    case OpKind::SliceOp: {
      const size_t rank = node.numbers.size() / 3;
      SliceOp op{.in = tensorAt(0),
                 .starts = constants(0, rank),
                 .stops = constants(rank, rank),
                 .steps = constants(2 * rank, rank)};
      const Axes axes = shapeOf(*op.in);
      for (size_t i = 0; i < std::min(rank, axes.size()); ++i) {
        if (node.numbers[rank + i] == sizes(node.operands[0].node)[i]) op.stops[i] = axes[i]->visibleExtent();
      }
      return define(fusion, std::move(op));
    }
    case OpKind::CatOp: {
      CatOp op{.ins = {}, .axis = node.numbers.at(0)};
      for (size_t i = 0; i < node.operands.size(); ++i) op.ins.push_back(tensorAt(i));
      return define(fusion, std::move(op));
    }
    case OpKind::PointwiseOp: {
      PointwiseOp op{.function = node.function, .ins = {}};
      // Constants take the type that the function computes in; its tensors have it already.
      DataType type = DataType::Bool;
      for (size_t i = 0; i < node.operands.size(); ++i) {
        const bool is_condition = functionInfo(node.function).rule == TypeRule::Choose && i == 0;
        if (node.operands[i].node >= 0 && !is_condition) type = value(node.operands[i].node)->dtype();
      }
      for (const Operand& operand : node.operands) {
        op.ins.push_back(operand.node >= 0 ? value(operand.node)
                                           : fusion.constant(ScalarValue{operand.constant}, type));
      }
      return define(fusion, std::move(op));
    }
    default: return defineDescribed(fusion, node.op, *tensorAt(0), node.numbers);
  }
}

std::unique_ptr<Fusion> ProgramBuilder::take(const Program& program) {
  for (const int output : program.outputs) fusion_->addOutput(tensor(output));
  for (const InPlace& alias : program.in_place) fusion_->aliasOutput(tensor(alias.output), value(alias.input));
  for (const auto& [size, symbol] : symbols_) fusion_->defaultSizes()[symbol] = size;
  return std::move(fusion_);
}

std::unique_ptr<Fusion> build(const Program& program) {
  ProgramBuilder builder;
  for (const Node& node : program.nodes) builder.add(node);
  return builder.take(program);
}

namespace {

void doStep(TensorView* tensor, const LoopStep& step) {
  switch (step.kind) {
    case LoopStep::Kind::InnerSplit: return inner_split(tensor, step.axis, step.factor);
    case LoopStep::Kind::OuterSplit: return outer_split(tensor, step.axis, step.factor);
    case LoopStep::Kind::Merge: return merge(tensor, step.axis);
    case LoopStep::Kind::Reorder: return reorder(tensor, step.order);
    case LoopStep::Kind::Stream: return parallelize(tensor, step.axis, ParallelType::Stream);
    case LoopStep::Kind::Propagate: return propagate(tensor);
  }
}

}  // namespace

std::unique_ptr<Fusion> buildScheduled(const Program& program) {
  ProgramBuilder builder;
  for (const Node& node : program.nodes) builder.add(node);
  std::vector<TensorView*> tensors;
  for (int i = 0; i < builder.count(); ++i) tensors.push_back(builder.tensor(i));
  std::unique_ptr<Fusion> fusion = builder.take(program);
  for (size_t i = 0; i < tensors.size(); ++i) {
    for (const LoopStep& step : program.nodes[i].loop_steps) doStep(tensors[i], step);
  }
  return fusion;
}

Program withoutDead(const Program& program) {
  std::vector<bool> is_alive(program.nodes.size(), false);
  for (const int output : program.outputs) is_alive[static_cast<size_t>(output)] = true;
  for (const InPlace& alias : program.in_place) is_alive[static_cast<size_t>(alias.input)] = true;
  for (size_t i = program.nodes.size(); i-- > 0;) {
    if (!is_alive[i]) continue;
    for (const Operand& operand : program.nodes[i].operands) {
      if (operand.node >= 0) is_alive[static_cast<size_t>(operand.node)] = true;
    }
  }
  Program alive = program;
  alive.nodes.clear();
  std::vector<int> place(program.nodes.size(), -1);
  for (size_t i = 0; i < program.nodes.size(); ++i) {
    if (!is_alive[i]) continue;
    place[i] = static_cast<int>(alive.nodes.size());
    alive.nodes.push_back(program.nodes[i]);
    for (Operand& operand : alive.nodes.back().operands) {
      if (operand.node >= 0) operand.node = place[static_cast<size_t>(operand.node)];
    }
  }
  for (int& output : alive.outputs) output = place[static_cast<size_t>(output)];
  for (InPlace& alias : alive.in_place)
    alias = {place[static_cast<size_t>(alias.output)], place[static_cast<size_t>(alias.input)]};
  return alive;
}

namespace {

std::string_view nameOfNode(const Node& node) {
  if (node.kind == NodeKind::TensorInput) return "input";
  if (node.kind == NodeKind::ScalarInput) return "scalar";
  if (node.op == OpKind::PointwiseOp) return functionInfo(node.function).name;
  if (node.op == OpKind::ReductionOp) return enumName(node.reduction);
  return opInfo(node.op).name;
}

std::string attributesOf(const Node& node) {
  constexpr std::string_view layouts[] = {"contiguous", "permuted", "sliced"};
  std::string text;
  for (const Operand& operand : node.operands) {
    text += operand.node >= 0 ? fmt::format("%{}, ", operand.node) : fmt::format("{}, ", operand.constant);
  }
  if (!node.numbers.empty()) text += fmt::format("[{}], ", joined(node.numbers));
  if (!node.flags.empty()) text += fmt::format("[{}], ", joined(node.flags));
  if (!node.sizes.empty()) text += fmt::format("sizes=[{}], ", joined(node.sizes));
  if (node.kind == NodeKind::TensorInput) {
    text +=
        fmt::format("{}{}, ", layouts[static_cast<size_t>(node.layout)], node.is_near_limits ? ", near limits" : "");
    if (!node.order.empty()) text += fmt::format("order=[{}], ", joined(node.order));
    if (std::ranges::count(node.expanded, true) > 0) text += fmt::format("expanded=[{}], ", joined(node.expanded));
    if (std::ranges::count(node.symbolic, true) > 0) text += fmt::format("symbolic=[{}], ", joined(node.symbolic));
  }
  const bool has_constant = node.kind == NodeKind::ScalarInput || node.op == OpKind::FullOp || node.op == OpKind::PadOp;
  if (has_constant) text += fmt::format("value={}, ", node.constant);
  return text.empty() ? text : text.substr(0, text.size() - 2);
}

}  // namespace

std::string toString(const Program& program) {
  std::string text =
      fmt::format("seed {} ({} values)\n", program.seed,
                  std::array{"exact", "position", "normal", "special"}[static_cast<size_t>(program.values)]);
  ProgramBuilder builder;
  bool is_legal = true;
  for (size_t i = 0; i < program.nodes.size(); ++i) {
    const Node& node = program.nodes[i];
    text += fmt::format("  %{} = {}({})", i, nameOfNode(node), attributesOf(node));
    try {
      if (is_legal) builder.add(node);
    } catch (const Error&) {
      is_legal = false;
    }
    if (is_legal)
      text += fmt::format(" {}[{}]", dataTypeName(builder.value(static_cast<int>(i))->dtype()),
                          joined(builder.sizes(static_cast<int>(i))));
    text += "\n";
  }
  text += fmt::format("  outputs [{}]\n", joined(program.outputs));
  for (const InPlace& alias : program.in_place)
    text += fmt::format("  %{} is written into %{}\n", alias.output, alias.input);
  return text;
}

}  // namespace tokamak::generator
