#include "host/lower/lower_reshardings.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "analysis/bind_shape.h"
#include "analysis/device_mesh.h"
#include "analysis/resharding_steps.h"
#include "base/require.h"
#include "define/shapes.h"
#include "host/ir/restrict_op.h"
#include "host/lower/buffer_roots.h"
#include "host/lower/place_waits.h"
#include "host/lower/rank_parts.h"
#include "host/lower/stream_scalars.h"
#include "host/lower/stream_transfers.h"
#include "ir/expr_summary.h"
#include "ir/ops/host/allocate.h"
#include "ir/ops/host/for_loop.h"
#include "ir/ops/host/hir_alias_select.h"
#include "ir/ops/host/hir_alias_slice.h"
#include "ir/ops/math/load_store_op.h"
#include "schedule/shard.h"
#include "symbolic/scalar_simplifier.h"

namespace tokamak {

namespace {

using Form = MeshUse::Form;
using Kind = ReshardingStep::Kind;
using Order = std::vector<size_t>;  // of visible axes in memory, the slowest first

size_t axisOf(const MeshUse& use) { return static_cast<size_t>(use.parts.axis); }

// The same elements along other axes: axis i of the new tensor is axes[i] of the old one, or a new axis.
Sharding withAxes(Sharding sharding, const std::vector<std::optional<size_t>>& axes) {
  for (MeshUse& use : sharding.uses) {
    if (use.form != Form::Chunk) continue;
    const auto found = std::ranges::find(axes, std::optional(axisOf(use)));
    TK_CHECK(found != axes.end(), "axis {} of a sharding is gone", use.parts.axis);
    use.parts.axis = found - axes.begin();
  }
  return sharding;
}

class ReshardingLowering {
 public:
  ReshardingLowering(HostIrContainer& program, const ReshardingOptions& options)
      : program_(program), options_(options), roots_(program), next_number_(firstFreeNumber(program)) {
    forEachStatement(program.topLevel(), [&](const Expr& expr) {
      if (const auto* op = expr.as<HirAliasSelect>())
        slices_[op->out] = {.view = &expr, .of = op->in, .axis = op->axis};
      if (const auto* op = expr.as<HirAliasSlice>()) slices_[op->out] = {.view = &expr, .of = op->in, .axis = op->axis};
    });
  }

  Block run() { return lowered(program_.topLevel()); }

 private:
  struct SliceOf {
    const Expr* view = nullptr;
    TensorView* of = nullptr;
    int64_t axis = 0;  // logical
  };

  Block lowered(const Block& block) {
    Block before = std::exchange(block_, {});
    for (Expr* expr : block.exprs) {
      if (const auto* loop = expr->as<ForLoop>())
        block_.exprs.push_back(loweredLoop(*expr, *loop));
      else if (lowerPartOfRank(*expr))
        continue;
      else if (isResharding(*expr))
        lower(*expr);
      else
        block_.exprs.push_back(expr);
    }
    dropUnread(block_);
    return std::exchange(block_, std::move(before));
  }

  // Views of what one rank has, which is sent or received without them.
  void dropUnread(Block& block) {
    std::set<const TensorView*> used;
    forEachStatement(block, [&](const Expr& expr) {
      const bool is_own = !expr.outputs().empty() && of_one_rank_.contains(asTensor(expr.output(0)));
      for (const TensorView* tensor : tensorsOf(expr.inputs())) used.insert(tensor);
      for (const TensorView* tensor : tensorsOf(expr.outputs()))
        if (!is_own || !isView(expr)) used.insert(tensor);
    });
    std::erase_if(block.exprs, [&](const Expr* expr) {
      const TensorView* made = isView(*expr) ? asTensor(expr->output(0)) : nullptr;
      return made != nullptr && of_one_rank_.contains(made) && !used.contains(made);
    });
  }

  static bool isView(const Expr& expr) { return expr.is<HirAliasSelect>() || expr.is<HirAliasSlice>(); }

  Expr* loweredLoop(Expr& statement, const ForLoop& loop) {
    ForLoop copy = loop;
    ++loops_around_;
    Scalar* const index_around = std::exchange(index_, loop.index);
    copy.body = lowered(loop.body);
    index_ = index_around;
    --loops_around_;
    return copy.body.exprs == loop.body.exprs ? &statement : program_.appendOp(std::move(copy));
  }

