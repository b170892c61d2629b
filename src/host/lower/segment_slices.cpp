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

// The axis each tensor of the unit is cut along; tensors that are used whole are not in it.
using CutAxes = std::map<const TensorView*, int64_t, ById>;

std::optional<std::string> cut(CutAxes& axes, const TensorView& tensor, int64_t axis) {
  const auto [found, is_new] = axes.emplace(&tensor, axis);
  if (is_new || found->second == axis) return std::nullopt;
  return fmt::format("{} would be cut along its axes {} and {}; stream its ops one by one", toString(tensor),
                     found->second, axis);
}

// An expanded axis shows as many elements as the loop's part has; one that is not has one, whatever the part.
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

// Finds them; why there are none, or nothing.
std::optional<std::string> findCutAxes(const Fusion& unit, std::span<const int64_t> output_axes, CutAxes& axes) {
  for (size_t i = 0; i < output_axes.size(); ++i) {
    if (auto problem = cut(axes, *unit.outputs()[i], output_axes[i])) return problem;
  }
  std::map<const TensorView*, const Expr*, ById> whole;  // what is read whole, by whom
  std::vector<Expr*> exprs = unit.exprs();
  for (auto expr = exprs.rbegin(); expr != exprs.rend(); ++expr) {
    const AxisMap map(**expr);
    const auto found = axes.find(map.rule().result);
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

static CutAxes cutAxesOf(const Fusion& unit, std::span<const int64_t> output_axes) {
  CutAxes axes;
  const auto problem = findCutAxes(unit, output_axes, axes);
  TK_REQUIRE(!problem, HostProgram, "Stream over a host unit: {}", *problem);
  return axes;
}

std::optional<std::string> whyNoSlices(const Fusion& unit, std::span<const int64_t> output_axes) {
  CutAxes axes;
  return findCutAxes(unit, output_axes, axes);
}

UnitSlices::UnitSlices(const PostOnStream& post, std::span<const int64_t> output_axes)
    : post_(&post), output_axes_(output_axes.begin(), output_axes.end()) {
  const Fusion& unit = *post.unit->fusion;
  const CutAxes axes = cutAxesOf(unit, output_axes);
  for (Val* input : unit.inputs()) {
    const auto found = input->kind() == ValKind::Tensor ? axes.find(asTensor(input)) : axes.end();
    input_axes_.push_back(found == axes.end() ? std::nullopt : std::optional(found->second));
  }
}

void addScalarInputs(const Fusion& outer, PostOnStream& post, HostUnit& unit,
                     const std::function<Scalar*(Scalar*)>& toProgram) {
  std::set<const Scalar*> told;
  const auto tell = [&](const TensorView& tensor) {
    for (const IterDomain* axis : shapeOf(tensor)) told.insert(axis->visibleExtent());
  };
  for (const TensorView* input : tensorsOf(unit.fusion->inputs())) tell(*input);
  const std::vector<Scalar*> known = outer.allSymbols();
  for (Scalar* symbol : unit.fusion->allSymbols()) {
    const auto same = std::ranges::find(known, symbol->name(), &Scalar::name);
    if (told.contains(symbol) || unit.fusion->isInput(symbol) || same == known.end()) continue;
    unit.fusion->addInput(symbol);
    post.ins.push_back(toProgram(*same));
  }
}

bool UnitSlices::mayDropAxes() const {
  const Fusion& unit = *post_->unit->fusion;
  const CutAxes axes = cutAxesOf(unit, output_axes_);
  return std::ranges::all_of(unit.exprs(), [&](const Expr* expr) {
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

std::shared_ptr<HostUnit> UnitSlices::restricted(bool drops_axis) const {
  auto unit = std::make_shared<HostUnit>();
  unit->number = post_->unit->number;
  const std::unique_ptr<Fusion> whole = cloneFusion(*post_->unit->fusion);
  unit->fusion = std::make_unique<Fusion>(whole->name());
  Fusion& target = *unit->fusion;
  // The slices' common extent is bound from the actual sizes when the unit runs.
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
  unit->fusion = removeDead(target);  // the ops on whole tensors
  return unit;
}

}  // namespace tokamak
