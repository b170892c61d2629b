#include "heuristics/unmerge_reshapes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_set>

#include "base/require.h"
#include "compute/reshape_groups.h"
#include "device/work.h"
#include "graph/rewriter.h"
#include "heuristics/outer_reductions.h"
#include "heuristics/reduction_structure.h"
#include "ir/clone.h"
#include "ir/elementwise.h"
#include "ir/extent_assumptions.h"
#include "ir/ops/math/cast_op.h"
#include "ir/ops/math/load_store_op.h"
#include "ir/ops/math/pointwise_op.h"
#include "ir/ops/math/reshape_op.h"
#include "schedule/schedule_checks.h"
#include "schedule/transforms.h"

namespace tokamak {

namespace {

std::vector<Scalar*> extentsOf(const TensorView& tensor) {
  std::vector<Scalar*> extents;
  for (const IterDomain* axis : shapeOf(tensor)) extents.push_back(axis->visibleExtent());
  return extents;
}

// Whether no axis is a broadcast: memory has each element once.
bool isOrdinary(const TensorView& tensor) {
  return std::ranges::none_of(shapeOf(tensor), [](const IterDomain* axis) { return axis->isBroadcast(); });
}

// Per axis of a tensor the extents that it is split into, or its own.
using SplitAxes = std::vector<std::vector<Scalar*>>;

SplitAxes unsplit(const std::vector<Scalar*>& extents) {
  SplitAxes axes;
  for (Scalar* extent : extents) axes.push_back({extent});
  return axes;
}

bool isSplit(const SplitAxes& axes) {
  return std::ranges::any_of(axes, [](const auto& extents) { return extents.size() > 1; });
}

std::vector<Scalar*> joined(const SplitAxes& axes) {
  std::vector<Scalar*> shape;
  for (const auto& extents : axes) shape.insert(shape.end(), extents.begin(), extents.end());
  return shape;
}

// The axes of a reshape's result that it merges, with the extents of the axes before.
std::map<size_t, std::vector<Scalar*>> mergesOf(const ReshapeOp& reshape) {
  const std::vector<Scalar*> in = extentsOf(*reshape.in);
  std::map<size_t, std::vector<Scalar*>> merges;
  for (const ReshapeGroup& group : reshapeGroups(in, extentsOf(*reshape.out))) {
    if (!group.is_proved || group.in.size() < 2 || group.out.size() != 1) continue;
    for (const size_t axis : group.in) merges[group.out[0]].push_back(in[axis]);
  }
  return merges;
}

// The operand's axes as a reshape splits them, if it only splits.
std::optional<SplitAxes> splitsOf(const ReshapeOp& reshape) {
  const std::vector<Scalar*> out = extentsOf(*reshape.out);
  SplitAxes axes = unsplit(extentsOf(*reshape.in));
  for (const ReshapeGroup& group : reshapeGroups(extentsOf(*reshape.in), out)) {
    if (!group.is_proved || group.in.size() != 1) return std::nullopt;
    axes[group.in[0]].clear();
    for (const size_t axis : group.out) axes[group.in[0]].push_back(out[axis]);
  }
  return joined(axes) == out ? std::optional(axes) : std::nullopt;
}

class AxisSplitter {
 public:
  explicit AxisSplitter(Fusion& program) : program_(&program) {
    assumeExtents(analysis_, program);
    for (Expr* expr : program.exprs()) {
      live_.insert(expr);
      const auto isBelow = [&](const Val* val) { return below_reductions_.contains(val); };
      const bool is_below = std::ranges::any_of(expr->inputs(), isBelow) || isReduced(*asTensor(expr->output(0)));
      if (is_below) below_reductions_.insert(expr->outputs().begin(), expr->outputs().end());
    }
  }

  bool hasReductions() const { return !below_reductions_.empty(); }
  /// Whether a reshape merges axes of a tensor that depends on reductions: only then may an output be split.
  bool hasMerges() const {
    return std::ranges::any_of(live_, [&](const Expr* expr) {
      const auto* reshape = expr->as<ReshapeOp>();
      return reshape != nullptr && below_reductions_.contains(reshape->in) && !mergesOf(*reshape).empty();
    });
  }

