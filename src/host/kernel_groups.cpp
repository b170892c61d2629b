#include "host/kernel_groups.h"

#include <algorithm>

#include "analysis/domain_graph.h"
#include "host/restrict_op.h"
#include "host/stream_axis.h"
#include "host/unit_slices.h"
#include "ir/clone.h"
#include "ir/expr_memory.h"
#include "ir/ops/math/reduction_op.h"

namespace tokamak {

namespace {

// Where the caller gives memory for every element of an expanded axis, the kernel writes it like any other. Whether there is such an axis.
bool storeExpandedInFull(Fusion& unit) {
  bool is_changed = false;
  for (TensorView* output : unit.outputs()) {
    for (IterDomain* axis : shapeOf(*output)) {
      if (!axis->isBroadcast() || axis->expandedExtent() == nullptr) continue;
      IterDomain* full = unit.axis({.extent = axis->visibleExtent()});
      for (Axes* axes : {&output->mutableDomain().logical, &output->mutableDomain().loop})
        std::ranges::replace(*axes, axis, full);
      is_changed = true;
    }
  }
  return is_changed;
}

// Compilers take more than twice as long for twice as large a kernel, and what is nested as deeply as there are ops takes stack.
constexpr size_t kMostOps = 2000;

// Whether a loop that deals out outputs, if there is one, can deal out the unit.
bool mayBeDealtOut(const Fusion& unit) {
  std::vector<StreamAxis> marks;
  std::vector<int64_t> axes;
  for (const TensorView* output : unit.outputs()) {
    const std::optional<StreamAxis> axis = findStreamAxis(*output);
    if (!axis) continue;
    marks.push_back(*axis);
    axes.push_back(visibleAxisNumber(*output, *axis->logical));
  }
  if (marks.empty()) return true;
  if (marks.size() < unit.outputs().size()) return false;
  const StreamAxis& first = marks[0];
  const DomainGraph graph(unit);
  const auto isSame = [&](const StreamAxis& axis) {
    return axis.form == first.form && axis.chunk == first.chunk && axis.may_pass_end == first.may_pass_end &&
           (axis.logical == first.logical || graph.mapsTo(*first.logical, *axis.logical, AxisMapping::Exact));
  };
  return first.form != StreamAxis::Form::Merged && std::ranges::all_of(marks, isSame) && !whyNoSlices(unit, axes);
}

bool mayBeOneKernel(const Fusion& fusion, const SegmentedGroup& group, const KernelTarget& target) {
  if (group.exprs.size() > kMostOps) return false;
  Fusion unit(fusion.name());
  Cloner cloner(unit);
  for (TensorView* input : group.inputs) unit.addInput(cloner.clone(input));
  for (const Expr* expr : group.exprs) cloner.clone(*expr);
  for (TensorView* output : group.outputs) unit.addOutput(cloner.clone(output));
  if (whyNoKernel(unit, target) || (group.exprs.size() > 1 && !mayBeDealtOut(unit))) return false;
  return !storeExpandedInFull(unit) || !whyNoKernel(unit, target);
}

}  // namespace

MergeRules kernelRules(const Fusion& fusion, const KernelTarget& target) {
  const bool reads_host_memory = target.kind == TargetKind::Cpu;
  return {
      .stays_alone =
          [reads_host_memory](const Expr& expr) {
            if (expr.info().is_library || expr.info().is_communication) return true;
            // Copies from and to memory of the host are no kernels of a device that cannot read it.
            return !reads_host_memory && touchesHostMemory(expr);
          },
      .may_be_group = [&fusion, target](const SegmentedGroup& group) { return mayBeOneKernel(fusion, group, target); },
      .joins_freely = [](const Expr& expr) { return !expr.is<ReductionOp>(); }};
}

}  // namespace tokamak
