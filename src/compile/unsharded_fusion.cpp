#include "compile/unsharded_fusion.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "analysis/bind_shape.h"
#include "analysis/device_mesh.h"
#include "analysis/shards.h"
#include "base/require.h"
#include "define/shapes.h"
#include "host/ir/loop_limit.h"
#include "host/ir/restrict_op.h"
#include "ir/clone.h"
#include "ir/expr_summary.h"
#include "ir/ops/host/communication.h"
#include "ir/ops/host/for_loop.h"
#include "ir/ops/host/hir_alias_select.h"
#include "ir/ops/host/hir_alias_slice.h"
#include "ir/ops/host/if_then_else.h"
#include "ir/ops/host/p2p_communication.h"
#include "ir/ops/host/post_on_stream.h"
#include "symbolic/symbols.h"

namespace tokamak {

namespace {

// Some indices of one axis of a tensor, which is the visible one of this number.
struct Range {
  int64_t axis = 0;
  int64_t start = 0;
  int64_t stop = 0;
  bool drops_axis = false;
  bool operator==(const Range&) const = default;
};

class UnshardedFusion {
 public:
  UnshardedFusion(const HostIrContainer& program, const ScalarBindings& bindings)
      : program_(program), scalars_(bindings), fusion_(std::make_unique<Fusion>(program.name())) {
    for (const TensorView* tensor : program.allTensors())
      ranks_.insert(tensor->mesh().devices.begin(), tensor->mesh().devices.end());
    taking_ = ranks_;
  }

  std::unique_ptr<Fusion> make() {
    for (Val* input : program_.inputs()) {
      if (auto* tensor = asTensor(input)) {
        TensorView* whole = fusion_->tensor(tensor->dtype(), axesOf(*tensor));
        fusion_->addInput(whole);
        set(tensor, whole);
      } else {
        auto* scalar = asScalar(input);
        Scalar* own = fusion_->symbol(std::string(scalar->name()), scalar->dtype());
        fusion_->addInput(own);
        inputs_[scalar] = own;
      }
    }
    requireFewIterations(program_.topLevel(), scalars_, kMostIterations);
    walk(program_.topLevel());
    for (TensorView* output : program_.outputs()) fusion_->addOutput(tokamak::set(get(output)));
    return std::move(fusion_);
  }

 private:
  // A buffer: its value, or the slices of one axis that were written so far.
  struct Memory {
    TensorView* value = nullptr;
    std::vector<std::pair<Range, TensorView*>> slices;
  };
  struct View {
    TensorView* of = nullptr;
    Range range;
  };

  TensorView* root(TensorView* tensor) const { return program_.resolveAlias(tensor); }

  Axes axesOf(const TensorView& tensor) const {
    Axes axes;
    const std::vector<int64_t> sizes = sizesOf(tensor, scalars_);
    size_t next = 0;
    for (const IterDomain* axis : shapeOf(tensor)) {
      Scalar* const extent = fusion_->constant(sizes[next++]);
      const bool is_broadcast = axis->isBroadcast();
      axes.push_back(fusion_->axis({.kind = axis->kind(),
                                    .extent = is_broadcast ? nullptr : extent,
                                    .expanded_extent = axis->expandedExtent() == nullptr ? nullptr : extent}));
    }
    return axes;
  }

  void set(TensorView* tensor, TensorView* value) {
    const auto view = views_.find(tensor);
    if (view == views_.end() && isOnSome(*tensor) && !isOnAll(*tensor)) return setParts(tensor, value);
    if (view == views_.end()) {
      memory_[root(tensor)] = {.value = value, .slices = {}};
      return;
    }
    TK_REQUIRE(!views_.contains(view->second.of), Unsupported,
               "unsharded fusion: {} is a slice of a slice, which is written; the oracle knows slices of whole tensors",
               nameOf(*tensor));
    const Range& range = view->second.range;
    std::vector<std::pair<Range, TensorView*>>& slices = memory_[root(view->second.of)].slices;
    std::erase_if(slices, [&](const auto& slice) { return slice.first == range; });
    slices.emplace_back(range, value);
  }