  void lower(Expr& statement) {
    const LoadStoreOp set = *statement.as<LoadStoreOp>();
    if (set.in->mesh().empty()) return block_.exprs.push_back(&statement);  // every rank has all of it
    const std::string operation = "lower resharding " + summaryOf(statement);
    TK_REQUIRE(!set.out->mesh().empty(), HostProgram,
               "{}: {} is on the ranks of a mesh, and its copy has none; give it one, as in mesh(0, 1)", operation,
               nameOf(*set.in));
    doSteps(reshardingSteps(operation, shardingOf(*set.in), shardingOf(*set.out)), set.in, set.out);
  }

  void doSteps(const std::vector<ReshardingStep>& steps, TensorView* current, TensorView* out) {
    for (const ReshardingStep& step : steps) {
      const bool is_last = &step == &steps.back();
      current = doStep(step, current, is_last ? out : nullptr);
    }
    if (current != out) appendSet(current, out);
  }

  // --- what one rank has, in the iteration of its number ---

  // Whether the Set is one from a part that one rank has of a tensor, or to one.
  bool lowerPartOfRank(const Expr& statement) {
    const auto* set = statement.as<LoadStoreOp>();
    if (set == nullptr || set->in->mesh() != set->out->mesh()) return false;
    if (const std::optional<RankPart> part = partOfRank(set->in)) {
      broadcastPart(*part, *set, "lower resharding " + summaryOf(statement));
      return true;
    }
    const std::optional<RankPart> part = partOfRank(set->out);
    return part && reduceToPart(*part, *set);
  }

  std::optional<RankPart> partOfRank(TensorView* tensor) {
    const auto slice = slices_.find(tensor);
    return slice == slices_.end() ? std::nullopt : rankPartOf(program_, *slice->second.view, index_);
  }

  // The order of the view's axes.
  static Order orderOfView(const RankPart& part) {
    Order order = memoryOrder(*part.of);
    if (!part.drops_axis) return order;
    const auto dropped = static_cast<size_t>(part.axis);
    std::erase(order, dropped);
    for (size_t& axis : order) axis -= axis > dropped ? 1 : 0;
    return order;
  }

  void postOfRank(CommunicationType type, const RankPart& part, TensorView* in, TensorView* out,
                  ReductionKind reduction = ReductionKind::Sum) {
    const DeviceMesh& mesh = part.of->mesh();
    std::vector<int64_t> team = teamOf(mesh, mesh.devices[0], part.dimension);
    Scalar* const root = memberAt(program_, team, part.position);
    post(type, in, out, std::move(team), root, reduction);
  }

  void broadcastPart(const RankPart& part, const LoadStoreOp& set, const std::string& operation) {
    const Sharding whole = shardingOf(*set.in);
    const std::vector<ReshardingStep> steps = reshardingSteps(operation, whole, shardingOf(*set.out));
    TensorView* const in = sendable(part.of);
    RankPart sent = part;
    sent.of = in;
    TensorView* const out = resultFor(steps.empty() ? set.out : nullptr, *set.in, whole, orderOfView(sent));
    postOfRank(CommunicationType::Broadcast, sent, in, out);
    of_one_rank_.insert(set.in);
    doSteps(steps, out, set.out);
  }

  // What ranks have otherwise than as terms is left, and refused as the view that it is.
  bool reduceToPart(const RankPart& part, const LoadStoreOp& set) {
    Sharding from = shardingOf(*set.in);
    MeshUse& terms = from.uses[part.dimension];
    const ReductionKind reduction = terms.reduction;
    const bool has_terms = std::exchange(terms, {}).form == Form::Partial;
    if (!has_terms || from != shardingOf(*set.out) || !isDense(part.of)) return false;
    postOfRank(CommunicationType::Reduce, part, inOrder(set.in, orderOfView(part)), part.of, reduction);
    of_one_rank_.insert(set.out);
    return true;
  }

  // --- tensors ---

