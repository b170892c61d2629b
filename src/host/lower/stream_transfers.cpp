#include "host/lower/stream_transfers.h"

#include <algorithm>
#include <utility>

#include "analysis/bind_shape.h"
#include "analysis/device_mesh.h"
#include "base/require.h"
#include "host/ir/restrict_op.h"
#include "host/lower/stream_scalars.h"
#include "ir/ops/host/allocate.h"
#include "ir/ops/host/collective_permute.h"
#include "ir/ops/host/communication.h"
#include "ir/ops/host/end_coalescing.h"
#include "ir/ops/host/hir_alias_select.h"
#include "ir/ops/host/hir_alias_slice.h"
#include "ir/ops/host/if_then_else.h"
#include "ir/ops/host/post_on_stream.h"
#include "ir/ops/host/start_coalescing.h"
#include "ir/ops/host/synchronize.h"
#include "ir/ops/host/wait.h"
#include "ir/ops/math/pointwise_op.h"
#include "schedule/shard.h"
#include "symbolic/scalar_simplifier.h"

namespace tokamak {

namespace {

using Form = MeshUse::Form;

// The only dimension of the mesh in which they differ.
std::optional<size_t> changedDimension(const Sharding& from, const Sharding& to) {
  if (from.mesh.empty() || from.mesh != to.mesh) return std::nullopt;
  std::optional<size_t> changed;
  for (size_t i = 0; i < from.uses.size(); ++i) {
    if (from.uses[i] == to.uses[i]) continue;
    if (changed) return std::nullopt;
    changed = i;
  }
  return changed;
}

// Whether slices along the axis are ranges of the tensor's memory: it lies in the order of its axes, and those before
// this one have one index on each device.
bool hasDenseParts(const TensorView& tensor, const Sharding& sharding, int64_t axis) {
  const Axes shape = shapeOf(tensor);
  const auto isExpanded = [](const IterDomain* own) { return own->expandedExtent() != nullptr; };
  if (std::ranges::any_of(shape, isExpanded) || !std::ranges::is_sorted(memoryOrder(tensor))) return false;
  for (int64_t i = 0; i < axis; ++i) {
    const int64_t dimension = sharding.dimensionOf(i);
    const Scalar* extent = dimension < 0 ? shape[static_cast<size_t>(i)]->visibleExtent()
                                         : sharding.uses[static_cast<size_t>(dimension)].parts.chunk;
    if (!extent->isConstantInt(1)) return false;
  }
  return true;
}

// Whether the iterations of a loop along `axis` have the parts of that many devices.
bool isDealtOutAlike(HostIrContainer& program, const StreamAxis& axis, const MarkedParts& parts, int64_t devices) {
  if (axis.form == StreamAxis::Form::Merged) return false;
  const Scalar* chunk = axis.chunk == nullptr ? program.constant(1) : simplify(axis.chunk);
  return chunk == parts.chunk && simplify(axis.loop_axis->extent())->isConstantInt(devices);
}

Scalar* chunkOf(const StreamAxis& axis) { return axis.form == StreamAxis::Form::Chunk ? axis.chunk : nullptr; }

FunctionId functionOf(ReductionKind reduction) {
  switch (reduction) {
    case ReductionKind::Sum: return FunctionId::add;
    case ReductionKind::Prod: return FunctionId::mul;
    case ReductionKind::Max: return FunctionId::maximum;
    case ReductionKind::Min: return FunctionId::minimum;
  }
  TK_RAISE(Internal, "a reduction without a kind");
}

}  // namespace

std::optional<StreamTransfer> gatherOf(HostIrContainer& program, const Expr& expr, const StreamAxis& axis) {
  const auto* set = expr.as<LoadStoreOp>();
  if (set == nullptr) return std::nullopt;
  const Sharding from = shardingOf(*set->in);
  const Sharding to = shardingOf(*set->out);
  const auto dimension = changedDimension(from, to);
  if (!dimension || from.uses[*dimension].form != Form::Chunk || !to.uses[*dimension].isWhole()) return std::nullopt;
  const MarkedParts& parts = from.uses[*dimension].parts;
  const bool is_alike = parts.axis == visibleAxisNumber(*set->out, *axis.logical) &&
                        isDealtOutAlike(program, axis, parts, from.mesh.shape[*dimension]) &&
                        hasDenseParts(*set->out, to, parts.axis);
  const auto position = is_alike ? meshPosition(program, from.mesh, *dimension) : std::nullopt;
  if (!position) return std::nullopt;
  return StreamTransfer{
      .kind = StreamTransfer::Kind::Gather, .dimension = *dimension, .axis = parts.axis, .position = *position};
}

std::optional<StreamTransfer> reduceScatterOf(HostIrContainer& program, const Expr& expr, const StreamAxis& axis) {
  const auto* set = expr.as<LoadStoreOp>();
  if (set == nullptr) return std::nullopt;
  const Sharding from = shardingOf(*set->in);
  const Sharding to = shardingOf(*set->out);
  const auto dimension = changedDimension(from, to);
  if (!dimension || from.uses[*dimension].form != Form::Partial || to.uses[*dimension].form != Form::Chunk)
    return std::nullopt;
  const MarkedParts& parts = to.uses[*dimension].parts;
  const bool is_alike = parts.axis == visibleAxisNumber(*set->in, *axis.logical) &&
                        isDealtOutAlike(program, axis, parts, from.mesh.shape[*dimension]) &&
                        hasDenseParts(*set->in, from, parts.axis);
  const auto position = is_alike ? meshPosition(program, from.mesh, *dimension) : std::nullopt;
  if (!position) return std::nullopt;
  return StreamTransfer{.kind = StreamTransfer::Kind::ReduceScatter,
                        .dimension = *dimension,
                        .axis = parts.axis,
                        .reduction = from.uses[*dimension].reduction,
                        .position = *position};
}

std::optional<StreamTransfer> allToAllOf(HostIrContainer& program, const Expr& expr, const StreamAxis& axis) {
  const auto* set = expr.as<LoadStoreOp>();
  if (set == nullptr) return std::nullopt;
  const Sharding from = shardingOf(*set->in);
  const Sharding to = shardingOf(*set->out);
  const auto dimension = changedDimension(from, to);
  if (!dimension || from.uses[*dimension].form != Form::Chunk || to.uses[*dimension].form != Form::Chunk)
    return std::nullopt;
  const MarkedParts& parts = to.uses[*dimension].parts;
  const MarkedParts& given = from.uses[*dimension].parts;
  const bool is_alike = parts.axis == visibleAxisNumber(*set->in, *axis.logical) && parts.axis != given.axis &&
                        isDealtOutAlike(program, axis, parts, from.mesh.shape[*dimension]) &&
                        hasDenseParts(*set->in, from, parts.axis) && hasDenseParts(*set->out, to, given.axis);
  const auto position = is_alike ? meshPosition(program, from.mesh, *dimension) : std::nullopt;
  if (!position) return std::nullopt;
  return StreamTransfer{.kind = StreamTransfer::Kind::AllToAll,
                        .dimension = *dimension,
                        .axis = parts.axis,
                        .given = given,
                        .position = *position};
}

int64_t firstFreeNumber(const HostIrContainer& program) {
  int64_t next = 0;
  const auto take = [&](int64_t number) { next = std::max(next, number + 1); };
  forEachStatement(program.topLevel(), [&](const Expr& expr) {
    if (const auto* op = expr.as<Communication>()) take(op->number);
    if (const auto* op = expr.as<P2pCommunication>()) take(op->number);
    if (const auto* op = expr.as<CollectivePermute>()) take(op->number);
    if (const auto* op = expr.as<EndCoalescing>()) take(op->number);
  });
  return next;
}

Scalar* TransferWriter::partIndex() {
  Scalar* const moved = program_.add(program_.add(loop_.position.own, loop_index_), constant(shift()));
  return program_.mod(moved, constant(loop_.position.devices));
}

// partIndex() of the iteration before.
Scalar* TransferWriter::indexBefore() {
  const int64_t devices = loop_.position.devices;
  Scalar* const moved = program_.add(program_.add(loop_.position.own, loop_index_), constant(devices + shift() - 1));
  return program_.mod(moved, constant(devices));
}

// So far from this rank's, 0 <= distance < devices.
Scalar* TransferWriter::positionAt(int64_t distance) {
  Scalar* const moved = program_.add(loop_.position.own, constant(distance));
  return program_.mod(moved, constant(loop_.position.devices));
}

int64_t TransferWriter::post(P2pType type, TensorView& buffer, Scalar* peer, List& list) {
  const int64_t number = next_number_++;
  list.push_back(program_.appendOp(
      P2pCommunication{.buffer = &buffer, .type = type, .peer = peer, .backend = backend_, .number = number}));
  return number;
}

StreamVal* TransferWriter::workerBefore() {
  Scalar* const workers = program_.numberOfStreams();
  Scalar* const before = program_.add(loop_index_, program_.sub(workers, constant(1)));
  const std::vector<Scalar*> operands = {before, workers};
  return program_.stream(program_.rawScalar(ScalarOp::Mod, DataType::I64, operands));
}

void TransferWriter::wait(int64_t number, List& list) { list.push_back(program_.appendOp(Wait{number})); }

void TransferWriter::choose(Scalar* predicate, List then_body, List else_body, List& list) {
  IfThenElse choice{.predicate = predicate, .then_body = {}, .else_body = {}};
  choice.then_body.exprs = std::move(then_body);
  choice.else_body.exprs = std::move(else_body);
  list.push_back(program_.appendOp(std::move(choice)));
}

// --- parts ---

// The part of the tensor that position `index` has: this index, or a chunk. Nothing else shares the view.
TensorView& TransferWriter::viewOf(TensorView& tensor, int64_t visible_axis, Scalar* chunk, Scalar* index, List& list) {
  const IterDomain& along = *shapeOf(tensor)[static_cast<size_t>(visible_axis)];
  const int64_t axis = logicalAxisNumber(tensor, along);
  if (chunk == nullptr) {
    TensorView* view = makeSliceTensor(program_, tensor, axis, nullptr);
    list.push_back(program_.appendOp(HirAliasSelect{view, &tensor, axis, index}));
    return *view;
  }
  // (As shardRange() says it.)
  Scalar* const n = along.visibleExtent();
  Scalar* const start = program_.scalar(ScalarOp::Min, program_.mul(chunk, index), n);
  Scalar* const extent = program_.scalar(ScalarOp::Min, chunk, program_.sub(n, start));
  TensorView* view = makeSliceTensor(program_, tensor, axis, extent);
  list.push_back(program_.appendOp(HirAliasSlice{view, &tensor, axis, start, program_.add(start, extent)}));
  return *view;
}

// Whether the tensor has memory of its own, in the order of its axes. Inputs are looked at when they are sent.
bool TransferWriter::isSentAsItLies(TensorView& tensor) const {
  if (!std::ranges::is_sorted(memoryOrder(tensor))) return false;
  if (program_.isInput(&tensor) || program_.isOutput(&tensor)) return true;
  const Expr* made = tensor.definition();
  return made != nullptr && (made->list() == OpList::Math || made->is<PostOnStream>()) && !made->is<LoadStoreOp>() &&
         !program_.isView(&tensor);
}

// Memory before the loop, for what `like` has.
TensorView& TransferWriter::bufferLike(const TensorView& like, const Sharding& sharding) {
  Axes axes;
  for (const IterDomain* axis : shapeOf(like)) {
    const bool is_broadcast = axis->isBroadcast();
    axes.push_back(program_.axis({.kind = is_broadcast ? IterKind::Broadcast : IterKind::Iteration,
                                  .extent = is_broadcast ? axis->extent() : axis->visibleExtent()}));
  }
  TensorView* buffer = program_.tensor(like.dtype(), std::move(axes));
  buffer->setMemoryType(MemoryType::Global);
  buffer->setMemoryKind(like.memoryKind());
  shard(*buffer, sharding);
  before_.push_back(program_.appendOp(Allocate{buffer, elementCount(program_, *buffer), false, false}));
  return *buffer;
}

// A copy of the rank's own part, made once.
TensorView& TransferWriter::packed(TensorView& own) {
  TensorView& copy = bufferLike(own, shardingOf(own));
  before_.push_back(program_.appendOp(LoadStoreOp{.out = &copy, .in = &own}));
  return copy;
}

// --- transfers ---

std::vector<Expr*> TransferWriter::gather(const LoadStoreOp& set, const StreamTransfer& transfer,
                                          const StreamAxis& axis, TensorView& part) {
  List list;
  const bool is_packed = !isSentAsItLies(*set.in);
  TensorView& view = viewOf(*set.in, transfer.axis, chunkOf(axis), loop_.position.own, is_packed ? before_ : list);
  TensorView& own = is_packed ? packed(view) : view;
  Scalar* const owner = partIndex();
  if (loop_.transfers == StreamTransfers::Permute) {
    permute({.sent = own, .to = oppositePosition(), .received = part, .from = owner}, list);
    return list;
  }
  const List copy = {program_.appendOp(LoadStoreOp{.out = &part, .in = &own})};
  const int64_t first_own = (loop_.position.devices - shift()) % loop_.position.devices;
  List others;
  const bool is_ring = loop_.transfers == StreamTransfers::Ring && !loop_.reduces;
  if (is_ring)
    passAlong(own, part, viewOf(*set.out, transfer.axis, chunkOf(axis), indexBefore(), list), others);
  else
    exchange({.sent = own, .to = oppositePosition(), .received = part, .from = owner}, others);
  choose(isIteration(first_own), copy, std::move(others), list);
  return list;
}

Scalar* TransferWriter::isIteration(int64_t number) {
  return program_.scalar(ScalarOp::Equal, loop_index_, constant(number));
}

// As far on the other side as partIndex().
Scalar* TransferWriter::oppositePosition() {
  const int64_t devices = loop_.position.devices;
  Scalar* const behind = program_.sub(program_.add(loop_.position.own, constant(2 * devices - shift())), loop_index_);
  return program_.mod(behind, constant(devices));
}

void TransferWriter::permute(const Exchange& parts, List& list) {
  const DeviceMesh& mesh = parts.sent.mesh();
  const int64_t number = next_number_++;
  list.push_back(program_.appendOp(CollectivePermute{.out = &parts.received,
                                                     .in = &parts.sent,
                                                     .team = teamOf(mesh, mesh.devices[0], loop_.position.dimension),
                                                     .send_peer = loop_.position.rankAt(program_, parts.to),
                                                     .recv_peer = loop_.position.rankAt(program_, parts.from),
                                                     .backend = backend_,
                                                     .number = number}));
  wait(number, list);
}

// As one work; alone in loops that reduce, whose sums are sent by several workers, in an order that these make.
void TransferWriter::exchange(const Exchange& parts, List& list) {
  const bool is_together = !loop_.reduces;
  if (is_together) list.push_back(program_.appendOp(StartCoalescing{}));
  const int64_t received = post(P2pType::Recv, parts.received, loop_.position.rankAt(program_, parts.from), list);
  const int64_t sent = post(P2pType::Send, parts.sent, loop_.position.rankAt(program_, parts.to), list);
  if (is_together) {
    const int64_t number = next_number_++;
    list.push_back(program_.appendOp(EndCoalescing{number}));
    wait(number, list);
  } else {
    wait(received, list);
    wait(sent, list);
  }
}

// Receives the part from the next rank, and sends the one before to the rank before: the own one at first. What was
// received by the work before is sent by this one, as a team's works run in order.
void TransferWriter::passAlong(TensorView& own, TensorView& part, TensorView& before, List& list) {
  Scalar* const next = positionAt(1);
  Scalar* const last = positionAt(loop_.position.devices - 1);
  List first;
  exchange({.sent = own, .to = last, .received = part, .from = next}, first);
  List later;
  exchange({.sent = before, .to = last, .received = part, .from = next}, later);
  choose(isIteration(1), std::move(first), std::move(later), list);
}

// Each iteration has the part of the result that another rank will have, of what this rank has, and sends it there.
std::vector<Expr*> TransferWriter::allToAll(const LoadStoreOp& set, const StreamTransfer& transfer,
                                            const StreamAxis& axis) {
  List list;
  const MarkedParts& given = transfer.given;
  Scalar* const chunk = chunkOf(axis);
  Scalar* const given_chunk = given.cuts.empty() ? nullptr : given.chunk;
  // (The number of an axis where one before it may be gone.)
  const auto without = [](int64_t number, int64_t other, const Scalar* kept) {
    return number - (kept == nullptr && other < number ? 1 : 0);
  };
  Scalar* const receiver = partIndex();
  Scalar* const sender = oppositePosition();
  TensorView& part = viewOf(*set.in, transfer.axis, chunk, receiver, list);
  TensorView& sent = viewOf(part, without(given.axis, transfer.axis, chunk), given_chunk, loop_.position.own, list);
  TensorView& place = viewOf(*set.out, given.axis, given_chunk, sender, list);
  TensorView& received =
      viewOf(place, without(transfer.axis, given.axis, given_chunk), chunk, loop_.position.own, list);
  const Exchange parts = {.sent = sent, .to = receiver, .received = received, .from = sender};
  if (loop_.transfers == StreamTransfers::Permute) {
    permute(parts, list);
    return list;
  }
  List others;
  exchange(parts, others);
  choose(isIteration(0), {program_.appendOp(LoadStoreOp{.out = &received, .in = &sent})}, std::move(others), list);
  return list;
}

// A sum is taken in a buffer of its own, as a tensor of terms has their reduction axes.
std::vector<Expr*> TransferWriter::reduceScatter(const LoadStoreOp& set, const StreamTransfer& transfer,
                                                 const StreamAxis& axis) {
  List list;
  Sharding sharding = shardingOf(*set.in);
  sharding.uses[transfer.dimension] = {};
  TensorView& sums = bufferLike(*set.in, sharding);
  TensorView& term = viewOf(*set.in, transfer.axis, chunkOf(axis), partIndex(), list);
  term.setPartials({});  // what a rank sees of the terms is its own
  TensorView& sum = viewOf(sums, transfer.axis, chunkOf(axis), partIndex(), list);
  TensorView& before = viewOf(sums, transfer.axis, chunkOf(axis), indexBefore(), list);
  const List first = {program_.appendOp(LoadStoreOp{.out = &sum, .in = &term})};
  // The sum before was taken on another worker.
  List add = {program_.appendOp(Synchronize{workerBefore()})};
  exchange({.sent = before, .to = positionAt(loop_.position.devices - 1), .received = sum, .from = positionAt(1)}, add);
  add.push_back(
      program_.appendOp(PointwiseOp{.out = &sum, .function = functionOf(transfer.reduction), .ins = {&sum, &term}}));
  choose(isIteration(0), first, std::move(add), list);
  // That of the last iteration is of the rank's own part.
  TensorView& own = viewOf(sums, transfer.axis, chunkOf(axis), loop_.position.own, after_);
  TensorView& result = viewOf(*set.out, transfer.axis, chunkOf(axis), loop_.position.own, after_);
  after_.push_back(program_.appendOp(LoadStoreOp{.out = &result, .in = &own}));
  return list;
}

}  // namespace tokamak