  // --- what only some ranks do ---

  // Whether a rank of those that take the branch has the tensor, and whether no others have.
  bool isOnSome(const TensorView& tensor) const {
    const auto isTaking = [&](int64_t rank) { return taking_.contains(rank); };
    return tensor.mesh().empty() ? !taking_.empty() || ranks_.empty()
                                 : std::ranges::any_of(tensor.mesh().devices, isTaking);
  }
  bool isOnAll(const TensorView& tensor) const {
    const auto isTaking = [&](int64_t rank) { return taking_.contains(rank); };
    return tensor.mesh().empty() ? taking_ == ranks_ : std::ranges::all_of(tensor.mesh().devices, isTaking);
  }

  // The parts that ranks have who take the branch. What all ranks have alike is as any of them says: that they agree is
  // looked at when they have run.
  void setParts(TensorView* tensor, TensorView* value) {
    std::vector<Shard> shards = shardsOf(*tensor);
    std::erase_if(shards, [](const Shard& shard) { return shard.devices == 1; });
    if (shards.empty()) {
      memory_[root(tensor)] = {.value = value, .slices = {}};
      return;
    }
    TK_REQUIRE(shards.size() == 1 && tensor->mesh().shape.size() == 1, Unsupported,
               "unsharded fusion: {} has parts over a mesh of {} dimensions, and some ranks alone give it; the oracle "
               "knows that of one dimension",
               nameOf(*tensor), tensor->mesh().shape.size());
    const int64_t axis = visibleAxisNumber(*tensor, *shards[0].logical);
    const int64_t n = sizesOf(*tensor, scalars_)[static_cast<size_t>(axis)];
    const int64_t chunk = evaluateInt(*shards[0].chunk, scalars_);
    std::vector<std::pair<Range, TensorView*>>& slices = memory_[root(tensor)].slices;
    for (const int64_t rank : tensor->mesh().devices) {
      if (!taking_.contains(rank)) continue;
      const IndexRange part = shardRange(n, chunk, (*coordinatesOf(tensor->mesh(), rank))[0]);
      const Range range = {.axis = axis, .start = part.start, .stop = part.start + part.extent};
      if (part.extent == 0) continue;
      std::erase_if(slices, [&](const auto& known) { return known.first == range; });
      slices.emplace_back(range, slice(value, axis, range.start, range.stop));
    }
  }

  void doChoice(const IfThenElse& choice) {
    const std::vector<const Scalar*> symbols = symbolsOf(*choice.predicate);
    const auto rank = std::ranges::find_if(symbols, [&](const Scalar* symbol) {
      return symbol->name() == "rank" && !program_.isInput(symbol) && !scalars_.contains(symbol);
    });
    if (rank == symbols.end())
      return walk(evaluateInt(*choice.predicate, scalars_) != 0 ? choice.then_body : choice.else_body);
    TK_REQUIRE(!ranks_.empty(), Unsupported,
               "unsharded fusion: IF {}: no tensor has a mesh, which says what ranks there are; the oracle does not "
               "know what they do: run it without --check",
               toString(*choice.predicate));
    const std::set<int64_t> around = taking_;
    for (const bool is_then : {true, false}) {
      taking_.clear();
      for (const int64_t number : around) {
        scalars_[*rank] = number;
        if ((evaluateInt(*choice.predicate, scalars_) != 0) == is_then) taking_.insert(number);
      }
      scalars_.erase(*rank);
      walk(is_then ? choice.then_body : choice.else_body);
    }
    taking_ = around;
  }

  bool isDone(const Expr& expr) const {
    const std::vector<TensorView*> results = tensorsOf(expr.outputs());
    return results.empty() || std::ranges::any_of(results, [&](const TensorView* out) { return isOnSome(*out); });
  }