  // A tensor of the same elements that lies in memory in this order.
  TensorView* tensorLike(const TensorView& like, const Sharding& sharding, const Order& order) {
    Axes axes;
    for (const IterDomain* axis : shapeOf(like)) {
      const bool is_broadcast = axis->isBroadcast() && axis->expandedExtent() == nullptr;
      axes.push_back(program_.axis({.kind = is_broadcast ? IterKind::Broadcast : IterKind::Iteration,
                                    .extent = is_broadcast ? axis->extent() : axis->visibleExtent()}));
    }
    TensorView* made = program_.tensor(like.dtype(), std::move(axes));
    if (!std::ranges::is_sorted(order)) {
      std::vector<int64_t> ranks(order.size());
      for (size_t i = 0; i < order.size(); ++i) ranks[order[i]] = static_cast<int64_t>(order.size() - 1 - i);
      made->mutableDomain().stride_order = std::move(ranks);
    }
    return placed(made, like, sharding);
  }

  TensorView* placed(TensorView* made, const TensorView& like, const Sharding& sharding) {
    made->setMemoryType(MemoryType::Global);
    made->setMemoryKind(like.memoryKind());
    shard(*made, sharding);
    return made;
  }

  // The tensor for a step's result: `wanted`, if there is one that lies in this order, else another one.
  TensorView* resultFor(TensorView* wanted, const TensorView& like, const Sharding& sharding, const Order& order) {
    const bool fits = wanted != nullptr && memoryOrder(*wanted) == order && !hasExpanded(*wanted) &&
                      (!slices_.contains(wanted) || isDenseSlice(wanted));
    return fits ? wanted : resultLike(like, sharding, order);
  }

  // The buffer passes allocate what statements of the top level give; in a body each iteration has its own.
  TensorView* resultLike(const TensorView& like, const Sharding& sharding, const Order& order) {
    TensorView* made = tensorLike(like, sharding, order);
    if (loops_around_ > 0) appendAllocate(made);
    return made;
  }

  void appendSet(TensorView* from, TensorView* to) {
    block_.exprs.push_back(program_.appendOp(LoadStoreOp{.out = to, .in = from}));
  }

  void appendAllocate(TensorView* tensor) {
    block_.exprs.push_back(program_.appendOp(Allocate{tensor, elementCount(program_, *tensor), false, false}));
    allocated_.insert(tensor);
  }

  TensorView* appendOp(TensorView* result, const TensorView& like, const Sharding& sharding) {
    placed(result, like, sharding);
    if (loops_around_ > 0) appendAllocate(result);
    block_.exprs.push_back(result->definition());
    return result;
  }

  // The same, which costs nothing where strides can express it.
  TensorView* appendView(TensorView* result, const TensorView& like, const Sharding& sharding) {
    placed(result, like, sharding);
    block_.exprs.push_back(result->definition());
    program_.markView(asTensor(result->definition()->input(0)), result);
    return result;
  }

  // --- what lies together ---

  // Whether a rank has one index of the axis at most.
  static bool isShort(const TensorView& tensor, const Sharding& sharding, size_t axis) {
    const IterDomain& domain = *shapeOf(tensor)[axis];
    const int64_t dimension = sharding.dimensionOf(static_cast<int64_t>(axis));
    if (dimension >= 0 && sharding.uses[static_cast<size_t>(dimension)].parts.chunk->isConstantInt(1)) return true;
    return domain.visibleExtent()->isConstantInt(1);
  }

  static bool isOutermost(const TensorView& tensor, size_t axis) {
    const Sharding sharding = shardingOf(tensor);
    for (const size_t other : memoryOrder(tensor)) {
      if (other == axis) return true;
      if (!isShort(tensor, sharding, other)) return false;
    }
    return false;
  }

  // Whether the tensor shows an element of its memory in several places.
  static bool hasExpanded(const TensorView& tensor) {
    return std::ranges::any_of(shapeOf(tensor),
                               [](const IterDomain* axis) { return axis->expandedExtent() != nullptr; });
  }

  // Whether the tensor has memory of its own, dense in its order. Inputs are looked at when they are sent.
  bool isDense(TensorView* tensor) const {
    if (hasExpanded(*tensor)) return false;
    if (slices_.contains(tensor)) return isDenseSlice(tensor);
    if (program_.isInput(tensor) || allocated_.contains(tensor)) return true;
    if (roots_.isAllocated(program_.resolveAlias(tensor))) return true;
    const Expr* made = tensor->definition();
    if (made == nullptr || program_.isView(tensor) || made->is<HirAliasSelect>() || made->is<HirAliasSlice>())
      return false;
    const auto* set = made->as<LoadStoreOp>();
    if (set == nullptr || program_.isOutput(tensor)) return true;
    return shardingOf(*set->in) == shardingOf(*tensor) && memoryOrder(*set->in) == memoryOrder(*tensor) &&
           isDense(set->in);
  }