  /// Replaces the output by one with split axes, if it can. `parts`: of the original axes.
  bool splitOutput(TensorView& output, AxisParts& parts) {
    if (!maySplitOutput(output)) return false;
    const SplitAxes axes = mergedAxes(output);
    if (!isSplit(axes)) return false;
    TensorView* const replacement = splitOf(output, axes);
    if (program_->isOutput(replacement) || !isOrdinary(*replacement)) return false;
    takeName(*replacement, output);
    program_->replaceOutput(&output, replacement);
    addTo(parts, axes);
    return true;
  }

  /// Replaces the input by one with split axes, if all elementwise chains from it end in reshapes that split it so.
  bool splitInput(TensorView& input, AxisParts& parts) {
    const bool is_updated = std::ranges::any_of(program_->outputAliases(),
                                                [&](const auto& alias) { return alias.second.target == &input; });
    if (is_updated || program_->isOutput(&input)) return false;
    std::optional<SplitAxes> found;
    std::unordered_set<const Expr*> reshapes;
    if (!findSplits(input, found, reshapes) || !found || !isSplit(*found)) return false;
    const SplitAxes& axes = *found;
    TensorDomain domain;
    const Axes whole = shapeOf(input);
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i].size() > 1 && whole[i]->isBroadcast()) return false;
      for (Scalar* extent : axes[i])
        domain.logical.push_back(axes[i].size() > 1 ? program_->axis({.extent = extent})
                                                    : program_->axisLike(*whole[i]));
    }
    TensorView* const replacement = program_->tensor(input.dtype(), std::move(domain));
    takeName(*replacement, input);
    program_->replaceInput(&input, replacement);
    program_->appendOp(ReshapeOp{.out = &input, .in = replacement, .shape = extentsOf(input)});
    split_[{&input, joined(axes)}] = replacement;
    // In the program's order: later ones find the split operands of earlier ones.
    for (Expr* expr : program_->exprs()) {
      if (!reshapes.contains(expr)) continue;
      insertion_point_ = expr;
      LoadStoreOp set{.in = splitOf(*expr->as<ReshapeOp>()->in, axes)};
      set.out = asTensor(expr->output(0));
      program_->replaceExpr(expr, std::make_unique<OpNode<LoadStoreOp>>(set));
    }
    addTo(parts, axes);
    return true;
  }

 private:
  static void takeName(TensorView& replacement, TensorView& of) {
    replacement.setMemoryKind(of.memoryKind());
    replacement.setNamesOf(of);
    of.setLabel(-1);
    of.setName("");
  }

  // Adds up the parts of axes that were split before.
  static void addTo(AxisParts& parts, const SplitAxes& axes) {
    auto axis = axes.begin();
    for (size_t& number : parts) {
      const auto end = axis + static_cast<std::ptrdiff_t>(number);
      for (number = 0; axis != end; ++axis) number += axis->size();
    }
  }

  bool maySplitOutput(const TensorView& output) const {
    return below_reductions_.contains(&output) && !isReduced(output) && !program_->isInput(&output) &&
           !program_->outputAliases().contains(const_cast<TensorView*>(&output)) &&
           std::ranges::count(program_->outputs(), &output) == 1 && isOrdinary(output);
  }

  // The output's axes, split as the reshapes between it and the reductions merged them.
  SplitAxes mergedAxes(const TensorView& output) {
    const ElementRule& rule = rules_.of(*output.definition());
    SplitAxes axes = unsplit(rule.extents);
    Substitution same(*program_);
    TensorReads reads(*program_, analysis_, rules_, isReduced);
    std::vector<TensorRead> all = reads.withInlined(*rule.value, same);
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

  // Collects the reshapes at the ends of all elementwise chains from the tensor, if they split its axes in one way.
  // No output may be among them: it would become a copy of a tensor that others keep.
  bool findSplits(const TensorView& tensor, std::optional<SplitAxes>& axes, std::unordered_set<const Expr*>& reshapes) {
    return std::ranges::all_of(tensor.uses(), [&](const Expr* use) {
      const TensorView& result = *asTensor(use->output(0));
      if (!live_.contains(use)) return true;
      if (program_->isOutput(&result)) return false;
      const auto* reshape = use->as<ReshapeOp>();
      if (reshape == nullptr)
        return isElementwise(*use) && extentsOf(result) == extentsOf(tensor) && findSplits(result, axes, reshapes);
      const auto splits = splitsOf(*reshape);
      if (!splits || (axes && *splits != *axes)) return false;
      axes = splits;
      reshapes.insert(use);
      return true;
    });
  }

  // The tensor with split axes, made by elementwise ops of operands with split axes where there are any.
  TensorView* splitOf(TensorView& tensor, const SplitAxes& axes) {
    std::vector<Scalar*> shape;
    const Axes whole = shapeOf(tensor);
    for (size_t i = 0; i < whole.size(); ++i) {
      if (whole[i]->isBroadcast() && whole[i]->expandedExtent() == nullptr)
        shape.insert(shape.end(), axes[i].size(), program_->constant(1));
      else
        shape.insert(shape.end(), axes[i].begin(), axes[i].end());
    }
    if (const auto known = split_.find({&tensor, shape}); known != split_.end()) return known->second;
    return split_[{&tensor, shape}] = makeSplit(tensor, axes, shape);
  }

  TensorView* makeSplit(TensorView& tensor, const SplitAxes& axes, const std::vector<Scalar*>& shape) {
    const auto append = [&](auto op) {
      op.infer(ShapeRule(*program_, op.info.name));
      auto expr = std::make_unique<OpNode<decltype(op)>>(std::move(op));
      return asTensor((insertion_point_ == nullptr ? program_->append(std::move(expr))
                                                   : program_->insertBefore(insertion_point_, std::move(expr)))
                          ->output(0));
    };
    const auto* reshape = madeBy<ReshapeOp>(tensor);
    if (reshape != nullptr && extentsOf(*reshape->in) == shape) return reshape->in;
    if (const auto* set = madeBy<LoadStoreOp>(tensor)) return splitOf(*set->in, axes);
    if (const auto* cast = madeBy<CastOp>(tensor))
      return append(CastOp{.in = splitOf(*cast->in, axes), .dtype = cast->dtype});
    if (const auto* pointwise = madeBy<PointwiseOp>(tensor)) {
      PointwiseOp op{.function = pointwise->function, .ins = pointwise->ins};
      for (Val*& in : op.ins) {
        if (in->kind() == ValKind::Tensor) in = splitOf(*asTensor(in), axes);
      }
      return append(std::move(op));
    }
    return append(ReshapeOp{.in = &tensor, .shape = shape});
  }

  Fusion* program_;
  const Expr* insertion_point_ = nullptr;  // null: the program's end
  IntervalAnalysis analysis_;
  RuleTable rules_;
  std::unordered_set<const Expr*> live_;
  std::unordered_set<const Val*> below_reductions_;
  std::map<std::pair<const TensorView*, std::vector<Scalar*>>, TensorView*> split_;
};

