#include "host/lower_fusion.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "host/buffer_passes.h"
#include "ir/clone.h"
#include "ir/ops/host/post_on_stream.h"

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

// Scalars that the shapes of the unit's inputs do not tell become inputs, too.
void addScalarInputs(const Fusion& fusion, Fusion& unit, PostOnStream& post, Cloner& program) {
  std::set<const Scalar*> told;
  for (const TensorView* input : tensorsOf(unit.inputs())) {
    for (const IterDomain* axis : shapeOf(*input)) told.insert(axis->visibleExtent());
  }
  for (Scalar* symbol : unit.allSymbols()) {
    if (told.contains(symbol)) continue;
    const std::vector<Scalar*> outer = fusion.allSymbols();
    const auto same = std::ranges::find(outer, symbol->name(), &Scalar::name);
    TK_CHECK(same != outer.end(), "a unit's scalar {} is unknown to its fusion", toString(*symbol));
    unit.addInput(symbol);
    post.ins.push_back(program.clone(*same));
  }
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
  addScalarInputs(fusion, *unit->fusion, post, program);
  for (TensorView* output : border.outputs) {
    unit->fusion->addOutput(inner.clone(output));
    post.outs.push_back(program.clone(output));
  }
  post.unit = std::move(unit);
  return program.target().appendOp(std::move(post));
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
  const MergePredicate maximal = mayMergeInHostProgram;
  int64_t units = 0;
  for (const SegmentedGroup& group : segment(fusion, grouping == Grouping::Single ? never : maximal)) {
    program->pushBack(group.exprs.size() == 1 ? cloner.clone(*group.exprs[0]) : makeUnit(fusion, group, units++, cloner));
  }
  for (TensorView* output : fusion.outputs()) program->addOutput(cloner.clone(output));
  for (const auto& [output, alias] : fusion.outputAliases()) {
    program->markAlias(asTensor(cloner.clone(alias.target)), cloner.clone(output));
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
