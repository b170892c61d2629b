#include "heuristics/split_outputs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_set>

#include "base/error.h"
#include "compute/reshape_groups.h"
#include "graph/rebuild.h"
#include "heuristics/kernel_rows.h"
#include "ir/clone.h"
#include "ir/ops/math/cast_op.h"
#include "ir/ops/math/load_store_op.h"
#include "ir/ops/math/pointwise_op.h"
#include "ir/ops/math/reshape_op.h"
#include "schedule/transforms.h"

namespace tokamak {

namespace {

std::vector<Scalar*> extentsOf(const TensorView& tensor) {
  std::vector<Scalar*> extents;
  for (const IterDomain* axis : shapeOf(tensor)) extents.push_back(axis->visibleExtent());
  return extents;
}

// Memory has each of its elements.
bool isOrdinary(const TensorView& tensor) {
  return std::ranges::none_of(shapeOf(tensor), [](const IterDomain* axis) { return axis->isBroadcast(); });
}

// Axes of a reshape's result that several axes of its operand became, with the extents of these.
std::map<size_t, std::vector<Scalar*>> mergesOf(const ReshapeOp& reshape) {
  const std::vector<Scalar*> in = extentsOf(*reshape.in);
  std::map<size_t, std::vector<Scalar*>> merges;
  for (const ReshapeGroup& group : reshapeGroups(in, extentsOf(*reshape.out))) {
    if (group.in.size() < 2 || group.out.size() != 1) continue;
    for (const size_t axis : group.in) merges[group.out[0]].push_back(in[axis]);
  }
  return merges;
}

// Per axis of an output the extents that it is split into, or its own.
using SplitAxes = std::vector<std::vector<Scalar*>>;

class OutputSplitter {
 public:
  explicit OutputSplitter(Fusion& program) : program_(&program) {
    analysis_.assumeExtents(program);
    for (const Expr* expr : program.exprs()) {
      const auto isBelow = [&](const Val* val) { return below_reductions_.contains(val); };
      const bool is_below = std::ranges::any_of(expr->inputs(), isBelow) || isReduced(*asTensor(expr->output(0)));
      if (is_below) below_reductions_.insert(expr->outputs().begin(), expr->outputs().end());
    }
  }

  /// Whether there is a reshape that merges axes of what was computed from reductions: only then may something be split.
  bool hasMerges() const {
    return std::ranges::any_of(program_->exprs(), [&](const Expr* expr) {
      const auto* reshape = expr->as<ReshapeOp>();
      return reshape != nullptr && below_reductions_.contains(reshape->in) && !mergesOf(*reshape).empty();
    });
  }

  /// Whether something else is given in place of the output now; `parts` counts what has become of the axes that it had at first.
  bool split(TensorView& output, OutputParts& parts) {
    if (!maySplit(output)) return false;
    const SplitAxes axes = splitAxes(output);
    if (std::ranges::all_of(axes, [](const auto& extents) { return extents.size() == 1; })) return false;
    TensorView* const by = splitOf(output, axes);
    if (by == nullptr || program_->isOutput(by) || !isOrdinary(*by)) return false;
    by->setMemoryKind(output.memoryKind());
    by->setLabel(output.label());
    output.setLabel(-1);
    program_->replaceOutput(&output, by);
    auto axis = axes.begin();
    for (size_t& count : parts) {
      const auto end = axis + static_cast<std::ptrdiff_t>(count);
      for (count = 0; axis != end; ++axis) count += axis->size();
    }
    return true;
  }

 private:
  bool maySplit(const TensorView& output) const {
    return below_reductions_.contains(&output) && !isReduced(output) && !program_->isInput(&output) &&
           !program_->outputAliases().contains(const_cast<TensorView*>(&output)) &&
           std::ranges::count(program_->outputs(), &output) == 1 && isOrdinary(output);
  }

  // By the reshapes on the way whose axes are the output's.
  SplitAxes splitAxes(const TensorView& output) {
    const ElementRule& rule = rules_.of(*output.definition());
    SplitAxes axes;
    for (Scalar* extent : rule.extents) axes.push_back({extent});
    Substitution same(*program_);
    TensorReads reads(*program_, analysis_, rules_, isReduced);
    std::vector<TensorRead> all = reads.onTheWay(*rule.value, same);
    all.push_back({&output, rule.coordinates});
    for (const TensorRead& read : all) {
      const auto* reshape = madeBy<ReshapeOp>(*read.tensor);
      if (reshape == nullptr || !below_reductions_.contains(reshape->in)) continue;
      for (const auto& [axis, extents] : mergesOf(*reshape)) {
        const auto found = std::ranges::find(rule.coordinates, read.index[axis]);
        if (found == rule.coordinates.end()) continue;
        const auto number = static_cast<size_t>(found - rule.coordinates.begin());
        const bool is_whole = rule.extents[number] == shapeOf(*reshape->out)[axis]->visibleExtent();
        if (is_whole && axes[number].size() == 1) axes[number] = extents;
      }
    }
    return axes;
  }

