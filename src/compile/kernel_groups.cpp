#include "compile/kernel_groups.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "analysis/domain_graph.h"
#include "base/require.h"
#include "graph/product_group.h"
#include "heuristics/schedule_kernel.h"
#include "host/ir/restrict_op.h"
#include "host/lower/segment_slices.h"
#include "host/lower/stream_axis.h"
#include "ir/clone.h"
#include "ir/expr_memory.h"
#include "ir/ops/math/cat_op.h"
#include "ir/ops/math/pad_op.h"
#include "ir/ops/math/reduction_op.h"
#include "ir/ops/math/reshape_op.h"
#include "schedule/redo_steps.h"
#include "schedule/schedule_checks.h"
#include "segment/group_inputs_outputs.h"
#include "segment/recompute_factor.h"

namespace tokamak {

namespace {

bool isExpanded(const TensorView& tensor) {
  return std::ranges::any_of(shapeOf(tensor), [](const IterDomain* axis) { return axis->expandedExtent() != nullptr; });
}

// Where the caller gives memory for every element of an expanded axis, the kernel writes it like any other.
void storeInFull(TensorView& output) {
  AxisCopies full;
  for (const IterDomain* axis : shapeOf(output)) {
    if (axis->expandedExtent() != nullptr) full[axis] = output.fusion().axis({.extent = axis->visibleExtent()});
  }
  exchangeAxes(output, std::move(full));
}

// Compilers take more than twice as long for twice as large a kernel, and what is nested as deeply as there are ops
// takes stack.
constexpr size_t kMostOps = 2000;
// Compilers ask of each pair of buffers whether they overlap.
constexpr size_t kMostBuffers = 128;

// Whether a loop that deals out outputs, if there is one, can deal out the segment.
bool canBeDealtOut(const Fusion& segment) {
  std::vector<StreamAxis> marks;
  std::vector<int64_t> axes;
  std::vector<int64_t> inner_axes;
  const auto isReduced = [](const IterDomain* axis) { return axis->isStream() && axis->isReduction(); };
  for (const TensorView* output : segment.outputs()) {
    if (std::ranges::any_of(output->loop(), isReduced)) return false;  // such an op is a statement of its own
    const std::optional<StreamAxis> axis = findStreamAxis(*output);
    if (!axis) continue;
    marks.push_back(*axis);
    axes.push_back(visibleAxisNumber(*output, *axis->logical));
    if (axis->inner != nullptr) inner_axes.push_back(visibleAxisNumber(*output, *axis->inner));
  }
  if (marks.empty()) return true;
  if (marks.size() < segment.outputs().size()) return false;
  const StreamAxis& first = marks[0];
  const DomainGraph graph(segment);
  const auto areTogether = [&](const IterDomain* a, const IterDomain* b) {
    return a == b || (a != nullptr && b != nullptr && graph.mapsTo(*a, *b, AxisMapping::Exact));
  };
  const auto isSame = [&](const StreamAxis& axis) {
    return axis.form == first.form && axis.chunk == first.chunk && axis.may_pass_end == first.may_pass_end &&
           areTogether(first.logical, axis.logical) && areTogether(first.inner, axis.inner);
  };
  return std::ranges::all_of(marks, isSame) && !whyNoSlices(segment, axes) &&
         (inner_axes.empty() || !whyNoSlices(segment, inner_axes));
}

std::unique_ptr<Fusion> segmentFusion(const Fusion& fusion, const SegmentedGroup& group) {
  auto segment = std::make_unique<Fusion>(fusion.name());
  Cloner cloner(*segment);
  for (TensorView* input : group.inputs) segment->addInput(cloner.clone(input));
  for (const Expr* expr : group.exprs) cloner.clone(*expr);
  for (TensorView* output : group.outputs) segment->addOutput(cloner.clone(output));
  return segment;
}

// Whether somebody scheduled all of it, or cut a reduction in it in two: then it is one kernel, or an error says why
// not.
bool isScheduledAsOne(const Fusion& segment) {
  if (!isScheduled(segment)) return false;
  const std::vector<Expr*> exprs = segment.exprs();
  const auto isCut = [](const TensorView* tensor) { return !tensor->domain().root.empty(); };
  return std::ranges::all_of(exprs, [](const Expr* expr) { return isScheduled(*asTensor(expr->output(0))); }) ||
         std::ranges::any_of(segment.allTensors(), isCut);
}

// Whether the group, which is a kernel, is one whichever of the program's expanded outputs are given memory for every
// element.
bool isKernelInAnyMemory(const Fusion& fusion, const SegmentedGroup& group, const KernelTarget& target) {
  constexpr size_t kMostExpanded = 3;
  std::vector<size_t> expanded;
  for (size_t i = 0; i < group.outputs.size(); ++i) {
    if (fusion.isOutput(group.outputs[i]) && isExpanded(*group.outputs[i])) expanded.push_back(i);
  }
  if (expanded.size() > kMostExpanded && group.exprs.size() > 1) return false;
  expanded.resize(std::min(expanded.size(), kMostExpanded));
  for (size_t choice = 1; choice < size_t{1} << expanded.size(); ++choice) {
    const std::unique_ptr<Fusion> segment = segmentFusion(fusion, group);
    dropSchedule(*segment);
    for (size_t i = 0; i < expanded.size(); ++i) {
      if ((choice >> i & 1) != 0) storeInFull(*segment->outputs()[expanded[i]]);
    }
    if (!canSchedule(*segment, target)) return false;
  }
  return true;
}

// Each operand of a concatenation is under a condition, and where they follow one another under those of all later
// ones: code that grows with the square of their number.
constexpr size_t kMostConcatenated = 64;

// Whether no group has it beside other ops, so that none has to be asked about.
bool isConcatenationOfMany(const Expr& expr) {
  const auto* cat = expr.as<CatOp>();
  return cat != nullptr && cat->ins.size() > kMostConcatenated && !isScheduled(*cat->out);
}

bool hasManyConditions(const SegmentedGroup& group) {
  constexpr size_t kMostConcatenations = 16;
  constexpr size_t kMostPads = 32;
  size_t concatenations = 0;
  size_t operands = 0;
  size_t pads = 0;
  for (const Expr* expr : group.exprs) {
    if (expr->is<PadOp>()) ++pads;
    const auto* cat = expr->as<CatOp>();
    if (cat == nullptr) continue;
    ++concatenations;
    operands += cat->ins.size();
  }
  return concatenations > kMostConcatenations || operands > kMostConcatenated || pads > kMostPads;
}

// How many reshapes lie one behind the other. Each reads at an index that has the index of its result in it twice, in a
// quotient and in a remainder, unless axes lie as they lay before.
size_t reshapesInARow(const SegmentedGroup& group) {
  std::unordered_map<const Val*, size_t> before;
  size_t most = 0;
  for (const Expr* expr : group.exprs) {
    size_t count = 0;
    for (const Val* input : expr->inputs()) {
      if (const auto found = before.find(input); found != before.end()) count = std::max(count, found->second);
    }
    if (expr->is<ReshapeOp>()) ++count;
    for (const Val* output : expr->outputs()) before[output] = count;
    most = std::max(most, count);
  }
  return most;
}

// Whether tensors lie in the order of axes that their shapes have, not of loops that somebody made of these.
bool haveLayoutsOfTheirAxes(const Fusion& segment) {
  return std::ranges::none_of(segment.allTensors(), [](const TensorView* tensor) {
    const Axes& logical = tensor->domain().logical;
    return std::ranges::any_of(tensor->domain().allocation, [&](const IterDomain* axis) {
      return std::ranges::find(logical, axis) == logical.end();
    });
  });
}

bool mayBeOneKernel(const Fusion& fusion, const SegmentedGroup& group, const KernelTarget& target) {
  const size_t buffers = group.inputs.size() + group.outputs.size();
  if (group.exprs.size() > kMostOps || (group.exprs.size() > 1 && buffers > kMostBuffers)) return false;
  const std::unique_ptr<Fusion> segment = segmentFusion(fusion, group);
  if (group.exprs.size() > 1 && !canBeDealtOut(*segment)) return false;
  if (isScheduledAsOne(*segment)) return true;
  if (!haveLayoutsOfTheirAxes(*segment)) return false;
  if (group.exprs.size() > 1 && hasManyConditions(group)) return false;
  constexpr size_t kMostReshapes = 8;
  if (reshapesInARow(group) > kMostReshapes) return false;
  // Each place is code of its own.
  constexpr int64_t kMostPlaces = 16;
  if (recomputeFactor(*segment, kMostPlaces) > kMostPlaces) return false;
  dropSchedule(*segment);
  return canSchedule(*segment, target) && isKernelInAnyMemory(fusion, group, target);
}

bool mayBeOneCall(const ProductGroup& group, const ProductActivations& activations) {
  switch (group.activation) {
    case ProductActivation::None: return false;
    case ProductActivation::Relu: return activations.relu;
    case ProductActivation::GeluTanh:
      return group.result->dtype() == DataType::F32 ? activations.gelu_tanh : activations.gelu_tanh_of_halves;
  }
  TK_CHECK(false, "no such activation");
}

// Products that the target's library gives with an activation.
std::vector<std::vector<Expr*>> activatedProducts(const Fusion& fusion, const KernelTarget& target) {
  std::vector<std::vector<Expr*>> wholes;
  if (target.product_activations == ProductActivations()) return wholes;
  for (ProductGroup& group : productGroups(fusion)) {
    if (!mayBeOneCall(group, target.product_activations)) continue;
    if (mayBeDealtOut(fusion, groupOf(fusion, group.exprs))) wholes.push_back(std::move(group.exprs));
  }
  return wholes;
}

}  // namespace

bool mayBeDealtOut(const Fusion& fusion, const SegmentedGroup& group) {
  return canBeDealtOut(*segmentFusion(fusion, group));
}

MergeRules kernelRules(const Fusion& fusion, const KernelTarget& target) {
  const bool reads_host_memory = target.kind == TargetKind::Cpu;
  std::vector<std::vector<Expr*>> wholes = activatedProducts(fusion, target);
  std::unordered_set<const Expr*> of_wholes;
  for (const std::vector<Expr*>& whole : wholes) of_wholes.insert(whole.begin(), whole.end());
  return {
      .stays_alone =
          [reads_host_memory, of_wholes = std::move(of_wholes)](const Expr& expr) {
            if (expr.info().is_library || expr.info().is_communication || of_wholes.contains(&expr)) return true;
            if (isConcatenationOfMany(expr)) return true;
            // Copies from and to memory of the host are no kernels of a device that cannot read it.
            return !reads_host_memory && touchesHostMemory(expr);
          },
      .may_be_group = [&fusion, target](const SegmentedGroup& group) { return mayBeOneKernel(fusion, group, target); },
      .is_rarely_refused = [](const Expr& expr) { return !expr.is<ReductionOp>(); },
      .fixed_groups = std::move(wholes)};
}

}  // namespace tokamak
