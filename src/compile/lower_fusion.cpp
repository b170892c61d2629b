#include "compile/lower_fusion.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <unordered_set>

#include "analysis/device_marks.h"
#include "analysis/sharding.h"
#include "base/profiler_range.h"
#include "base/require.h"
#include "compile/input_marks.h"
#include "compile/kernel_groups.h"
#include "compile/operand_views.h"
#include "compile/resharding_layouts.h"
#include "device/tensor.h"
#include "graph/fusion_passes.h"
#include "graph/infer_stride_order.h"
#include "graph/make_reshardings.h"
#include "graph/propagate_shardings.h"
#include "graph/remove_dead.h"
#include "graph/share_outputs.h"
#include "graph/unify_extents.h"
#include "graph/view_outputs.h"
#include "heuristics/schedule_kernel.h"
#include "host/ir/input_updates.h"
#include "host/ir/verifier.h"
#include "host/lower/buffer_passes.h"
#include "host/lower/lower_reshardings.h"
#include "host/lower/lower_streams.h"
#include "host/lower/segment_slices.h"
#include "host/lower/stream_scalars.h"
#include "ir/clone.h"
#include "ir/ops/host/allocate.h"
#include "ir/ops/host/post_on_stream.h"
#include "ir/ops/math/load_store_op.h"
#include "ir/text/names.h"
#include "ir/verifier.h"
#include "schedule/schedule_checks.h"
#include "schedule/shard.h"
#include "schedule/shardings_aside.h"
#include "schedule/transforms.h"
#include "segment/group_merging.h"
#include "segment/group_order.h"
#include "segment/recompute.h"

