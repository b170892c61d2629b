#include "host/lower_fusion.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/ranges.h"
#include "graph/fusion_passes.h"
#include "graph/view_outputs.h"
#include "host/buffer_passes.h"
#include "host/kernel_groups.h"
#include "host/unit_slices.h"
#include "ir/clone.h"
#include "ir/elementwise.h"
#include "ir/ops/host/post_on_stream.h"
#include "ir/ops/math/load_store_op.h"
#include "schedule/transforms.h"
#include "segment/group_order.h"
#include "segment/neighbours.h"
#include "segment/recompute.h"

namespace tokamak {

namespace {

MergeRules rulesOf(const Fusion& fusion, Grouping grouping, const KernelTarget& target) {
  switch (grouping) {
    case Grouping::Single: return {.stays_alone = [](const Expr&) { return true; }, .may_be_group = {}};
    case Grouping::Units:
      return {.stays_alone = [](const Expr& expr) { return expr.info().stands_alone; },
              .may_be_group = [](const SegmentedGroup&) { return true; }};
    case Grouping::Fused: return kernelRules(fusion, target);
  }
  TK_RAISE(Internal, "a grouping without rules");
}

std::vector<SegmentedGroup> groupsOf(const Fusion& fusion, Grouping grouping, const KernelTarget& target) {
  const MergeRules rules = rulesOf(fusion, grouping, target);
  std::vector<SegmentedGroup> groups = segment(fusion, rules);
  if (grouping == Grouping::Fused)
    groups = moveSmallOpsToProducers(
        fusion, mergeNeighbours(fusion, recomputeCheap(fusion, std::move(groups), rules), rules), rules);
  return orderForMemory(fusion, std::move(groups));
}

Expr* makeUnit(const Fusion& fusion, const SegmentedGroup& group, int64_t number, Cloner& program) {
  auto unit = std::make_shared<HostUnit>();
  unit->number = number;
  unit->fusion = std::make_unique<Fusion>(fusion.name());
  Cloner inner(*unit->fusion);
  PostOnStream post;
  for (TensorView* input : group.inputs) {
    unit->fusion->addInput(inner.clone(input));
    post.ins.push_back(program.clone(input));
  }
  for (const Expr* expr : group.exprs) inner.clone(*expr);
  addScalarInputs(fusion, post, *unit, [&](Scalar* scalar) { return program.clone(scalar); });
  for (TensorView* output : group.outputs) {
    unit->fusion->addOutput(inner.clone(output));
    post.outs.push_back(program.clone(output));
  }
  post.unit = std::move(unit);
  return program.target().appendOp(std::move(post));
}

// Whether somebody said how the op is to be computed, other than by a library.
bool isKernelByHand(const Expr& expr) {
  if (expr.info().is_library || expr.info().is_communication) return false;
  const std::vector<TensorView*> outputs = tensorsOf(expr.outputs());
  return std::ranges::any_of(outputs, [](const TensorView* output) { return isScheduled(*output); });
}

// Whether `output` may be written into `input` as soon as it is computed, the statements being in this order: nobody reads the input's
// old elements afterwards, and who reads them before, perhaps in the iterations of one loop, reads each only for its own result.
bool mayUpdateInPlace(const std::vector<const Expr*>& order, const TensorView& output, const Val& input) {
  std::set<const Val*> names = {&input};  // a Set may bind its operand
  bool is_written = false;
  for (const Expr* expr : order) {
    const bool reads = std::ranges::any_of(expr->inputs(), [&](const Val* val) { return names.contains(val); });
    if (reads && (is_written || !isElementwise(*expr))) return false;
    if (reads && expr->is<LoadStoreOp>()) names.insert(expr->output(0));
    is_written = is_written || expr == output.definition();
  }
  return true;
}

// A kernel reads an element whenever a value needs it, also after another of its outputs has been written.
bool reads(const SegmentedGroup& kernel, const Val& input) {
  return std::ranges::any_of(kernel.exprs, [&](const Expr* expr) {
    return std::ranges::find(expr->inputs(), &input) != expr->inputs().end();
  });
}

// Outputs that update an input become aliases of it, or are copied into it when everything has been computed.
TensorView* addUpdate(HostIrContainer& program, TensorView* output, TensorView* input, bool is_in_place) {
  if (!is_in_place) {
    LoadStoreOp copy{.in = output};
    copy.infer(ShapeRule(program, LoadStoreOp::info.name));
    Expr* set = program.appendOp(copy);
    program.pushBack(set);
    output = asTensor(set->output(0));
  }
  program.markAlias(input, output);
  return output;
}

// Views stand behind everything else: what they are of has been computed then. What a kernel gives anyway stays as it is.
void appendViews(HostIrContainer& program, const FusionWithoutViews& parts, Cloner& cloner,
                 std::set<const Val*> given) {
  for (const ViewOutput& view : parts.views) {
    for (const Expr* step : view.chain) {
      TensorView* result = parts.cloner->clone(asTensor(step->output(0)));
      if (!given.insert(result).second) continue;
      if (result->definition() == nullptr) parts.cloner->clone(*step);
      program.pushBack(cloner.clone(*result->definition()));
      program.markView(cloner.clone(asTensor(result->definition()->inputs()[0])), cloner.clone(result));
    }
  }
}

// Gives tensors without a label the number they have in dumps, so that messages and timelines can name them.
void labelTensors(HostIrContainer& program) {
  int64_t next = 0;
  std::set<TensorView*, ById> mentioned;
  for (TensorView* tensor : program.allTensors()) next = std::max(next, tensor->label() + 1);
  forEachStatement(program.topLevel(), [&](const Expr& expr) {
    for (const auto vals : {expr.inputs(), expr.outputs()}) {
      for (TensorView* tensor : tensorsOf(vals)) mentioned.insert(tensor);
    }
  });
  for (TensorView* tensor : mentioned) {
    if (tensor->label() < 0) tensor->setLabel(next++);
  }
}

}  // namespace

std::unique_ptr<HostIrContainer> makeHostProgram(const Fusion& definition, Grouping grouping,
                                                 const KernelTarget& target, OutputViews views) {
  static const RangeName range_name("cut fusion");
  const Range range(range_name);
  // What somebody scheduled stays as it is.
  const bool is_scheduled = isScheduled(definition);
  const std::unique_ptr<Fusion> simplified =
      grouping == Grouping::Fused && !is_scheduled ? prepareForKernels(*simplifyFusion(definition), target) : nullptr;
  const Fusion& whole = simplified != nullptr ? *simplified : definition;
  FusionWithoutViews parts;
  if (simplified != nullptr && views == OutputViews::Give) parts = takeViewOutputs(whole);
  const bool has_views = !parts.views.empty();
  const Fusion& fusion = has_views ? *parts.fusion : whole;
  auto program = std::make_unique<HostIrContainer>(fusion.name());
  Cloner cloner(*program);
  for (Val* input : fusion.inputs()) program->addInput(cloner.clone(input));
  int64_t units = 0;
  std::map<const Val*, const SegmentedGroup*> kernels_of;  // of what a kernel gives
  std::vector<const Expr*> order;
  std::set<const Val*> given;
  const std::vector<SegmentedGroup> groups = groupsOf(fusion, grouping, target);
  for (const SegmentedGroup& group : groups) {
    if (grouping == Grouping::Fused && group.exprs.size() > 1) {
      for (const TensorView* output : group.outputs) kernels_of[output] = &group;
    }
    order.insert(order.end(), group.exprs.begin(), group.exprs.end());
    given.insert(group.outputs.begin(), group.outputs.end());
    const bool is_by_hand = grouping == Grouping::Fused && is_scheduled && isKernelByHand(*group.exprs[0]);
    const bool is_op = group.exprs.size() == 1 && !is_by_hand;
    program->pushBack(is_op ? cloner.clone(*group.exprs[0]) : makeUnit(fusion, group, units++, cloner));
  }
  if (has_views) appendViews(*program, parts, cloner, std::move(given));
  for (TensorView* source : whole.outputs()) {
    TensorView* output = has_views ? parts.cloner->clone(source) : source;
    const auto alias = fusion.outputAliases().find(output);
    TensorView* result = cloner.clone(output);
    if (alias != fusion.outputAliases().end()) {
      Val* updated = alias->second.target;
      const auto kernel = kernels_of.find(output);
      const bool is_in_place = mayUpdateInPlace(order, *output, *updated) &&
                               (kernel == kernels_of.end() || !reads(*kernel->second, *updated));
      result = addUpdate(*program, result, asTensor(cloner.clone(updated)), is_in_place);
    }
    program->addOutput(result);
  }
  for (const auto& [symbol, value] : fusion.defaultSizes()) program->defaultSizes()[cloner.clone(symbol)] = value;
  for (TensorView* tensor : program->allTensors()) tensor->setMemoryType(MemoryType::Global);
  return program;
}

void finishHostProgram(HostIrContainer& program, const HostLoweringOptions& options) {
  static const RangeName range_name("lower host program");
  const Range range(range_name);
  lowerStreams(program, options.stream_sync);
  if (options.after_streams) options.after_streams(program);
  rotateStreamBuffers(program);
  placeAllocations(program);
  insertDeallocations(program);
  labelTensors(program);
}

std::unique_ptr<HostIrContainer> lowerToHostProgram(const Fusion& fusion, const HostLoweringOptions& options) {
  std::unique_ptr<HostIrContainer> program =
      makeHostProgram(fusion, options.grouping, options.target.value_or(KernelTarget{}), options.output_views);
  finishHostProgram(*program, options);
  return program;
}

}  // namespace tokamak