  // The tensor's elements in the split axes, element by element from what was merged. Null where an axis that is split is expanded there.
  TensorView* splitOf(TensorView& tensor, const SplitAxes& axes) {
    std::vector<Scalar*> shape;
    const Axes whole = shapeOf(tensor);
    for (size_t i = 0; i < whole.size(); ++i) {
      if (!whole[i]->isBroadcast()) {
        shape.insert(shape.end(), axes[i].begin(), axes[i].end());
        continue;
      }
      if (whole[i]->expandedExtent() != nullptr) return nullptr;
      shape.insert(shape.end(), axes[i].size(), program_->constant(1));
    }
    const auto [known, is_new] = split_.try_emplace({&tensor, shape});
    if (is_new) {
      TensorView* const made = makeSplit(tensor, axes, shape);
      split_[{&tensor, shape}] = made;
      return made;
    }
    return known->second;
  }

  TensorView* makeSplit(TensorView& tensor, const SplitAxes& axes, const std::vector<Scalar*>& shape) {
    const auto append = [&](auto op) {
      op.infer(ShapeRule(*program_, op.info.name));
      return asTensor(program_->appendOp(std::move(op))->output(0));
    };
    const auto* reshape = madeBy<ReshapeOp>(tensor);
    if (reshape != nullptr && extentsOf(*reshape->in) == shape) return reshape->in;
    if (below_reductions_.contains(&tensor)) {
      if (const auto* set = madeBy<LoadStoreOp>(tensor)) return splitOf(*set->in, axes);
      if (const auto* cast = madeBy<CastOp>(tensor)) {
        TensorView* const in = splitOf(*cast->in, axes);
        return in == nullptr ? nullptr : append(CastOp{.in = in, .dtype = cast->dtype});
      }
      if (const auto* pointwise = madeBy<PointwiseOp>(tensor)) {
        PointwiseOp op{.function = pointwise->function, .ins = pointwise->ins};
        for (Val*& in : op.ins) {
          if (in->kind() != ValKind::Tensor) continue;
          in = splitOf(*asTensor(in), axes);
          if (in == nullptr) return nullptr;
        }
        return append(std::move(op));
      }
    }
    return append(ReshapeOp{.in = &tensor, .shape = shape});
  }

  Fusion* program_;
  IntervalAnalysis analysis_;
  RuleTable rules_;
  std::unordered_set<const Val*> below_reductions_;
  std::map<std::pair<const TensorView*, std::vector<Scalar*>>, TensorView*> split_;
};

bool isKernel(Fusion& program) { return !KernelRows(program).find(WholeReductions::Refused); }

std::optional<std::vector<OutputParts>> splitUntilKernel(Fusion& program) {
  std::vector<OutputParts> parts;
  for (const TensorView* output : program.outputs()) parts.emplace_back(shapeOf(*output).size(), 1);
  // Axes that were merged several times are split as often.
  constexpr int kMostTimes = 4;
  for (int time = 0; time < kMostTimes; ++time) {
    OutputSplitter splitter(program);
    bool is_changed = false;
    const std::vector<TensorView*> outputs = program.outputs();
    for (size_t i = 0; i < outputs.size(); ++i) is_changed = splitter.split(*outputs[i], parts[i]) || is_changed;
    if (!is_changed) break;
    if (isKernel(program)) return parts;
  }
  return std::nullopt;
}

}  // namespace

std::vector<OutputParts> splitOutputs(Fusion& program) {
  if (isScheduled(program) || !OutputSplitter(program).hasMerges() || isKernel(program)) return {};
  if (!splitUntilKernel(*cloneFusion(program))) return {};
  return *splitUntilKernel(program);
}

std::vector<OperandDesc> splitOperands(const Fusion& program, std::span<const OutputParts> outputs,
                                       std::span<const OperandDesc> operands, const ScalarBindings& bindings) {
  std::vector<OperandDesc> split(operands.begin(), operands.end());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorView& tensor = *program.outputs()[i];
    OperandDesc& operand = split[operands.size() - outputs.size() + i];
    const OperandDesc whole = operand;
    operand.sizes.clear();
    operand.strides.clear();
    const std::vector<Scalar*> extents = extentsOf(tensor);
    for (size_t axis = 0; axis < outputs[i].size(); ++axis) {
      const size_t first = operand.sizes.size();
      const size_t end = first + outputs[i][axis];
      operand.strides.resize(end, whole.strides[axis]);
      operand.sizes.resize(end, whole.sizes[axis]);
      if (outputs[i][axis] == 1) continue;
      int64_t elements = 1;
      for (size_t k = end; k-- > first;) {
        operand.strides[k] = whole.strides[axis] * elements;
        operand.sizes[k] = evaluateInt(*extents[k], bindings);
        elements *= operand.sizes[k];
      }
      TK_REQUIRE(elements == whole.sizes[axis], Bind, "{} has {} elements along axis {}, not {}", nameOf(tensor),
                 whole.sizes[axis], axis, elements);
    }
  }
  return split;
}

}  // namespace tokamak