namespace tokamak {

namespace {

using Chains = std::vector<std::vector<Expr*>>;

bool hasStreamMark(const Fusion& fusion) {
  return std::ranges::any_of(fusion.allTensors(), [](const TensorView* tensor) {
    return std::ranges::any_of(tensor->loop(), [](const IterDomain* axis) { return axis->isStream(); });
  });
}

// A copy of a fusion with Stream marks whose tensors have the numbers of the printed fusion, for refusals to name.
std::unique_ptr<Fusion> numberForRefusals(const Fusion& fusion) {
  if (!hasStreamMark(fusion)) return nullptr;
  std::unique_ptr<Fusion> copy = cloneFusion(fusion);
  const FusionNames names(*copy);
  for (TensorView* tensor : copy->allTensors()) {
    if (tensor->label() < 0 && names.contains(*tensor)) tensor->setLabel(names.numberOf(*tensor));
  }
  return copy;
}

// Takes the marks off what is computed whole, and refuses what cannot be streamed, before ops are grouped:
// what a mark means does not depend on that.
void settleMarks(Fusion& fusion) {
  HostIrContainer program(fusion.name());
  Cloner cloner(program);
  std::map<const TensorView*, TensorView*> originals;
  for (const Expr* expr : fusion.exprs()) {
    program.pushBack(cloner.clone(*expr));
    for (TensorView* output : tensorsOf(expr->outputs())) originals[cloner.clone(output)] = output;
  }
  for (Val* input : fusion.inputs()) program.addInput(cloner.clone(input));
  for (TensorView* output : fusion.outputs()) program.addOutput(cloner.clone(output));
  for (const TensorView* whole : computedWhole(program)) {
    TensorView& original = *originals.at(whole);
    // The loops of a mark alone are not what somebody said how to compute it.
    const bool is_by_rule = !isScheduled(original) && original.domain().root.empty();
    for (IterDomain* axis : original.loop()) {
      if (axis->isStream()) axis->parallelize(ParallelType::Serial);
    }
    if (is_by_rule) original.mutableDomain().loop = original.logical();
  }
}

MergeRules rulesOf(const Fusion& fusion, Grouping grouping, const KernelTarget& target) {
  switch (grouping) {
    case Grouping::Single: return {.stays_alone = [](const Expr&) { return true; }, .may_be_group = {}};
    case Grouping::Segments:
      return {.stays_alone = [](const Expr& expr) { return expr.info().stands_alone; },
              .may_be_group = [&fusion, is_marked = hasStreamMark(fusion)](
                                  const SegmentedGroup& group) { return !is_marked || mayBeDealtOut(fusion, group); }};
    case Grouping::Fused: return kernelRules(fusion, target);
    case Grouping::Whole:
      return {.stays_alone = [](const Expr& expr) { return expr.info().is_library || expr.info().is_communication; },
              .may_be_group = [](const SegmentedGroup&) { return true; }};
  }
  TK_RAISE(Internal, "a grouping without rules");
}

// Whether an op of the group reads what another one gives beyond the group's end.
bool readsBeyondEnd(const SegmentedGroup& group) {
  const auto endsInside = [&](const TensorView* operand) {
    const Expr* expr = operand->definition();
    return expr != nullptr && expr->info().ends_group && std::ranges::find(group.inputs, operand) == group.inputs.end();
  };
  return std::ranges::any_of(
      group.exprs, [&](const Expr* expr) { return std::ranges::any_of(tensorsOf(expr->inputs()), endsInside); });
}

// The rules, and that groups end where the program says so.
MergeRules withEnds(MergeRules rules) {
  if (rules.may_be_group) {
    rules.may_be_group = [asked = std::move(rules.may_be_group)](const SegmentedGroup& group) {
      return !readsBeyondEnd(group) && asked(group);
    };
  }
  if (rules.is_rarely_refused) {
    rules.is_rarely_refused = [asked = std::move(rules.is_rarely_refused)](const Expr& expr) {
      return !expr.info().ends_group && asked(expr);
    };
  }
  return rules;
}

// The rules, and that each of these chains is a group.
MergeRules withChains(MergeRules rules, const Chains& chains) {
  if (chains.empty()) return rules;
  std::unordered_set<const Expr*> steps;
  for (const std::vector<Expr*>& chain : chains) steps.insert(chain.begin(), chain.end());
  rules.stays_alone = [asked = std::move(rules.stays_alone), steps = std::move(steps)](const Expr& expr) {
    return steps.contains(&expr) || asked(expr);
  };
  rules.fixed_groups.insert(rules.fixed_groups.end(), chains.begin(), chains.end());
  return rules;
}

// What devices have to do with groups.
struct DeviceLimits {
  std::unordered_set<const Expr*> reshardings;
  std::map<const TensorView*, DeviceMesh> meshes;
};

DeviceLimits deviceLimits(const Fusion& fusion) {
  DeviceLimits limits;
  for (const Expr* expr : fusion.exprs()) {
    if (isResharding(*expr)) limits.reshardings.insert(expr);
  }
  for (const TensorView* tensor : fusion.allTensors()) limits.meshes[tensor] = tensor->mesh();
  return limits;
}

// The rules, and that reshardings are statements of their own, and groups on one mesh.
MergeRules withDevices(MergeRules rules, const DeviceLimits& limits) {
  rules.stays_alone = [asked = std::move(rules.stays_alone), &limits](const Expr& expr) {
    return limits.reshardings.contains(&expr) || asked(expr);
  };
  if (!rules.may_be_group) return rules;
  rules.may_be_group = [asked = std::move(rules.may_be_group), &limits](const SegmentedGroup& group) {
    const auto meshOf = [&](const Expr* expr) { return limits.meshes.at(asTensor(expr->output(0))); };
    const DeviceMesh mesh = meshOf(group.exprs[0]);
    return std::ranges::all_of(group.exprs, [&](const Expr* expr) { return meshOf(expr) == mesh; }) && asked(group);
  };
  return rules;
}

std::vector<SegmentedGroup> groupsOf(const Fusion& fusion, Grouping grouping, const KernelTarget& target,
                                     const Chains& chains, const DeviceLimits& limits) {
  MergeRules rules = withChains(withEnds(rulesOf(fusion, grouping, target)), chains);
  if (!limits.meshes.empty()) rules = withDevices(std::move(rules), limits);
  std::vector<SegmentedGroup> groups = segment(fusion, rules);
  if (grouping == Grouping::Fused)
    groups = moveSmallOpsToProducers(
        fusion, mergeGroups(fusion, recomputeCheap(fusion, std::move(groups), rules), rules), rules);
  return orderForMemory(fusion, std::move(groups));
}

Expr* makeSegment(const Fusion& fusion, const SegmentedGroup& group, const InputUpdates& updates, int64_t number,
                  Cloner& program) {
  auto segment = std::make_shared<HostSegment>();
  segment->number = number;
  segment->fusion = std::make_unique<Fusion>(fusion.name());
  Cloner inner(*segment->fusion);
  PostOnStream post;
  for (TensorView* input : group.inputs) {
    segment->fusion->addInput(inner.clone(input));
    post.ins.push_back(program.clone(input));
  }
  for (const Expr* expr : group.exprs) inner.clone(*expr);
  addScalarInputs(fusion, post, *segment, [&](Scalar* scalar) { return program.clone(scalar); });
  for (TensorView* output : group.outputs) {
    segment->fusion->addOutput(inner.clone(output));
    post.outs.push_back(program.clone(output));
  }
  // Kernels have to know what they overwrite.
  for (TensorView* output : group.outputs) {
    const auto alias = fusion.outputAliases().find(output);
    if (alias == fusion.outputAliases().end() || !updates.at_once.contains(output)) continue;
    if (std::ranges::find(group.inputs, alias->second.target) != group.inputs.end())
      segment->fusion->aliasOutput(inner.clone(output), inner.clone(alias->second.target));
  }
  // A place in the loops of a reader says nothing where the reader is in another segment.
  for (TensorView* tensor : segment->fusion->allTensors()) {
    if (segment->fusion->isInput(tensor) || tensor->uses().empty()) tensor->mutableDomain().inline_position = 0;
  }
  post.segment = std::move(segment);
  return program.target().appendOp(std::move(post));
}

// Whether somebody said how the op is to be computed, other than by a library.
bool isKernelByHand(const Expr& expr) {
  if (expr.info().is_library || expr.info().is_communication) return false;
  const std::vector<TensorView*> outputs = tensorsOf(expr.outputs());
  return std::ranges::any_of(outputs, [](const TensorView* output) { return isScheduled(*output); });
}

TensorView* appendCopy(HostIrContainer& program, TensorView* tensor) {
  LoadStoreOp copy{.in = tensor};
  copy.infer(ShapeRule(program, LoadStoreOp::info.name));
  Expr* set = program.appendOp(copy);
  program.pushBack(set);
  TensorView* result = asTensor(set->output(0));
  if (!tensor->mesh().empty()) shard(*result, shardingOf(*tensor));
  return result;
}

// A Set that has memory binds nothing.
TensorView* appendSavedCopy(HostIrContainer& program, TensorView* tensor) {
  TensorView* copy = appendCopy(program, tensor);
  Block statements = program.topLevel();
  Expr* allocate = program.appendOp(Allocate{copy, elementCount(program, *copy), false, false});
  statements.exprs.insert(statements.exprs.end() - 1, allocate);
  program.setTopLevel(std::move(statements));
  return copy;
}

// Outputs that update an input become aliases of it: as they are, or as copies made when everything has been computed.
void appendUpdates(HostIrContainer& program, const Fusion& fusion, const InputUpdates& updates, Cloner& cloner,
                   std::map<const TensorView*, TensorView*>& results) {
  for (const auto& [output, alias] : fusion.outputAliases()) {
    if (updates.at_once.contains(output)) program.markAlias(asTensor(cloner.clone(alias.target)), cloner.clone(output));
  }
  std::map<const TensorView*, TensorView*> saved;
  for (const LateUpdate& update : updates.late) {
    if (update.is_saved) saved[update.output] = appendSavedCopy(program, cloner.clone(update.output));
  }
  for (const LateUpdate& update : updates.late) {
    TensorView* from = update.is_saved ? saved.at(update.output) : cloner.clone(update.output);
    results[update.output] = appendCopy(program, from);
    program.markAlias(cloner.clone(update.input), results[update.output]);
  }
}

// An output that is an input is what the input was, also where that is updated.
void copyUpdatedInputs(HostIrContainer& program, const Fusion& fusion, Cloner& cloner,
                       std::map<const TensorView*, TensorView*>& results) {
  for (TensorView* output : fusion.outputs()) {
    const bool is_updated =
        std::ranges::any_of(fusion.outputAliases(), [&](const auto& alias) { return alias.second.target == output; });
    if (!is_updated || fusion.outputAliases().contains(output) || results.contains(output)) continue;
    results[output] = appendCopy(program, cloner.clone(output));
  }
}

// Views stand behind everything else: what they are of has been computed then. What a kernel gives anyway stays as it
// is.
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

// The chain as statements that cost nothing.
void appendOperandView(HostIrContainer& program, std::span<Expr* const> chain, Cloner& cloner) {
  for (const Expr* step : chain) {
    program.pushBack(cloner.clone(*step));
    program.markView(cloner.clone(asTensor(step->inputs()[0])), cloner.clone(asTensor(step->output(0))));
  }
}

// What kernels pass on to kernels. Libraries get their operands row-major.
std::vector<TensorView*> passedOn(const Fusion& fusion, const std::vector<SegmentedGroup>& groups) {
  const auto isLibrary = [](const Expr* use) { return use->info().is_library; };
  std::vector<TensorView*> tensors;
  for (const SegmentedGroup& group : groups) {
    for (TensorView* output : group.outputs) {
      if (!fusion.isOutput(output) && std::ranges::none_of(output->uses(), isLibrary)) tensors.push_back(output);
    }
  }
  return tensors;
}

// Gives the output this name, which an intermediate may have had.
void takeName(HostIrContainer& program, TensorView* output, const std::string& name) {
  if (name.empty() || output->name() == name) return;
  for (TensorView* holder : program.allTensors()) {
    if (holder->name() != name) continue;
    if (program.isInput(holder) || program.isOutput(holder)) return;
    holder->setName("");
  }
  output->setName(name);
}

// What is given for an output, such as a copy into the input that it updates, has the output's name and number; what
// had them has no name and gets another number.
void keepOutputNames(const Fusion& definition, HostIrContainer& program) {
  std::map<int64_t, TensorView*> holders;
  for (TensorView* tensor : program.allTensors()) holders.try_emplace(tensor->label(), tensor);
  for (size_t i = 0; i < program.outputs().size(); ++i) {
    TensorView* output = program.outputs()[i];
    takeName(program, output, definition.outputs()[i]->name());
    const int64_t label = definition.outputs()[i]->label();
    if (label < 0 || output->label() == label) continue;
    const auto holder = holders.find(label);
    const bool is_taken =
        holder != holders.end() && (program.isInput(holder->second) || program.isOutput(holder->second));
    if (is_taken) continue;
    if (holder != holders.end()) holder->second->setLabel(-1);
    output->setLabel(label);
    holders[label] = output;
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

// How ops become statements.
struct GroupPlan {
  Chains operand_views;
  std::vector<SegmentedGroup> groups;
  InputUpdates updates;
  std::unordered_set<const Expr*> by_hand;  // first ops of groups that somebody said how to compute
};

// How a fusion is scheduled that is grouped.
enum class Scheduled : uint8_t { ByRule, ByHand };
Scheduled scheduledOf(const Fusion& fusion) { return isScheduled(fusion) ? Scheduled::ByHand : Scheduled::ByRule; }

// `limits` are those of a fusion whose shardings are aside.
GroupPlan planGroups(const Fusion& fusion, Scheduled scheduled, Chains operand_views, Grouping grouping,
                     const KernelTarget& target, const DeviceLimits& limits) {
  GroupPlan plan;
  plan.operand_views = std::move(operand_views);
  plan.groups = groupsOf(fusion, grouping, target, plan.operand_views, limits);
  plan.updates =
      planInputUpdates(fusion, plan.groups, makesKernels(grouping) ? GroupRuns::AsKernels : GroupRuns::OpByOp);
  if (!makesKernels(grouping) || scheduled == Scheduled::ByRule) return plan;
  for (const SegmentedGroup& group : plan.groups) {
    if (isKernelByHand(*group.exprs[0])) plan.by_hand.insert(group.exprs[0]);
  }
  return plan;
}

// What each device computes is grouped as one device would do it.
GroupPlan planGroupsOverDevices(Fusion& fusion, Grouping grouping, const KernelTarget& target) {
  layOutForReshardings(fusion);
  const DeviceLimits limits = deviceLimits(fusion);
  const ShardingsAside aside(fusion);
  return planGroups(fusion, scheduledOf(fusion), {}, grouping, target, limits);
}

// Callers' tensors have fewer axes than there may be inside.
void requireTensorsWithPlace(const Fusion& fusion) {
  const auto require = [](const char* what, const TensorView* tv) {
    const size_t axes = tv == nullptr ? 0 : shapeOf(*tv).size();
    TK_REQUIRE(axes <= Tensor::kMaxRank, Unsupported, "{} {} has {} axes; inputs and outputs have at most {}", what,
               toString(*tv), axes, Tensor::kMaxRank);
  };
  for (Val* input : fusion.inputs()) require("input", asTensor(input));
  for (const TensorView* output : fusion.outputs()) require("output", output);
}

}  // namespace

std::unique_ptr<HostIrContainer> makeHostProgram(const Fusion& definition, const HostLoweringOptions& options) {
  static const RangeName range_name("cut fusion");
  const Range range(range_name);
  const Grouping grouping = options.grouping;
  const KernelTarget target = options.target.value_or(cpuTarget());
  std::unique_ptr<Fusion> copy = numberForRefusals(definition);
  if (copy != nullptr) {
    if (std::unique_ptr<Fusion> carried = carryInputMarks(*copy)) copy = std::move(carried);
    if (grouping != Grouping::Single) settleMarks(*copy);
  }
  const bool is_over_devices = hasShardings(definition);
  if (is_over_devices && copy == nullptr) copy = cloneFusion(definition);
  // What dead ops read would be stored for them.
  const bool has_dead = definition.exprs().size() < definition.allExprs().size();
  if (grouping == Grouping::Whole && has_dead) copy = removeDead(copy != nullptr ? *copy : definition);
  const Fusion& marked = copy != nullptr ? *copy : definition;
  // What somebody scheduled stays as it is.
  const Scheduled scheduled = scheduledOf(marked);
  const bool is_simplified = grouping == Grouping::Fused && !is_over_devices && scheduled == Scheduled::ByRule;
  std::unique_ptr<Fusion> simplified = is_simplified ? prepareForKernels(*simplifyFusion(marked), target) : nullptr;
  const bool infers_layouts = simplified != nullptr && options.output_layouts == OutputLayouts::Inferred;
  if (infers_layouts) hintStrideOrder(*simplified, simplified->outputs());
  const bool takes_views = simplified != nullptr && options.output_views == OutputViews::Give;
  if (std::unique_ptr<Fusion> shared = takes_views ? shareOutputs(*simplified) : nullptr)
    simplified = std::move(shared);
  const Fusion& whole = simplified != nullptr ? *simplified : marked;
  FusionWithoutViews parts;
  if (takes_views) parts = takeViewOutputs(whole);
  const bool has_views = !parts.views.empty();
  const Fusion& fusion = has_views ? *parts.fusion : whole;
  const GroupPlan plan =
      is_over_devices
          ? planGroupsOverDevices(*copy, grouping, target)
          : planGroups(fusion, scheduled, simplified != nullptr ? makeOperandViews(fusion, target) : Chains(), grouping,
                       target, {});
  if (infers_layouts) hintStrideOrder(fusion, passedOn(fusion, plan.groups));
  auto program = std::make_unique<HostIrContainer>(fusion.name());
  Cloner cloner(*program);
  for (Val* input : fusion.inputs()) program->addInput(cloner.clone(input));
  std::map<const TensorView*, TensorView*> results;  // what is given in the place of outputs
  copyUpdatedInputs(*program, fusion, cloner, results);
  int64_t units = 0;
  std::set<const Val*> given;
  const InputUpdates none;
  for (const SegmentedGroup& group : plan.groups) {
    given.insert(group.outputs.begin(), group.outputs.end());
    if (std::ranges::find(plan.operand_views, group.exprs) != plan.operand_views.end()) {
      appendOperandView(*program, group.exprs, cloner);
      continue;
    }
    const bool is_op = group.exprs.size() == 1 && !plan.by_hand.contains(group.exprs[0]);
    const InputUpdates& at_once = makesKernels(grouping) ? plan.updates : none;
    program->pushBack(is_op ? cloner.clone(*group.exprs[0]) : makeSegment(fusion, group, at_once, units++, cloner));
  }
  if (has_views) appendViews(*program, parts, cloner, std::move(given));
  appendUpdates(*program, fusion, plan.updates, cloner, results);
  for (TensorView* source : whole.outputs()) {
    TensorView* output = has_views ? parts.cloner->clone(source) : source;
    const auto result = results.find(output);
    program->addOutput(result == results.end() ? cloner.clone(output) : result->second);
  }
  for (const auto& [symbol, value] : fusion.defaultSizes()) program->defaultSizes()[cloner.clone(symbol)] = value;
  for (TensorView* tensor : program->allTensors()) tensor->setMemoryType(MemoryType::Global);
  keepOutputNames(definition, *program);
  return program;
}

static void runPasses(HostIrContainer& program, const HostLoweringOptions& options) {
  static const RangeName range_name("lower host program");
  const Range range(range_name);
  labelTensors(program);  // also those of programs that are read, or came from graph passes
  lowerStreams(program, options.stream_sync);
  if (options.after_streams) options.after_streams(program);
  contractStreamBuffers(program);
  placeAllocations(program);
  insertDeallocations(program);
  labelTensors(program);
}

void finishHostProgram(HostIrContainer& program, const HostLoweringOptions& options) {
  verifyHostProgram(program, HostStage::Written);
  runPasses(program, options);
}

// Stream marks of inputs and of what is computed whole have had their effect; each rank looks at those that are left.
static void dropDoneMarks(HostIrContainer& program) {
  const auto drop = [](std::span<Val* const> vals) {
    for (TensorView* tensor : tensorsOf(vals)) {
      for (IterDomain* axis : tensor->loop()) {
        if (axis->isStream()) axis->parallelize(ParallelType::Serial);
      }
    }
  };
  drop(program.inputs());
  for (const Expr* expr : program.topLevel().exprs) {
    if (expr->list() == OpList::Math || expr->is<PostOnStream>()) drop(expr->outputs());
  }
}

std::unique_ptr<HostIrContainer> lowerToRanks(const Fusion& fusion, const HostLoweringOptions& options) {
  verify(fusion, Stage::Scheduled);
  requireTensorsWithPlace(fusion);
  const std::unique_ptr<Fusion> local = makeReshardings(*propagateShardings(*unifyExtents(fusion)));
  std::unique_ptr<HostIrContainer> program = makeHostProgram(*local, options);
  labelTensors(*program);
  lowerStreams(*program, options.stream_sync, options.stream_transfers);
  dropDoneMarks(*program);
  lowerReshardings(*program);
  labelTensors(*program);
  return program;
}

std::unique_ptr<HostIrContainer> lowerToHostProgram(const Fusion& fusion, const HostLoweringOptions& options) {
  requireOneDevice("lower " + fusion.name(), fusion);
  requireTensorsWithPlace(fusion);
  std::unique_ptr<HostIrContainer> program = makeHostProgram(fusion, options);
  runPasses(*program, options);
  return program;
}

}  // namespace tokamak
