#include "host/lower/segment_slices.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>

#include "analysis/domain_graph.h"
#include "base/require.h"
#include "compute/axis_map.h"
#include "graph/remove_dead.h"
#include "host/ir/restrict_op.h"
#include "host/lower/dropped_axes.h"
#include "ir/clone.h"

namespace tokamak {

namespace {

// The axis along which each tensor of the segment is sliced; whole tensors are not in it.
using CutAxes = std::map<const TensorView*, int64_t, ById>;

std::optional<std::string> cut(CutAxes& axes, const TensorView& tensor, int64_t axis) {
  const auto [found, is_new] = axes.emplace(&tensor, axis);
  if (is_new || found->second == axis) return std::nullopt;
  return fmt::format("{} would be cut along its axes {} and {}; stream its ops one by one", toString(tensor),
                     found->second, axis);
}

// (In a slice an expanded axis has the slice's extent; another broadcast axis has one element.)
bool readsExpandedAlong(const Expr& expr, const TensorView& operand, int64_t axis) {
  const std::vector<std::vector<OperandAxis>> along = operandAxesAlong(expr, axis);
  const Axes shape = shapeOf(operand);
  for (size_t i = 0; i < along.size(); ++i) {
    const bool reads = expr.input(i) == &operand && std::ranges::any_of(along[i], [&](const OperandAxis& number) {
                         return shape[static_cast<size_t>(number.axis)]->expandedExtent() != nullptr;
                       });
    if (reads) return true;
  }
  return false;
}

// Finds the axes. Returns why there are none, or nothing.
std::optional<std::string> findCutAxes(const Fusion& segment, std::span<const int64_t> output_axes, CutAxes& axes) {
  for (size_t i = 0; i < output_axes.size(); ++i) {
    if (auto problem = cut(axes, *segment.outputs()[i], output_axes[i])) return problem;
  }
  std::map<const TensorView*, const Expr*, ById> whole;  // whole tensor -> a reader
  std::vector<Expr*> exprs = segment.exprs();
  for (auto expr = exprs.rbegin(); expr != exprs.rend(); ++expr) {
    const AxisMap map(**expr);
    const auto found = axes.find(map.rule().result);
    if (found != axes.end() && !found->first->domain().root.empty())
      return fmt::format("{} is a part of a reduction that rfactor has cut, which a kernel computes whole",
                         toString(*found->first));
    if (found != axes.end() && map.dependsOnPosition(found->second)) {
      return fmt::format("{} depends on positions along axis {} of {}; stream its ops one by one", callName(**expr),
                         found->second, toString(*map.rule().result));
    }
    for (TensorView* operand : tensorsOf((*expr)->inputs())) {
      if (found == axes.end()) {
        whole.emplace(operand, *expr);
        continue;
      }
      const OperandCoordinateUse use = map.use(*operand, found->second);
      if (use.use == CoordinateUse::Other) {
        return fmt::format("{} is not independent along axis {} of {}", callName(**expr), found->second,
                           toString(*map.rule().result));
      }
      if (use.use != CoordinateUse::Identity && readsExpandedAlong(**expr, *operand, found->second)) {
        return fmt::format("{} reads {} with an expanded axis along the loop; stream its ops one by one",
                           callName(**expr), toString(*operand));
      }
      if (use.use != CoordinateUse::Identity)
        whole.emplace(operand, *expr);
      else if (auto problem = cut(axes, *operand, use.axes[0]))
        return problem;
    }
  }
  for (const auto& [tensor, reader] : whole) {
    if (axes.contains(tensor)) {
      return fmt::format("{} is read whole by {} and in slices by others; stream its ops one by one", toString(*tensor),
                         callName(*reader));
    }
  }
  return std::nullopt;
}

}  // namespace

static CutAxes cutAxesOf(const Fusion& segment, std::span<const int64_t> output_axes) {
  CutAxes axes;
  const auto problem = findCutAxes(segment, output_axes, axes);
  TK_REQUIRE(!problem, HostProgram, "Stream over a segment: {}", *problem);
  return axes;
}

std::optional<std::string> whyNoSlices(const Fusion& segment, std::span<const int64_t> output_axes) {
  CutAxes axes;
  return findCutAxes(segment, output_axes, axes);
}

SegmentSlices::SegmentSlices(const PostOnStream& post, std::span<const int64_t> output_axes)
    : post_(&post), output_axes_(output_axes.begin(), output_axes.end()) {
  const Fusion& segment = *post.segment->fusion;
  const CutAxes axes = cutAxesOf(segment, output_axes);
  for (Val* input : segment.inputs()) {
    const auto found = input->kind() == ValKind::Tensor ? axes.find(asTensor(input)) : axes.end();
    input_axes_.push_back(found == axes.end() ? std::nullopt : std::optional(found->second));
  }
}

void addScalarInputs(const Fusion& outer, PostOnStream& post, HostSegment& segment,
                     const std::function<Scalar*(Scalar*)>& toProgram) {
  std::set<const Scalar*> told;
  const auto tell = [&](const TensorView& tensor) {
    for (const IterDomain* axis : shapeOf(tensor)) told.insert(axis->visibleExtent());
  };
  for (const TensorView* input : tensorsOf(segment.fusion->inputs())) tell(*input);
  const std::vector<Scalar*> known = outer.allSymbols();
  for (Scalar* symbol : segment.fusion->allSymbols()) {
    const auto same = std::ranges::find(known, symbol->name(), &Scalar::name);
    if (told.contains(symbol) || segment.fusion->isInput(symbol) || same == known.end()) continue;
    segment.fusion->addInput(symbol);
    post.ins.push_back(toProgram(*same));
  }
}

bool SegmentSlices::mayDropAxes() const {
  const Fusion& segment = *post_->segment->fusion;
  const CutAxes axes = cutAxesOf(segment, output_axes_);
  return std::ranges::all_of(segment.exprs(), [&](const Expr* expr) {
    const auto result = axes.find(asTensor(expr->output(0)));
    if (result == axes.end()) return true;
    DroppedAxes dropped;
    for (const auto vals : {expr->inputs(), expr->outputs()}) {
      for (const TensorView* tensor : tensorsOf(vals)) {
        if (const auto cut = axes.find(tensor); cut != axes.end()) dropped[tensor] = cut->second;
      }
    }
    return isSameWithoutAxis(*expr, result->second, dropped);
  });
}

std::shared_ptr<HostSegment> SegmentSlices::restricted(bool drops_axis) const {
  auto segment = std::make_shared<HostSegment>();
  segment->number = post_->segment->number;
  const std::unique_ptr<Fusion> whole = cloneFusion(*post_->segment->fusion);
  segment->fusion = std::make_unique<Fusion>(whole->name());
  Fusion& target = *segment->fusion;
  // The slices' common extent is bound from the actual sizes when the segment runs.
  Scalar* extent = drops_axis ? nullptr : target.symbol("chunk");
  Cloner cloner(target);
  AxisSlices slices;
  for (const auto& [tensor, axis] : cutAxesOf(*whole, output_axes_)) {
    auto* copy = cloner.clone(const_cast<TensorView*>(tensor));
    const IterDomain& cut_axis = *shapeOf(*copy)[static_cast<size_t>(axis)];
    TensorView* slice = makeSliceTensor(target, *copy, logicalAxisNumber(*copy, cut_axis), extent);
    slices[copy] = {.slice = slice, .axis = axis, .drops_axis = drops_axis, .start = nullptr, .extent = extent};
  }
  const auto sliceOf = [&](Val* val) -> Val* {
    Val* copy = cloner.clone(val);
    const auto found = slices.find(asTensor(copy));
    return found == slices.end() ? copy : found->second.slice;
  };
  for (Val* input : whole->inputs()) target.addInput(sliceOf(input));
  for (const Expr* expr : whole->exprs()) {
    const Expr* copy = cloner.clone(*expr);
    const bool is_cut = std::ranges::any_of(copy->outputs(), [&](Val* out) { return slices.contains(asTensor(out)); });
    if (is_cut) restrictOp(target, *copy, slices);
  }
  for (TensorView* output : whole->outputs()) target.addOutput(asTensor(sliceOf(output)));
  segment->fusion = removeDead(target);  // the ops on whole tensors
  return segment;
}

}  // namespace tokamak
