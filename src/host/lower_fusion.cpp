#include "host/lower_fusion.h"

#include <algorithm>
#include <map>
#include <set>

#include "heuristics/cpu_schedule.h"
#include "host/buffer_passes.h"
#include "host/unit_slices.h"
#include "ir/clone.h"
#include "ir/ops/host/post_on_stream.h"
#include "ir/ops/math/cast_op.h"
#include "ir/ops/math/load_store_op.h"
#include "ir/ops/math/pointwise_op.h"

namespace tokamak {

namespace {

// The tensors a group reads from outside, and those it gives to the outside, each once, in order.
struct GroupBorder {
  std::vector<Val*> inputs;
  std::vector<TensorView*> outputs;
};

GroupBorder borderOf(const Fusion& fusion, const SegmentedGroup& group) {
  const auto isInside = [&](const Expr* expr) { return std::ranges::find(group.exprs, expr) != group.exprs.end(); };
  GroupBorder border;
  for (const Expr* expr : group.exprs) {
    for (Val* input : expr->inputs()) {
      const bool is_new = std::ranges::find(border.inputs, input) == border.inputs.end();
      if (input->kind() == ValKind::Tensor && !isInside(input->definition()) && is_new) border.inputs.push_back(input);
    }
    for (TensorView* output : tensorsOf(expr->outputs())) {
      const bool is_read_outside = std::ranges::any_of(output->uses(), [&](const Expr* use) { return !isInside(use); });
      if (is_read_outside || fusion.isOutput(output)) border.outputs.push_back(output);
    }
  }
  return border;
}

// Whether the two groups together can be one kernel.
bool mayBeOneKernel(const Fusion& fusion, const SegmentedGroup& producer, const SegmentedGroup& consumer) {
  SegmentedGroup both = producer;
  both.exprs.insert(both.exprs.end(), consumer.exprs.begin(), consumer.exprs.end());
  std::ranges::sort(both.exprs, {}, &Expr::id);
  const auto staysAlone = [](const Expr* expr) { return expr->info().is_library || expr->info().is_communication; };
  if (std::ranges::any_of(both.exprs, staysAlone)) return false;
  const GroupBorder border = borderOf(fusion, both);
  Fusion unit(fusion.name());
  Cloner cloner(unit);
  for (Val* input : border.inputs) unit.addInput(cloner.clone(input));
  for (const Expr* expr : both.exprs) cloner.clone(*expr);
  for (TensorView* output : border.outputs) unit.addOutput(cloner.clone(output));
  return !whyNoCpuKernel(unit);
}

Expr* makeUnit(const Fusion& fusion, const SegmentedGroup& group, int64_t number, Cloner& program) {
  const GroupBorder border = borderOf(fusion, group);
  auto unit = std::make_shared<HostUnit>();
  unit->number = number;
  unit->fusion = std::make_unique<Fusion>(fusion.name());
  Cloner inner(*unit->fusion);
  PostOnStream post;
  for (Val* input : border.inputs) {
    unit->fusion->addInput(inner.clone(input));
    post.ins.push_back(program.clone(input));
  }
  for (const Expr* expr : group.exprs) inner.clone(*expr);
  addScalarInputs(fusion, post, *unit, [&](Scalar* scalar) { return program.clone(scalar); });
  for (TensorView* output : border.outputs) {
    unit->fusion->addOutput(inner.clone(output));
    post.outs.push_back(program.clone(output));
  }
  post.unit = std::move(unit);
  return program.target().appendOp(std::move(post));
}

bool isPointwise(const Expr& expr) { return expr.is<PointwiseOp>() || expr.is<CastOp>() || expr.is<LoadStoreOp>(); }

// Whether `output` may be written into `input` as soon as it is computed, the statements being in this order: nobody reads the input's
// old elements afterwards, and who reads them before, perhaps in the iterations of one loop, reads each only for its own result.
bool mayUpdateInPlace(const std::vector<const Expr*>& order, const TensorView& output, const Val& input) {
  std::set<const Val*> names = {&input};  // a Set may bind its operand
  bool is_written = false;
  for (const Expr* expr : order) {
    const bool reads = std::ranges::any_of(expr->inputs(), [&](const Val* val) { return names.contains(val); });
    if (reads && (is_written || !isPointwise(*expr))) return false;
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

bool mayMergeInHostProgram(const SegmentedGroup& producer, const SegmentedGroup& consumer) {
  const auto standsAlone = [](const Expr* expr) { return expr->info().stands_alone; };
  return std::ranges::none_of(producer.exprs, standsAlone) && std::ranges::none_of(consumer.exprs, standsAlone);
}

std::unique_ptr<HostIrContainer> makeHostProgram(const Fusion& fusion, Grouping grouping) {
  auto program = std::make_unique<HostIrContainer>(fusion.name());
  Cloner cloner(*program);
  for (Val* input : fusion.inputs()) program->addInput(cloner.clone(input));
  const MergePredicate never = [](const SegmentedGroup&, const SegmentedGroup&) { return false; };
  const MergePredicate kernels = [&](const SegmentedGroup& a, const SegmentedGroup& b) {
    return mayBeOneKernel(fusion, a, b);
  };
  const MergePredicate may_merge = grouping == Grouping::Single  ? never
                                   : grouping == Grouping::Fused ? kernels
                                                                 : MergePredicate(mayMergeInHostProgram);
  int64_t units = 0;
  std::map<const Expr*, const SegmentedGroup*> kernels_of;  // of ops that become a kernel together
  std::vector<const Expr*> order;
  const std::vector<SegmentedGroup> groups = segment(fusion, may_merge);
  for (const SegmentedGroup& group : groups) {
    if (grouping == Grouping::Fused && group.exprs.size() > 1) {
      for (const Expr* expr : group.exprs) kernels_of[expr] = &group;
    }
    order.insert(order.end(), group.exprs.begin(), group.exprs.end());
    program->pushBack(group.exprs.size() == 1 ? cloner.clone(*group.exprs[0])
                                              : makeUnit(fusion, group, units++, cloner));
  }
  for (TensorView* output : fusion.outputs()) {
    const auto alias = fusion.outputAliases().find(output);
    TensorView* result = cloner.clone(output);
    if (alias != fusion.outputAliases().end()) {
      Val* target = alias->second.target;
      const auto kernel = kernels_of.find(output->definition());
      const bool is_in_place =
          mayUpdateInPlace(order, *output, *target) && (kernel == kernels_of.end() || !reads(*kernel->second, *target));
      result = addUpdate(*program, result, asTensor(cloner.clone(target)), is_in_place);
    }
    program->addOutput(result);
  }
  for (const auto& [symbol, value] : fusion.defaultSizes()) program->defaultSizes()[cloner.clone(symbol)] = value;
  for (TensorView* tensor : program->allTensors()) tensor->setMemoryType(MemoryType::Global);
  return program;
}

void finishHostProgram(HostIrContainer& program, const HostLoweringOptions& options) {
  lowerStreams(program, options.stream_sync);
  if (options.after_streams) options.after_streams(program);
  rotateStreamBuffers(program);
  placeAllocations(program);
  insertDeallocations(program);
  labelTensors(program);
}

std::unique_ptr<HostIrContainer> lowerToHostProgram(const Fusion& fusion, const HostLoweringOptions& options) {
  std::unique_ptr<HostIrContainer> program = makeHostProgram(fusion, options.grouping);
  finishHostProgram(*program, options);
  return program;
}

}  // namespace tokamak