  // Whether the slice is a range of memory: along the outermost axis of what lies in the order of its axes.
  bool isDenseSlice(TensorView* tensor) const {
    const SliceOf& slice = slices_.at(tensor);
    const auto axis =
        static_cast<size_t>(visibleAxisNumber(*slice.of, *slice.of->logical()[static_cast<size_t>(slice.axis)]));
    return std::ranges::is_sorted(memoryOrder(*slice.of)) && isOutermost(*slice.of, axis) && isDense(slice.of);
  }

  // The tensor, or a copy of it, that lies together, with the axis outermost.
  TensorView* sendable(TensorView* tensor, std::optional<size_t> axis = std::nullopt) {
    if (isDense(tensor) && (!axis || isOutermost(*tensor, *axis))) return tensor;
    Order order = memoryOrder(*tensor);
    if (axis && !isOutermost(*tensor, *axis)) {
      std::erase(order, *axis);
      order.insert(order.begin(), *axis);
    }
    return inOrder(tensor, order);
  }

  // The tensor, or a copy of it, that lies together in this order.
  TensorView* inOrder(TensorView* tensor, const Order& order) {
    if (isDense(tensor) && memoryOrder(*tensor) == order) return tensor;
    return copyOf(*tensor, order);
  }

  // With memory of its own, in this order.
  TensorView* copyOf(TensorView& tensor, const Order& order) {
    TensorView* copy = tensorLike(tensor, shardingOf(tensor), order);
    appendAllocate(copy);
    appendSet(&tensor, copy);
    return copy;
  }

  // --- steps ---

  // Gives the step's result, which is `wanted` where that can be.
  TensorView* doStep(const ReshardingStep& step, TensorView* in, TensorView* wanted) {
    const Sharding from = shardingOf(*in);
    const MeshUse& use = from.uses[step.dimension];
    switch (step.kind) {
      case Kind::Slice: return slice(step, in, wanted);
      case Kind::Allgather: return collective(step, CommunicationType::Allgather, sendable(in, axisOf(use)), wanted);
      case Kind::ReduceScatter:
        return collective(step, CommunicationType::ReduceScatter, sendable(in, axisOf(step.to.uses[step.dimension])),
                          wanted);
      case Kind::Allreduce: return collective(step, CommunicationType::Allreduce, sendable(in), wanted);
      case Kind::Gather: return gather(step, sendable(in, axisOf(use)), wanted);
      case Kind::Scatter:
        return fromRoot(step, CommunicationType::Scatter, sendable(in, axisOf(step.to.uses[step.dimension])), wanted);
      case Kind::Broadcast: return fromRoot(step, CommunicationType::Broadcast, sendable(in), wanted);
      case Kind::Reduce: return reduce(step, sendable(in), wanted);
      case Kind::SendRecv: return sendPairs(step, sendable(in), wanted);
      case Kind::AllToAll: return exchange(step, in, wanted);
    }
    TK_RAISE(Internal, "a step of a resharding without a kind");
  }

  // A Set binds what it takes; where it is not the last one, what comes behind it wants memory that lies together.
  TensorView* slice(const ReshardingStep& step, TensorView* in, TensorView* wanted) {
    TensorView* out = wanted != nullptr ? wanted : tensorLike(*in, step.to, memoryOrder(*in));
    if (wanted == nullptr) appendAllocate(out);
    appendSet(in, out);
    return out;
  }

  void post(CommunicationType type, TensorView* in, TensorView* out, std::vector<int64_t> team, Scalar* root = nullptr,
            ReductionKind reduction = ReductionKind::Sum) {
    block_.exprs.push_back(program_.appendOp(Communication{.out = out,
                                                           .in = in,
                                                           .type = type,
                                                           .team = std::move(team),
                                                           .root = root,
                                                           .backend = options_.backend,
                                                           .number = next_number_++,
                                                           .reduction = reduction}));
  }