bool isKernel(Fusion& program) { return !ReductionStructure(program).find(WholeReductions::Refused); }

std::vector<AxisParts> unsplitParts(const std::vector<TensorView*>& tensors) {
  std::vector<AxisParts> parts;
  for (const TensorView* tensor : tensors) parts.emplace_back(shapeOf(*tensor).size(), 1);
  return parts;
}

// Splits outputs until the program is a kernel. Returns whether it is one.
bool splitOutputsOf(Fusion& program, std::span<AxisParts> parts) {
  // Axes that were merged several times are split as often.
  constexpr int kMostTimes = 4;
  for (int time = 0; time < kMostTimes; ++time) {
    AxisSplitter splitter(program);
    bool is_changed = false;
    const std::vector<TensorView*> outputs = program.outputs();
    for (size_t i = 0; i < outputs.size(); ++i) is_changed = splitter.splitOutput(*outputs[i], parts[i]) || is_changed;
    if (!is_changed) return false;
    if (isKernel(program)) return true;
  }
  return false;
}

bool splitInputsOf(Fusion& program, std::span<AxisParts> parts) {
  bool is_changed = false;
  const std::vector<TensorView*> inputs = tensorsOf(program.inputs());
  for (size_t i = 0; i < inputs.size(); ++i)
    is_changed = AxisSplitter(program).splitInput(*inputs[i], parts[i]) || is_changed;
  return is_changed;
}