  TensorView* get(TensorView* tensor) {
    const auto view = views_.find(tensor);
    if (view == views_.end()) return whole(tensor);
    const auto& [of, range] = view->second;
    if (!views_.contains(of)) {
      for (const auto& [written, value] : memory_[root(of)].slices)
        if (written == range) return value;
    }
    TensorView* source = get(of);
    return range.drops_axis ? select(source, range.axis, range.start)
                            : slice(source, range.axis, range.start, range.stop);
  }

  TensorView* whole(TensorView* tensor) {
    Memory& memory = memory_[root(tensor)];
    if (memory.slices.empty()) {
      TK_REQUIRE(memory.value != nullptr, Unsupported, "unsharded fusion: {} is read, and nothing has written it",
                 nameOf(*tensor));
      return memory.value;
    }
    std::ranges::sort(memory.slices, {}, [](const auto& slice) { return slice.first.start; });
    const int64_t axis = memory.slices[0].first.axis;
    int64_t end = 0;
    std::vector<TensorView*> parts;
    for (const auto& [range, value] : memory.slices) {
      if (range.axis == axis && range.start == end) end = range.stop;
      parts.push_back(range.drops_axis ? unsqueeze(value, axis) : value);
    }
    TK_REQUIRE(end == sizesOf(*tensor, scalars_)[static_cast<size_t>(axis)], Unsupported,
               "unsharded fusion: the slices of {} that are written are not all of its axis {}; the oracle knows "
               "tensors that are written as a whole",
               nameOf(*tensor), axis);
    memory.value = parts.size() == 1 ? parts[0] : cat(parts, axis);
    memory.slices.clear();
    return memory.value;
  }

  void walk(const Block& block) {
    for (const Expr* expr : block.exprs) doStatement(*expr);
  }

  void doStatement(const Expr& expr) {
    if (const auto* loop = expr.as<ForLoop>()) return doLoop(*loop);
    if (const auto* choice = expr.as<IfThenElse>()) return doChoice(*choice);
    if (!isDone(expr)) return;
    if (const auto* op = expr.as<HirAliasSelect>()) {
      const int64_t index = evaluateInt(*op->index, scalars_);
      return defineView(op->out, op->in, op->axis, {.start = index, .stop = index + 1, .drops_axis = true});
    }
    if (const auto* op = expr.as<HirAliasSlice>())
      return defineView(op->out, op->in, op->axis,
                        {.start = evaluateInt(*op->start, scalars_), .stop = evaluateInt(*op->stop, scalars_)});
    if (const auto* op = expr.as<PostOnStream>()) return doSegment(*op);
    if (const auto* op = expr.as<Communication>()) return communicate(*op);
    if (const auto* op = expr.as<P2pCommunication>()) return doTransfer(*op);
    TK_REQUIRE(expr.list() == OpList::Math || (!expr.info().is_communication && !computesResults(expr)), Unsupported,
               "unsharded fusion: the oracle does not know {}; run it without --check", expr.name());
    if (expr.list() == OpList::Math) doOp(expr);
  }

  // A Broadcast may read the part that its root has, and a Reduce may give one to its root.
  void communicate(const Communication& op) {
    TK_REQUIRE(op.in != nullptr && op.out != nullptr, Unsupported,
               "unsharded fusion: {}: the oracle knows communications that have an input and an output",
               enumName(op.type));
    TensorView* const in = get(op.in);
    if (op.type == CommunicationType::Broadcast) {
      if (const auto part = partOfRoot(op, *op.in, *op.out))
        return set(op.out, part->drops_axis ? select(in, part->axis, part->start)
                                            : slice(in, part->axis, part->start, part->stop));
    }
    const auto part = op.type == CommunicationType::Reduce ? partOfRoot(op, *op.out, *op.in) : std::nullopt;
    if (!part) return set(op.out, in);
    std::vector<std::pair<Range, TensorView*>>& slices = memory_[root(op.out)].slices;
    std::erase_if(slices, [&](const auto& slice) { return slice.first == *part; });
    slices.emplace_back(*part, in);
  }