  // Among the ranks of a row of the mesh, for all rows.
  TensorView* collective(const ReshardingStep& step, CommunicationType type, TensorView* in, TensorView* wanted) {
    TensorView* out = resultFor(wanted, *in, step.to, memoryOrder(*in));
    const DeviceMesh& mesh = step.to.mesh;
    const MeshUse use = shardingOf(*in).uses[step.dimension];
    post(type, in, out, teamOf(mesh, mesh.devices[0], step.dimension), nullptr, use.reduction);
    return out;
  }

  TensorView* gather(const ReshardingStep& step, TensorView* in, TensorView* wanted) {
    TensorView* out = resultFor(wanted, *in, step.to, memoryOrder(*in));
    for (const int64_t receiver : step.to.mesh.devices) {
      std::vector<int64_t> team = in->mesh().devices;
      if (!hasRank(in->mesh(), receiver)) team.push_back(receiver);
      post(CommunicationType::Gather, in, out, std::move(team), program_.constant(receiver));
    }
    return out;
  }

  // From one rank that has all of it.
  TensorView* fromRoot(const ReshardingStep& step, CommunicationType type, TensorView* in, TensorView* wanted) {
    TensorView* out = resultFor(wanted, *in, step.to, memoryOrder(*in));
    std::vector<int64_t> team = step.to.mesh.devices;
    const auto shared = std::ranges::find_if(team, [&](int64_t rank) { return hasRank(in->mesh(), rank); });
    const int64_t root = shared != team.end() ? *shared : in->mesh().devices[0];
    if (shared == team.end()) team.insert(team.begin(), root);
    post(type, in, out, std::move(team), program_.constant(root));
    return out;
  }

  TensorView* reduce(const ReshardingStep& step, TensorView* in, TensorView* wanted) {
    TensorView* out = resultFor(wanted, *in, step.to, memoryOrder(*in));
    const MeshUse use = shardingOf(*in).uses[step.dimension];
    post(CommunicationType::Reduce, in, out, in->mesh().devices, program_.constant(step.to.mesh.devices[0]),
         use.reduction);
    return out;
  }

  TensorView* sendPairs(const ReshardingStep& step, TensorView* in, TensorView* wanted) {
    TensorView* out = resultFor(wanted, *in, step.to, memoryOrder(*in));
    for (size_t i = 0; i < in->mesh().devices.size(); ++i) {
      const int64_t sender = in->mesh().devices[i];
      const int64_t receiver = step.to.mesh.devices[i];
      post(CommunicationType::SendRecv, in, out,
           sender == receiver ? std::vector<int64_t>{sender} : std::vector<int64_t>{sender, receiver},
           program_.constant(sender));
    }
    return out;
  }

  // Chunks of axis a become chunks of axis b, of which each rank has d blocks: [a, b] is packed as [d, a, b / d], of
  // which blocks are exchanged, and unpacked. A last block that is shorter is filled up, by d - 1 indices at most.
  TensorView* exchange(const ReshardingStep& step, TensorView* in, TensorView* wanted) {
    const size_t dimension = step.dimension;
    if (isEmpty(*in)) return exchangeNothing(step, in, wanted);
    if (hasExpanded(*in)) in = copyOf(*in, memoryOrder(*in));
    const int64_t devices = step.to.mesh.shape[dimension];
    const MarkedParts target = step.to.uses[dimension].parts;
    const auto b = static_cast<size_t>(target.axis);
    Scalar* const n = shapeOf(*in)[b]->visibleExtent();
    Scalar* const all = simplify(program_.mul(target.chunk, program_.constant(devices)));
    const Sharding from = shardingOf(*in);
    const TensorView& like = *in;
    const bool is_filled = all != simplify(n);
    if (is_filled) in = appendOp(filledUp(in, b, program_.sub(all, n)), like, from);

    // [.., b, ..] -> [.., d, b / d, ..] -> [d, a, ..]
    const size_t rank = shapeOf(*in).size();
    std::vector<std::optional<size_t>> cut(rank + 1);
    for (size_t i = 0; i < cut.size(); ++i) cut[i] = i < b ? std::optional(i) : std::optional(i - 1);
    cut[b] = std::nullopt;
    TensorView* blocks = appendView(reshape(in, cutShape(*in, b, devices, target.chunk)), like, withAxes(from, cut));
    const size_t a = axisOf(shardingOf(*blocks).uses[dimension]);
    std::vector<int64_t> front = {static_cast<int64_t>(b), static_cast<int64_t>(a)};
    for (size_t i = 0; i <= rank; ++i) {
      if (i != b && i != a) front.push_back(static_cast<int64_t>(i));
    }
    TensorView* sent = appendOp(permute(blocks, front), like, withAxes(shardingOf(*blocks), orderOf(front)));

    Sharding exchanged = shardingOf(*sent);
    exchanged.uses[dimension] = {.form = Form::Chunk, .parts = {.axis = 0, .chunk = program_.constant(1)}};
    TensorView* received = resultLike(*sent, exchanged, memoryOrder(*sent));
    post(CommunicationType::AllToAll, sent, received, teamOf(step.to.mesh, step.to.mesh.devices[0], dimension));

    std::vector<int64_t> back(front.size());
    for (size_t i = 0; i < front.size(); ++i) back[static_cast<size_t>(front[i])] = static_cast<int64_t>(i);
    TensorView* unpacked = appendView(permute(received, back), like, withAxes(exchanged, orderOf(back)));
    Sharding joined = step.to;
    joined.uses[dimension].parts = evenParts(*in, target.axis, devices);
    TensorView* out = appendView(reshape(unpacked, joinedShape(*in)), like, is_filled ? joined : step.to);
    if (is_filled) out = appendView(tokamak::slice(out, static_cast<int64_t>(b), 0, n), like, step.to);
    if (wanted != nullptr) appendSet(out, wanted);
    return wanted != nullptr ? wanted : out;
  }