// A cheap test first: most groups of ops have no reshape.
bool mayBeSplit(const Fusion& program) {
  return std::ranges::any_of(program.allExprs(), [](const Expr* expr) { return expr->is<ReshapeOp>(); }) &&
         !isScheduled(program);
}

// Whether all reductions are short outer ones, none of which is recomputed by its readers.
bool hasShortOuterReductions(Fusion& program) {
  ReductionStructure structure(program);
  return !structure.find(WholeReductions::Refused) && !structure.hasRecomputed() &&
         areOuterReductionsShort(structure, globalStrides(program));
}

bool unmergeOutputs(Fusion& program, TargetKind target, std::span<AxisParts> parts) {
  if (!mayBeSplit(program) || !AxisSplitter(program).hasMerges()) return false;
  ReductionStructure whole(program);
  const bool is_kernel = !whole.find(WholeReductions::Refused);
  if (is_kernel && (target == TargetKind::Cpu || !whole.hasRecomputed())) return false;
  const std::unique_ptr<Fusion> trial = cloneFusion(program);
  std::vector<AxisParts> tried(parts.begin(), parts.end());
  if (!splitOutputsOf(*trial, tried) || (is_kernel && !hasShortOuterReductions(*trial))) return false;
  return splitOutputsOf(program, parts);
}

bool splitInputs(Fusion& program, std::span<AxisParts> parts) {
  if (!mayBeSplit(program) || !AxisSplitter(program).hasReductions()) return false;
  const std::unique_ptr<Fusion> trial = cloneFusion(program);
  std::vector<AxisParts> tried(parts.begin(), parts.end());
  return splitInputsOf(*trial, tried) && isKernel(*trial) && splitInputsOf(program, parts);
}

}  // namespace

bool unmergeOutputs(Fusion& program, TargetKind target) {
  std::vector<AxisParts> parts = unsplitParts(program.outputs());
  return unmergeOutputs(program, target, parts);
}

std::vector<AxisParts> unmergeReshapes(Fusion& program, TargetKind target) {
  std::vector<AxisParts> inputs = unsplitParts(tensorsOf(program.inputs()));
  std::vector<AxisParts> outputs = unsplitParts(program.outputs());
  const bool has_outputs = unmergeOutputs(program, target, outputs);
  if (!splitInputs(program, inputs) && !has_outputs) return {};
  inputs.insert(inputs.end(), outputs.begin(), outputs.end());
  return inputs;
}

std::vector<OperandDesc> unmergeOperands(const Fusion& program, std::span<const AxisParts> parts,
                                         std::span<const OperandDesc> operands, const ScalarBindings& bindings) {
  std::vector<OperandDesc> split(operands.begin(), operands.end());
  std::vector<TensorView*> tensors = tensorsOf(program.inputs());
  tensors.insert(tensors.end(), program.outputs().begin(), program.outputs().end());
  for (size_t i = 0; i < parts.size(); ++i) {
    const OperandDesc& whole = operands[i];
    OperandDesc& operand = split[i];
    operand.sizes.clear();
    operand.strides.clear();
    const std::vector<Scalar*> extents = extentsOf(*tensors[i]);
    for (size_t axis = 0; axis < parts[i].size(); ++axis) {
      const size_t first = operand.sizes.size();
      const size_t end = first + parts[i][axis];
      operand.strides.resize(end, whole.strides[axis]);
      operand.sizes.resize(end, whole.sizes[axis]);
      if (parts[i][axis] == 1) continue;
      int64_t elements = 1;
      for (size_t k = end; k-- > first;) {
        operand.strides[k] = whole.strides[axis] * elements;
        operand.sizes[k] = evaluateInt(*extents[k], bindings);
        elements *= operand.sizes[k];
      }
      TK_REQUIRE(elements == whole.sizes[axis], Bind, "{} has {} elements along axis {}, not {}", nameOf(*tensors[i]),
                 whole.sizes[axis], axis, elements);
    }
  }
  return split;
}

}  // namespace tokamak