  // The part that the root has of an axis of `dealt`, of which `whole` has that part alone.
  std::optional<Range> partOfRoot(const Communication& op, const TensorView& dealt, const TensorView& whole) const {
    const auto position = std::ranges::find(op.team, evaluateInt(*op.root, scalars_)) - op.team.begin();
    const std::vector<Shard> others = shardsOf(whole);
    for (const Shard& shard : shardsOf(dealt)) {
      const bool is_in_both = std::ranges::find(others, shard.type, &Shard::type) != others.end();
      if (is_in_both || shard.devices == 1) continue;
      const IndexRange range = shardRange(evaluateInt(*shard.logical->visibleExtent(), scalars_),
                                          evaluateInt(*shard.chunk, scalars_), position);
      return Range{.axis = visibleAxisNumber(dealt, *shard.logical),
                   .start = range.start,
                   .stop = range.start + range.extent,
                   .drops_axis = shapeOf(whole).size() < shapeOf(dealt).size()};
    }
    return std::nullopt;
  }

  void defineView(TensorView* out, TensorView* in, int64_t logical_axis, Range range) {
    const Axes& logical = in->logical();
    range.axis = std::count_if(logical.begin(), logical.begin() + logical_axis,
                               [](const IterDomain* axis) { return !axis->isReduction(); });
    views_[out] = {.of = in, .range = range};
  }

  void doLoop(const ForLoop& loop) {
    const int64_t start = evaluateInt(*loop.start, scalars_);
    const int64_t step = evaluateInt(*loop.step, scalars_);
    const int64_t iterations = iterationsOf(loop, scalars_).value_or(0);
    for (int64_t i = 0; i < iterations; ++i) {
      scalars_[loop.index] = start + i * step;
      walk(loop.body);
    }
    scalars_.erase(loop.index);
  }

  // Extents and indices become numbers; inputs that are values stay what they are.
  Scalar* scalar(Scalar* whole, std::map<const Scalar*, Scalar*>& given) {
    if (whole == nullptr) return nullptr;
    if (const auto known = given.find(whole); known != given.end()) return known->second;
    if (whole->isSymbol()) {
      if (const auto input = inputs_.find(whole); input != inputs_.end()) return input->second;
    }
    Cloner cloner(*fusion_);
    const Fusion& owner = whole->fusion();
    for (Scalar* symbol : owner.allSymbols()) {
      const auto given_value = given.find(symbol);
      const auto input = inputs_.find(symbol);
      const auto bound = scalars_.find(symbol);
      if (given_value != given.end())
        cloner.substitute(symbol, given_value->second);
      else if (input != inputs_.end())
        cloner.substitute(symbol, input->second);
      else if (bound != scalars_.end())
        cloner.substitute(symbol, fusion_->constant(bound->second, symbol->dtype()));
    }
    return cloner.clone(whole);
  }

  Fields fieldsIn(const Expr& expr, const std::map<Val*, TensorView*>& tensors,
                  std::map<const Scalar*, Scalar*>& given) {
    const auto valOf = [&](Val* val) -> Val* {
      if (val == nullptr) return nullptr;
      if (auto* own = asScalar(val)) return scalar(own, given);
      const auto known = tensors.find(val);
      return known != tensors.end() ? known->second : get(asTensor(val));
    };
    Fields fields = fieldsOf(expr);
    for (Field& field : fields) {
      if (field.role == FieldRole::Result || field.role == FieldRole::ResultList) continue;
      if (auto* own = std::get_if<Scalar*>(&field.value)) *own = scalar(*own, given);
      if (auto* val = std::get_if<Val*>(&field.value)) *val = valOf(*val);
      if (auto* vals = std::get_if<std::vector<Val*>>(&field.value))
        std::ranges::transform(*vals, vals->begin(), valOf);
      if (auto* scalars = std::get_if<std::vector<Scalar*>>(&field.value))
        std::ranges::transform(*scalars, scalars->begin(), [&](Scalar* own) { return scalar(own, given); });
    }
    std::erase_if(fields, [](const Field& field) {
      return field.role == FieldRole::Result || field.role == FieldRole::ResultList;
    });
    return fields;
  }