  static bool isEmpty(const TensorView& tensor) {
    return std::ranges::any_of(shapeOf(tensor),
                               [](const IterDomain* axis) { return axis->visibleExtent()->isConstantInt(0); });
  }

  // Without elements there is nothing to pack, and no reshape tells which axes would become which.
  TensorView* exchangeNothing(const ReshardingStep& step, TensorView* in, TensorView* wanted) {
    TensorView* out = resultFor(wanted, *in, step.to, memoryOrder(*in));
    post(CommunicationType::AllToAll, in, out, teamOf(step.to.mesh, step.to.mesh.devices[0], step.dimension));
    return out;
  }

  TensorView* filledUp(TensorView* in, size_t axis, Scalar* by) {
    std::vector<Scalar*> widths(2 * shapeOf(*in).size(), program_.constant(0));
    widths[2 * axis + 1] = simplify(by);
    return pad(in, widths, in->dtype() == DataType::Bool ? Operand(false) : Operand(0));
  }

  std::vector<Scalar*> joinedShape(const TensorView& tensor) const {
    std::vector<Scalar*> shape;
    for (const IterDomain* axis : shapeOf(tensor)) shape.push_back(axis->visibleExtent());
    return shape;
  }

  std::vector<Scalar*> cutShape(const TensorView& tensor, size_t axis, int64_t devices, Scalar* chunk) {
    std::vector<Scalar*> shape = joinedShape(tensor);
    shape[axis] = chunk;
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), program_.constant(devices));
    return shape;
  }

  static std::vector<std::optional<size_t>> orderOf(const std::vector<int64_t>& axes) {
    std::vector<std::optional<size_t>> order;
    for (const int64_t axis : axes) order.emplace_back(static_cast<size_t>(axis));
    return order;
  }

  HostIrContainer& program_;
  const ReshardingOptions& options_;
  BufferRoots roots_;
  Block block_;
  std::set<const TensorView*> allocated_;  // by this pass
  std::map<const TensorView*, SliceOf> slices_;
  std::set<const TensorView*> of_one_rank_;  // views that are sent or received without them
  int64_t loops_around_ = 0;                 // the statement that is lowered
  Scalar* index_ = nullptr;                  // of the innermost of these
  int64_t next_number_ = 0;
};

}  // namespace

void lowerReshardings(HostIrContainer& program, const ReshardingOptions& options) {
  bool has_any = false;
  forEachStatement(program.topLevel(), [&](const Expr& expr) {
    const auto* set = expr.as<LoadStoreOp>();
    has_any = has_any || (set != nullptr && !set->in->mesh().empty());
  });
  if (!has_any) return;
  Block lowered = ReshardingLowering(program, options).run();
  if (lowered.exprs == program.topLevel().exprs) return;
  program.setTopLevel(std::move(lowered));
  placeWaits(program);
}

}  // namespace tokamak