  void doOp(const Expr& expr) {
    std::map<const Scalar*, Scalar*> given;
    const Expr* made = defineExpr(*fusion_, expr.kind(), fieldsIn(expr, {}, given));
    for (size_t i = 0; i < expr.outputs().size(); ++i) set(asTensor(expr.output(i)), asTensor(made->output(i)));
  }

  void doSegment(const PostOnStream& post) {
    const Fusion& segment = *post.segment->fusion;
    std::map<Val*, TensorView*> tensors;
    std::map<const Scalar*, Scalar*> given;
    ScalarBindings sizes;
    for (size_t i = 0; i < post.ins.size(); ++i) {
      Val* const inner = segment.inputs()[i];
      if (auto* tensor = asTensor(post.ins[i])) {
        bindShape(*asTensor(inner), sizesOf(*tensor, scalars_), sizes);
        tensors[inner] = get(tensor);
      } else {
        std::map<const Scalar*, Scalar*> none;
        given[asScalar(inner)] = scalar(asScalar(post.ins[i]), none);
      }
    }
    for (const auto& [symbol, value] : sizes) given.emplace(symbol, fusion_->constant(value, symbol->dtype()));
    for (const Expr* expr : segment.exprs()) {
      const Expr* made = defineExpr(*fusion_, expr->kind(), fieldsIn(*expr, tensors, given));
      for (size_t i = 0; i < expr->outputs().size(); ++i) tensors[expr->output(i)] = asTensor(made->output(i));
    }
    for (size_t i = 0; i < post.outs.size(); ++i) set(post.outs[i], tensors.at(segment.outputs()[i]));
  }

  // A transfer is what its sender has when it is posted; the n-th one between two ranks meets the n-th one.
  void doTransfer(const P2pCommunication& op) {
    const std::vector<int64_t>& own = op.buffer->mesh().devices;
    TK_REQUIRE(own.size() == 1, Unsupported,
               "unsharded fusion: a transfer of {}, which is on {} ranks; the oracle knows transfers between tensors "
               "of one rank each",
               nameOf(*op.buffer), own.size());
    if (!taking_.contains(own[0])) return;
    const bool sends = op.type == P2pType::Send;
    const int64_t peer = evaluateInt(*op.peer, scalars_);
    const std::pair<int64_t, int64_t> path = sends ? std::pair(own[0], peer) : std::pair(peer, own[0]);
    Path& known = paths_[path];
    if (sends) known.sent.push_back(get(op.buffer));
    if (!sends) known.receivers.push_back(op.buffer);
    if (known.sent.empty() || known.receivers.empty()) return;
    set(known.receivers.front(), known.sent.front());
    known.sent.pop_front();
    known.receivers.pop_front();
  }

  const HostIrContainer& program_;
  ScalarBindings scalars_;
  std::unique_ptr<Fusion> fusion_;
  std::set<int64_t> ranks_;   // of all meshes
  std::set<int64_t> taking_;  // those that do the statement: of IF on the rank's number some
  std::map<const Scalar*, Scalar*> inputs_;
  std::map<TensorView*, Memory> memory_;
  std::map<TensorView*, View> views_;
  struct Path {
    std::deque<TensorView*> sent;
    std::deque<TensorView*> receivers;
  };
  std::map<std::pair<int64_t, int64_t>, Path> paths_;  // by sender and receiver
};

}  // namespace

std::unique_ptr<Fusion> unshardedFusion(const HostIrContainer& program, const ScalarBindings& bindings) {
  return UnshardedFusion(program, bindings).make();
}

}  // namespace tokamak
