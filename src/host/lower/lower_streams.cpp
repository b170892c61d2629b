#include "host/lower/lower_streams.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "analysis/domain_graph.h"
#include "analysis/sharding.h"
#include "base/require.h"
#include "base/text.h"
#include "compute/axis_map.h"
#include "host/ir/extent_demands.h"
#include "host/ir/restrict_op.h"
#include "host/lower/apart_operands.h"
#include "host/lower/dropped_axes.h"
#include "host/lower/moved_parts.h"
#include "host/lower/rank_parts.h"
#include "host/lower/reduced_streams.h"
#include "host/lower/segment_slices.h"
#include "host/lower/stream_axis.h"
#include "host/lower/stream_scalars.h"
#include "host/lower/stream_transfers.h"
#include "ir/ops/host/allocate.h"
#include "ir/ops/host/for_loop.h"
#include "ir/ops/host/get_current_stream.h"
#include "ir/ops/host/hir_alias_select.h"
#include "ir/ops/host/hir_alias_slice.h"
#include "ir/ops/host/set_current_stream.h"
#include "ir/ops/host/synchronize.h"
#include "ir/ops/math/cat_op.h"
#include "ir/ops/math/load_store_op.h"
#include "ir/ops/math/pad_op.h"
#include "ir/ops/math/reshape_op.h"
#include "symbolic/scalar_simplifier.h"

namespace tokamak {

namespace {

// A statement of a loop.
struct StreamStatement {
  const Expr* expr = nullptr;
  StreamAxis axis;
  std::optional<StreamTransfer> transfer = std::nullopt;
  bool is_first = false;  // of its loop
};

// A loop under construction.
struct StreamLoop {
  StreamAxis axis;              // of the first statement's output
  IterDomain* shown = nullptr;  // the axis that the text names
  bool communicates = false;
  const DeviceMesh* mesh = nullptr;        // likewise
  std::vector<TensorView*> outputs;        // in body order, of which iterations write slices
  std::vector<StreamStatement> recorded;   // whose slices are not made yet
  Scalar* index = nullptr;                 // of the part that an iteration has; null until it is known
  std::unique_ptr<TransferWriter> writer;  // of a loop with transfers
  std::vector<Expr*> body;
  std::vector<Expr*> behind;                     // what the caller's stream does of an iteration, in their order
  std::unordered_set<const TensorView*> totals;  // which it writes
  std::unordered_map<const TensorView*, std::vector<const IterDomain*>>
      streamed;                                // tensors made in the body -> their streamed logical axes
  std::unordered_set<const TensorView*> read;  // by the body
  std::vector<Expr*> waiting;                  // statements after the loop that may come before it
  std::map<std::tuple<int64_t, const IterDomain*, const Scalar*, const Scalar*>, TensorView*>
      views;  // (tensor, axis, index or start, stop where the axis is kept) -> slice made already
};

class StreamLowering {
 public:
  StreamLowering(HostIrContainer& program, StreamSync sync, StreamTransfers transfers)
      : program_(program),
        sync_(sync),
        transfers_(transfers),
        graph_(program),
        index_(streamIndex(program)),
        next_number_(firstFreeNumber(program)) {}

  // Marked results of ops that are computed whole.
  std::vector<TensorView*> wholes() {
    std::vector<TensorView*> found;
    std::unordered_set<const TensorView*> computed;  // whole, or to be
    for (const Expr* expr : program_.topLevel().exprs) {
      const std::vector<TensorView*> outputs = tensorsOf(expr->outputs());
      if (findReducedStream(*expr)) continue;
      const std::optional<StreamAxis> axis = outputAxis(*expr);
      if (axis && !isComputedWithOperands(*expr, *axis, computed)) continue;
      computed.insert(outputs.begin(), outputs.end());
      if (axis || markedAxis(*expr)) found.insert(found.end(), outputs.begin(), outputs.end());
    }
    return found;
  }

  Block run() {
    for (Expr* expr : program_.topLevel().exprs) {
      if (const std::optional<StreamAxis> reduced = findReducedStream(*expr)) {
        addReduction(*expr, *reduced);
        continue;
      }
      std::optional<StreamAxis> axis = outputAxis(*expr);
      const std::optional<StreamTransfer> end = axis ? std::nullopt : endOfLoop(*expr);
      if (end) {
        addEnd(*expr, *end);
        continue;
      }
      if (!axis) axis = axisOfTermsInLoop(*expr);
      if (!axis) {
        addOutsideOfLoops(*expr);
        continue;
      }
      if (loop_ && !joins(*expr, *axis)) close();
      // Independent statements between two statements of one loop move before the loop.
      moveWaiting();
      if (!loop_) open(*axis, *asTensor(expr->output(0)));
      addStatement(*expr, *axis);
    }
    close();
    requireInputsCovered();
    return std::move(result_);
  }

 private:
  void open(const StreamAxis& axis, const TensorView& output) {
    loop_.emplace();
    loop_->axis = axis;
    // (No statement has an axis that is reduced.)
    loop_->shown = axis.logical->isReduction() ? nullptr : axis.loop_axis;
    loop_->mesh = &output.mesh();
    if (transfers_ == StreamTransfers::None) loop_->index = index_;
  }

  // The common Stream axis of the statement's outputs. None for an op that cannot be sliced: it is computed whole,
  // before the loop that reads it.
  std::optional<StreamAxis> outputAxis(const Expr& expr) {
    const std::optional<StreamAxis> found = markedAxis(expr);
    const bool is_dealt_out =
        found && (expr.list() != OpList::Math || gathered(expr, *found) || canBeDealtOut(expr, *found));
    return is_dealt_out ? found : std::nullopt;
  }

  // Whether the op only moves elements of whole tensors: then it is computed with them, not in each iteration.
  bool isComputedWithOperands(const Expr& expr, const StreamAxis& axis,
                              const std::unordered_set<const TensorView*>& whole) {
    const auto isWhole = [&](const TensorView* tensor) { return whole.contains(tensor); };
    const auto isGiven = [&](const TensorView* tensor) { return program_.isOutput(tensor); };
    if (!std::ranges::all_of(tensorsOf(expr.inputs()), isWhole) ||
        std::ranges::any_of(tensorsOf(expr.outputs()), isGiven))
      return false;
    if (!expr.is<ReshapeOp>() && !expr.is<PadOp>() && !expr.is<CatOp>()) return false;
    const Expr& apart = apartOf(expr).expr();
    return std::ranges::any_of(std::array{axis.logical, axis.inner}, [&](const IterDomain* logical) {
      if (logical == nullptr) return false;
      const AxisRange part{visibleAxisNumber(*asTensor(apart.output(0)), *logical), index_, program_.constant(1)};
      return movedParts(apart, part, chunkOf(axis)).has_value();
    });
  }

  std::optional<StreamAxis> markedAxis(const Expr& expr) {
    if (expr.list() != OpList::Math && !expr.is<PostOnStream>()) return std::nullopt;
    std::optional<StreamAxis> found;
    const std::vector<TensorView*> outputs = tensorsOf(expr.outputs());
    for (const TensorView* output : outputs) {
      const std::optional<StreamAxis> axis = findStreamAxis(*output);
      if (!axis) continue;
      TK_REQUIRE(!found || areTogether(found->logical, axis->logical), HostProgram,
                 "Stream on {}: another output of {} is streamed along an axis that does not map to it",
                 describeAxis(*output, *axis->loop_axis), callName(expr));
      // (An expanded axis is stored once, but the caller's memory may have all its elements.)
      TK_REQUIRE(!program_.isOutput(output) || axis->logical->expandedExtent() == nullptr, HostProgram,
                 "Stream on {}: it repeats one element of an output, so there is nothing to deal out",
                 describeAxis(*output, *axis->loop_axis));
      if (!found) found = axis;
    }
    return found;
  }

  const ApartOperands& apartOf(const Expr& expr) {
    const auto found = apart_.find(&expr);
    return found != apart_.end() ? found->second : apart_.emplace(&expr, ApartOperands(program_, expr)).first->second;
  }

  // Whether axes of the operand may be missing in the result, as one of no elements.
  static bool isReshapeOfNothing(const Expr& expr) {
    return expr.is<ReshapeOp>() && std::ranges::any_of(shapeOf(*asTensor(expr.input(0))), [](const IterDomain* axis) {
             return axis->visibleExtent()->isConstantInt(0);
           });
  }

  // Whether the op can be done slice by slice.
  bool canBeDealtOut(const Expr& expr, const StreamAxis& axis) {
    if (isReshapeOfNothing(expr)) return false;
    const ApartOperands& apart = apartOf(expr);
    const AxisMap map(apart.expr());
    for (const IterDomain* logical : {axis.logical, axis.inner}) {
      if (logical == nullptr) continue;
      const int64_t number = visibleAxisNumber(*map.rule().result, *logical);
      if (isCommunicatedWhole(expr, map, axis, number) || !canBeDealtOut(apart, map, axis, number)) return false;
    }
    return true;
  }

  // Whether the op is a resharding whose slices are not sent one by one: devices have other parts of the axis in the
  // operand than iterations, or the ranks change, of which some would be in the loop for one side of it alone.
  static bool isCommunicatedWhole(const Expr& expr, const AxisMap& map, const StreamAxis& axis, int64_t number) {
    if (!isResharding(expr)) return false;
    const TensorView& operand = *asTensor(expr.input(0));
    if (operand.mesh() != asTensor(expr.output(0))->mesh()) return true;
    const OperandCoordinateUse use = map.use(operand, number);
    if (use.use != CoordinateUse::Identity) return false;
    const int64_t dimension = shardingOf(operand).dimensionOf(use.axes[0]);
    return dimension >= 0 && !hasPartsOfRanks(axis, operand, static_cast<size_t>(dimension));
  }

  // Terms that the open loop makes, along the axis of which each rank gets its part of the sum: iteration i reduces to
  // the rank that has the part of i. The axis of the result.
  std::optional<StreamAxis> axisOfTermsInLoop(const Expr& expr) {
    if (!loop_ || !expr.is<LoadStoreOp>()) return std::nullopt;
    if (!loop_->streamed.contains(program_.resolveAlias(asTensor(expr.input(0))))) return std::nullopt;
    const std::optional<StreamAxis> axis = axisOfReceivers(expr);
    return axis && joins(expr, *axis) ? axis : std::nullopt;
  }

  bool canBeDealtOut(const ApartOperands& apart, const AxisMap& map, const StreamAxis& axis, int64_t number) {
    const Expr& expr = apart.expr();
    if (movedParts(expr, {number, index_, program_.constant(1)}, chunkOf(axis))) return true;
    const std::vector<std::vector<OperandAxis>> along = operandAxesAlong(expr, number);
    for (size_t i = 0; i < expr.inputs().size(); ++i) {
      TensorView* operand = asTensor(expr.input(i));
      if (operand == nullptr) continue;
      const OperandCoordinateUse use = map.use(*operand, number);
      // (No op reads a diagonal.)
      TK_CHECK(use.axes.size() < 2, "Stream on {}: {} reads {} with two axes ({}) along the loop; a slice has one",
               describeAxis(*map.rule().result, *axis.loop_axis), callName(expr), toString(*apart.originalOf(operand)),
               joined(use.axes));
      const Axes shape = shapeOf(*operand);
      const bool shows_other_part = std::ranges::any_of(along[i], [&](const OperandAxis& own) {
        return !own.is_whole && shape[static_cast<size_t>(own.axis)]->expandedExtent() != nullptr;
      });
      if (use.use == CoordinateUse::Other || (use.use == CoordinateUse::NotUsed && shows_other_part)) return false;
    }
    const bool depends = map.dependsOnPosition(number);
    // (An op with an origin, iota, has one axis, which is not merged.)
    TK_CHECK(axis.form != StreamAxis::Form::Merged || !depends || !hasOrigin(expr),
             "Stream on {}: {} depends on positions along it, which a merged axis does not tell",
             describeAxis(*map.rule().result, *axis.loop_axis), callName(expr));
    return !depends || hasOrigin(expr);
  }

  Scalar& chunkOf(const StreamAxis& axis) { return axis.chunk != nullptr ? *axis.chunk : *program_.constant(1); }

  static bool hasOrigin(const Expr& expr) {
    const Fields fields = fieldsOf(expr);
    return std::ranges::any_of(fields, [](const Field& field) { return field.relation == AxisRelation::Origin; });
  }

  // (What is reduced maps to axes that have one element for all of its own, too.)
  bool areTogether(const IterDomain* a, const IterDomain* b) const {
    if (a == b) return true;
    const bool is_reduced = a->isReduction() || b->isReduction();
    return a->isBroadcast() == b->isBroadcast() &&
           graph_.mapsTo(*a, *b, is_reduced ? AxisMapping::Reduction : AxisMapping::Exact);
  }

  bool isSameLoop(const StreamAxis& a, const StreamAxis& b) {
    return a.form == b.form && a.chunk == b.chunk && a.may_pass_end == b.may_pass_end &&
           areTogether(a.logical, b.logical) && (a.inner == nullptr || areTogether(a.inner, b.inner));
  }

  static bool hasAsManyIterations(const StreamAxis& a, const StreamAxis& b) {
    return a.chunk == nullptr || simplify(a.loop_axis->extent()) == simplify(b.loop_axis->extent());
  }

  // Whether the statement may join the open loop: its axis maps to the loop's, and it reads results of the body in
  // their own iteration only.
  bool joins(const Expr& expr, const StreamAxis& axis) {
    if (!isSameLoop(loop_->axis, axis)) return false;
    // (Ops have no indices behind their last iteration. A resharding would have a root there that is no rank.)
    if (isResharding(expr) && !hasAsManyIterations(loop_->axis, axis)) return false;
    if (*loop_->mesh != asTensor(expr.output(0))->mesh()) return false;
    if (!fitsTransfers({.expr = &expr, .axis = axis, .transfer = gathered(expr, axis)})) return false;
    for (size_t i = 0; i < expr.inputs().size(); ++i) {
      TensorView* operand = asTensor(expr.input(i));
      if (operand == nullptr) continue;
      if (loop_->totals.contains(program_.resolveAlias(operand))) return false;
      const auto made = loop_->streamed.find(program_.resolveAlias(operand));
      if (made != loop_->streamed.end() && streamedAxesOf(expr, i, axis) != made->second) return false;
    }
    return true;
  }

  // The logical axes of operand `i` that the loop's index runs over when the statement is streamed along `axis`.
  std::vector<const IterDomain*> streamedAxesOf(const Expr& expr, size_t i, const StreamAxis& axis) {
    const Axes shape = shapeOf(*asTensor(expr.input(i)));
    std::vector<const IterDomain*> axes;
    if (axis.logical->isReduction()) {
      const int64_t reduced = logicalAxisNumber(*asTensor(expr.output(0)), *axis.logical);
      if (const auto own = operandAxesReduced(expr, reduced)[i]) axes.push_back(shape[static_cast<size_t>(*own)]);
      return axes;
    }
    if (const auto* post = expr.as<PostOnStream>()) {
      for (const auto part : {&StreamAxis::logical, &StreamAxis::inner}) {
        if (axis.*part == nullptr) continue;
        const SegmentSlices segment(*post, markedAxesOf(*post, part));
        if (segment.inputAxes()[i]) axes.push_back(shape[static_cast<size_t>(*segment.inputAxes()[i])]);
      }
      return axes;
    }
    const ApartOperands& apart = apartOf(expr);
    const AxisMap map(apart.expr());
    for (const IterDomain* logical : {axis.logical, axis.inner}) {
      if (logical == nullptr) continue;
      const OperandCoordinateUse use =
          map.use(*asTensor(apart.expr().input(i)), visibleAxisNumber(*map.rule().result, *logical));
      if (use.use == CoordinateUse::Identity) axes.push_back(shape[static_cast<size_t>(use.axes[0])]);
    }
    return axes;
  }

  // Adds a statement without a mark. It closes the open loop, unless it is independent of it.
  void addOutsideOfLoops(Expr& expr) {
    if (loop_ && !mayComeBefore(expr, *loop_)) close();
    (loop_ ? loop_->waiting : result_.exprs).push_back(&expr);
  }

  // Whether the statement writes nothing that the loop reads or writes, and reads nothing that the loop writes.
  bool mayComeBefore(const Expr& expr, const StreamLoop& loop) const {
    if (expr.list() != OpList::Math && !expr.is<PostOnStream>()) return false;
    const auto isWritten = [&](TensorView* tensor) { return loop.streamed.contains(program_.resolveAlias(tensor)); };
    const auto isUsed = [&](TensorView* tensor) {
      return isWritten(tensor) || loop.read.contains(program_.resolveAlias(tensor));
    };
    return std::ranges::none_of(tensorsOf(expr.inputs()), isWritten) &&
           std::ranges::none_of(tensorsOf(expr.outputs()), isUsed);
  }

  void moveWaiting() {
    if (!loop_) return;
    result_.exprs.insert(result_.exprs.end(), loop_->waiting.begin(), loop_->waiting.end());
    loop_->waiting.clear();
  }

  void addStatement(const Expr& expr, const StreamAxis& axis) {
    for (TensorView* operand : tensorsOf(expr.inputs())) loop_->read.insert(program_.resolveAlias(operand));
    keepDemands(expr, {});
    const StreamStatement statement = {
        .expr = &expr, .axis = axis, .transfer = gathered(expr, axis), .is_first = loop_->outputs.empty()};
    for (TensorView* output : tensorsOf(expr.outputs())) {
      loop_->outputs.push_back(output);
      const StreamAxis own = findStreamAxis(*output).value_or(axis);
      auto& axes = loop_->streamed[program_.resolveAlias(output)];
      axes = {own.logical};
      if (own.inner != nullptr) axes.push_back(own.inner);
    }
    addToBody(statement);
  }

  // What the loop exchanges says which part an iteration has: until that is known, statements are recorded.
  void addToBody(const StreamStatement& statement) {
    if (loop_->index != nullptr) return writeStatement(statement);
    loop_->recorded.push_back(statement);
  }

  // As loops with communications are recorded (tests/golden/ag_linear.*): what is gathered is an ordinary tensor, and
  // the loop runs over the axis of what is sent, if its first statement sends.
  void noteCommunication(const StreamStatement& statement) {
    const TensorView& operand = *asTensor(statement.expr->input(0));
    TensorView& result = *asTensor(statement.expr->output(0));
    const StreamAxis& axis = statement.axis;
    loop_->communicates = true;
    if (statement.is_first && axis.form == StreamAxis::Form::Index && axis.logical == axis.loop_axis) {
      IterDomain* const sent = shapeOf(operand)[static_cast<size_t>(visibleAxisNumber(result, *axis.logical))];
      const bool is_loop = std::ranges::find(operand.loop(), sent) != operand.loop().end();
      if (is_loop && sent->parallelType() == ParallelType::Serial) loop_->shown = sent;
    }
    const bool is_named = axis.loop_axis->isStream() && !program_.isOutput(&result);
    if (is_named) axis.loop_axis->parallelize(ParallelType::Serial);
  }

  // The loop adds up terms of what it reduces. They are added up in the same order on all ranks.
  void addReduction(const Expr& expr, const StreamAxis& axis) {
    if (loop_ && (hasTransfers() || !joins(expr, axis))) close();
    moveWaiting();
    if (!loop_) open(axis, *asTensor(expr.output(0)));
    writeRecorded();
    for (TensorView* operand : tensorsOf(expr.inputs())) loop_->read.insert(program_.resolveAlias(operand));
    ReducedStatement parts(program_, expr, axis);
    result_.exprs.push_back(parts.identity());
    keepDemands(parts.op(), {axis.logical->visibleExtent()});
    Part own = partOf(axis, index_, /*keeps_axis=*/true);
    own.is_range = true;
    const ApartOperands& apart = apartOf(parts.op());
    const std::vector<std::optional<int64_t>> along = operandAxesReduced(apart.expr(), parts.axis());
    AxisSlices slices;
    for (size_t i = 0; i < along.size(); ++i) {
      if (!along[i]) continue;
      TensorView* const operand = asTensor(apart.expr().input(i));
      TensorView& tensor = *apart.originalOf(operand);
      const IterDomain& cut = axisOf(tensor, *along[i]);
      slices[operand] = slice(tensor, cut, own);
      used_.insert({&tensor, &cut});
    }
    TensorView* const term = parts.makeTerm(own.extent);
    OtherTensors others = apart.twins();
    others[asTensor(parts.op().output(0))] = term;
    loop_->body.push_back(allocate(*term));
    loop_->body.push_back(restrictOp(program_, apart.expr(), slices, others));
    loop_->behind.push_back(parts.combine(*term));
    loop_->totals.insert(program_.resolveAlias(&parts.total()));
    loop_->streamed[program_.resolveAlias(&parts.total())] = {};
    for (Expr* statement : parts.results()) addOutsideOfLoops(*statement);
  }

  // --- parts that devices exchange in the loop (host/lower/stream_transfers.h) ---

  std::optional<StreamTransfer> gathered(const Expr& expr, const StreamAxis& axis) {
    if (transfers_ == StreamTransfers::None || !expr.is<LoadStoreOp>()) return std::nullopt;
    return gatherOf(program_, expr, axis);
  }

  // The transfer of a Set without a mark that ends in the open loop: what is streamed there becomes parts of devices.
  std::optional<StreamTransfer> endOfLoop(const Expr& expr) {
    if (transfers_ == StreamTransfers::None || !loop_ || !expr.is<LoadStoreOp>()) return std::nullopt;
    TensorView* operand = asTensor(expr.input(0));
    const std::optional<StreamAxis> axis = findStreamAxis(*operand);
    const bool is_made_here = axis && isSameLoop(loop_->axis, *axis) && program_.resolveAlias(operand) == operand &&
                              loop_->streamed.contains(operand);
    std::optional<StreamTransfer> transfer;
    if (is_made_here) transfer = allToAllOf(program_, expr, *axis);
    if (is_made_here && !transfer && transfers_ == StreamTransfers::Ring)
      transfer = reduceScatterOf(program_, expr, *axis);
    const bool fits = transfer && fitsTransfers({.expr = &expr, .axis = *axis, .transfer = transfer});
    return fits ? transfer : std::nullopt;
  }

  bool hasTransfers() const {
    return std::ranges::any_of(loop_->recorded, [](const StreamStatement& each) { return each.transfer.has_value(); });
  }

  // Whether what the statement communicates, or others, is in order in the open loop when it is in there, too.
  bool fitsTransfers(const StreamStatement& statement) const {
    if (loop_->index != nullptr) return !statement.transfer;
    return std::ranges::all_of(loop_->recorded, [&](const StreamStatement& other) {
      if (other.transfer && statement.transfer) return other.transfer->mayJoin(*statement.transfer);
      if (other.transfer) return areAtSamePart(statement, *other.transfer);
      return !statement.transfer || areAtSamePart(other, *statement.transfer);
    });
  }

  // Whether all ranks that a communication is between are at the same part in an iteration of a loop with the transfer,
  // and none of them has that part alone.
  static bool areAtSamePart(const StreamStatement& communication, const StreamTransfer& transfer) {
    if (!isResharding(*communication.expr)) return true;
    const TensorView& result = *asTensor(communication.expr->output(0));
    const Sharding from = shardingOf(*asTensor(communication.expr->input(0)));
    const Sharding to = shardingOf(result);
    if (from.mesh != to.mesh) return false;
    const MeshUse& use = from.uses[transfer.dimension];
    const int64_t axis = visibleAxisNumber(result, *communication.axis.logical);
    return (use.isWhole() || use == to.uses[transfer.dimension]) && from.dimensionOf(axis) < 0 &&
           to.dimensionOf(axis) < 0;
  }

  void addEnd(const Expr& expr, const StreamTransfer& transfer) {
    moveWaiting();
    TensorView* operand = asTensor(expr.input(0));
    loop_->read.insert(operand);
    keepDemands(expr, {});
    addToBody({.expr = &expr, .axis = *findStreamAxis(*operand), .transfer = transfer});
    TensorView* output = asTensor(expr.output(0));
    loop_->outputs.push_back(output);
    loop_->streamed[program_.resolveAlias(output)] = {nullptr};  // whole behind the loop alone
  }

  void writeRecorded() {
    if (loop_->index != nullptr) return;
    const auto has = [](const std::optional<StreamTransfer>& transfer) { return transfer.has_value(); };
    const auto first = std::ranges::find_if(loop_->recorded, has, &StreamStatement::transfer);
    if (first == loop_->recorded.end()) {
      loop_->index = index_;
    } else {
      const bool reduces = std::ranges::any_of(loop_->recorded, [](const StreamStatement& statement) {
        return statement.transfer && statement.transfer->kind == StreamTransfer::Kind::ReduceScatter;
      });
      const TransferLoop kind = {.transfers = transfers_, .position = first->transfer->position, .reduces = reduces};
      loop_->writer = std::make_unique<TransferWriter>(program_, index_, kind, next_number_);
      loop_->index = loop_->writer->partIndex();
    }
    for (const StreamStatement& statement : loop_->recorded) writeStatement(statement);
    if (loop_->writer) next_number_ = loop_->writer->nextNumber();
  }

  void writeStatement(const StreamStatement& statement) {
    const StreamAxis& axis = statement.axis;
    const auto* post = statement.expr->as<PostOnStream>();
    if (!statement.transfer) {
      loop_->body.push_back(post != nullptr ? restrictSegment(*post, axis) : restrict(*statement.expr, axis));
      if (isResharding(*statement.expr)) noteCommunication(statement);
      return;
    }
    const LoadStoreOp& set = *statement.expr->as<LoadStoreOp>();
    std::vector<Expr*> written;
    if (statement.transfer->kind == StreamTransfer::Kind::ReduceScatter) {
      written = loop_->writer->reduceScatter(set, *statement.transfer, axis);
    } else if (statement.transfer->kind == StreamTransfer::Kind::AllToAll) {
      written = loop_->writer->allToAll(set, *statement.transfer, axis);
    } else {
      const Part part = partOf(axis, loop_->index, axis.form == StreamAxis::Form::Chunk);
      TensorView* gathered = slice(*set.out, *axis.logical, part).slice;
      written = loop_->writer->gather(set, *statement.transfer, axis, *gathered);
    }
    loop_->body.insert(loop_->body.end(), written.begin(), written.end());
  }

  // Records the whole op's demands on extents, which slices do not have.
  void keepDemands(const Expr& expr, std::vector<const Scalar*> along) {
    for (const TensorView* output : tensorsOf(expr.outputs())) {
      const std::optional<StreamAxis> axis = findStreamAxis(*output);
      if (axis) along.push_back(axis->logical->visibleExtent());
      if (axis && axis->inner != nullptr) along.push_back(axis->inner->visibleExtent());
    }
    for (ExtentDemand& demand : demandsOf(program_, expr, along)) program_.addDemand(std::move(demand));
  }

  Expr* restrict(const Expr& expr, const StreamAxis& axis) {
    const TensorView& out = *asTensor(expr.output(0));
    const int64_t outer_number = visibleAxisNumber(out, *axis.logical);
    Scalar* index = loop_->index;
    if (axis.form != StreamAxis::Form::Merged) return restrictAlong(expr, axis, outer_number, index);
    // A merged axis needs two slices: along the outer axis, then along the inner one.
    Scalar* inner_extent = axis.inner->visibleExtent();
    const Expr& outer_slice = *restrictAlong(expr, axis, outer_number, program_.floorDiv(index, inner_extent));
    const bool is_dropped = shapeOf(*asTensor(outer_slice.output(0))).size() < shapeOf(out).size();
    const int64_t inner_number = visibleAxisNumber(out, *axis.inner);
    const int64_t left = inner_number - (is_dropped && inner_number > outer_number ? 1 : 0);
    return restrictAlong(outer_slice, axis, left, program_.mod(index, inner_extent));
  }

  // Every output of a segment is sliced along the axis of its own mark.
  static std::vector<int64_t> markedAxesOf(const PostOnStream& post, IterDomain* StreamAxis::* part) {
    std::vector<int64_t> axes;
    for (TensorView* out : post.outs) {
      const std::optional<StreamAxis> axis = findStreamAxis(*out);
      TK_REQUIRE(axis.has_value() && (*axis).*part != nullptr, HostProgram,
                 "Stream over a segment: its output {} is not marked like the others; mark all outputs or none",
                 toString(*out));
      axes.push_back(visibleAxisNumber(*out, *((*axis).*part)));
    }
    return axes;
  }

  Expr* restrictSegment(const PostOnStream& post, const StreamAxis& axis) {
    std::vector<int64_t> outer = markedAxesOf(post, &StreamAxis::logical);
    Scalar* index = loop_->index;
    if (axis.form != StreamAxis::Form::Merged) return restrictSegmentAlong(post, axis, outer, index);
    std::vector<int64_t> inner = markedAxesOf(post, &StreamAxis::inner);
    Scalar* inner_extent = axis.inner->visibleExtent();
    const Expr& slices = *restrictSegmentAlong(post, axis, outer, program_.floorDiv(index, inner_extent));
    for (size_t i = 0; i < inner.size(); ++i) {
      const bool is_dropped = shapeOf(*asTensor(slices.output(i))).size() < shapeOf(*asTensor(post.outs[i])).size();
      if (is_dropped && inner[i] > outer[i]) --inner[i];
    }
    return restrictSegmentAlong(*slices.as<PostOnStream>(), axis, inner, program_.mod(index, inner_extent));
  }

  Expr* restrictSegmentAlong(const PostOnStream& post, const StreamAxis& axis, std::span<const int64_t> output_axes,
                             Scalar* index) {
    const SegmentSlices segment(post, output_axes);
    const bool keeps_axis = axis.form == StreamAxis::Form::Chunk || !segment.mayDropAxes();
    const Part part = partOf(axis, index, keeps_axis);
    PostOnStream restricted;
    const std::shared_ptr<HostSegment> slices = segment.restricted(!keeps_axis);
    for (size_t i = 0; i < post.ins.size(); ++i) {
      if (!segment.inputAxes()[i]) {
        restricted.ins.push_back(post.ins[i]);
        continue;
      }
      TensorView* in = asTensor(post.ins[i]);
      const IterDomain& along = axisOf(*in, *segment.inputAxes()[i]);
      used_.insert({in, &along});
      restricted.ins.push_back(slice(*in, along, part).slice);
    }
    for (size_t i = 0; i < post.outs.size(); ++i)
      restricted.outs.push_back(slice(*post.outs[i], axisOf(*post.outs[i], output_axes[i]), part).slice);
    // (A size that only the sliced axis has.)
    addScalarInputs(program_, restricted, *slices, [](Scalar* scalar) { return scalar; });
    restricted.segment = slices;
    return program_.appendOp(std::move(restricted));
  }

  // The part of an axis that one iteration has.
  struct Part {
    Scalar* index = nullptr;   ///< the one index, of a slice that lacks the axis
    Scalar* start = nullptr;   ///< else the elements from here
    Scalar* stop = nullptr;    ///< to here
    Scalar* extent = nullptr;  ///< their count
    bool is_range = false;     ///< which may have no elements, also of an axis of one
  };

  // The axis along which an operand or result is sliced, and its part.
  struct Cut {
    TensorView* tensor = nullptr;
    int64_t axis = 0;  ///< of its visible shape
    Scalar* at = nullptr;
  };

  Expr* restrictAlong(const Expr& whole, const StreamAxis& axis, int64_t number, Scalar* index) {
    const ApartOperands& apart = apartOf(whole);
    const Expr& expr = apart.expr();
    const Part own = partOf(axis, index, /*keeps_axis=*/true);
    if (const auto moved = movedParts(expr, {number, own.start, own.extent}, chunkOf(axis)))
      return restrictMoved(apart, *moved, number, own);
    const AxisMap map(expr);
    const bool keeps_axis = axis.form == StreamAxis::Form::Chunk || map.dependsOnPosition(number) ||
                            !isSameWithout(expr, cutsOf(expr, map, number, index, /*keeps_axis=*/false), number);
    AxisSlices slices;
    for (const Cut& cut : cutsOf(expr, map, number, index, keeps_axis)) {
      TensorView& tensor = *apart.originalOf(cut.tensor);
      const IterDomain& along = axisOf(tensor, cut.axis);
      slices[cut.tensor] = slice(tensor, along, partOf(axis, cut.at, keeps_axis));
      used_.insert({&tensor, &along});
    }
    return restrictOp(program_, expr, slices, apart.twins());
  }

  Expr* restrictMoved(const ApartOperands& apart, const MovedParts& moved, int64_t number, const Part& own) {
    AxisSlices slices;
    for (const auto& [operand, ranges] : moved.operands) {
      TensorView* part = apart.originalOf(const_cast<TensorView*>(operand));
      for (const AxisRange& range : ranges) {
        Scalar* stop = program_.add(range.start, range.extent);
        const Part read{.start = range.start, .stop = stop, .extent = range.extent, .is_range = true};
        slices[operand] = slice(*part, axisOf(*part, range.axis), read);
        part = slices[operand].slice;
      }
    }
    TensorView& out = *asTensor(apart.expr().output(0));
    slices[&out] = slice(out, axisOf(out, number), own);
    return restrictOp(program_, apart.expr(), slices, apart.twins(), moved.attributes);
  }

  static const IterDomain& axisOf(const TensorView& tensor, int64_t number) {
    return *shapeOf(tensor)[static_cast<size_t>(number)];
  }

  static bool isSameWithout(const Expr& expr, const std::vector<Cut>& cuts, int64_t number) {
    DroppedAxes dropped;
    for (const Cut& cut : cuts) dropped[cut.tensor] = cut.axis;
    return isSameWithoutAxis(expr, number, dropped);
  }

  std::vector<Cut> cutsOf(const Expr& expr, const AxisMap& map, int64_t number, Scalar* index, bool keeps_axis) {
    std::vector<Cut> cuts;
    const std::vector<std::vector<OperandAxis>> along = operandAxesAlong(expr, number);
    for (size_t i = 0; i < expr.inputs().size(); ++i) {
      TensorView* operand = asTensor(expr.input(i));
      if (operand == nullptr) continue;
      const OperandCoordinateUse use = map.use(*operand, number);
      if (use.use == CoordinateUse::Identity)
        cuts.push_back({operand, use.axes[0], index});
      else if (const auto cut = cutOfBroadcast(*operand, along[i], index, keeps_axis))
        cuts.push_back(*cut);
    }
    for (TensorView* output : tensorsOf(expr.outputs())) cuts.push_back({output, number, index});
    return cuts;
  }

  // A broadcast axis of an operand is dropped if the result's is; an expanded one gets the chunk's extent.
  std::optional<Cut> cutOfBroadcast(TensorView& operand, const std::vector<OperandAxis>& numbers, Scalar* index,
                                    bool keeps_axis) {
    const Axes shape = shapeOf(operand);
    const OperandAxis* chosen = nullptr;
    for (const OperandAxis& number : numbers) {
      const IterDomain& along = *shape[static_cast<size_t>(number.axis)];
      const bool is_expanded = along.expandedExtent() != nullptr;
      if (is_expanded || (chosen == nullptr && along.isBroadcast() && number.is_alone && !keeps_axis)) chosen = &number;
    }
    if (chosen == nullptr) return std::nullopt;
    const IterDomain& along = *shape[static_cast<size_t>(chosen->axis)];
    return Cut{&operand, chosen->axis, along.expandedExtent() != nullptr ? index : program_.constant(0)};
  }

  Part partOf(const StreamAxis& axis, Scalar* index, bool keeps_axis) {
    if (!keeps_axis) return {.index = index};
    Scalar* one = program_.constant(1);
    if (axis.chunk == nullptr) return {.start = index, .stop = program_.add(index, one), .extent = one};
    Scalar* size = axis.logical->visibleExtent();
    Scalar* start = program_.mul(index, axis.chunk);
    if (axis.may_pass_end) start = program_.scalar(ScalarOp::Min, start, size);
    return {.start = start,
            .stop = program_.scalar(ScalarOp::Min, program_.add(start, axis.chunk), size),
            .extent = program_.scalar(ScalarOp::Min, axis.chunk, program_.sub(size, start))};
  }

  AxisSlice slice(TensorView& tensor, const IterDomain& along, const Part& part) {
    const bool drops_axis = part.index != nullptr;
    auto& made = loop_->views[{tensor.id(), &along, drops_axis ? part.index : part.start, part.stop}];
    if (made == nullptr) {
      const int64_t logical_axis = logicalAxisNumber(tensor, along);
      const CutAxis cut = part.is_range ? CutAxis::Counted : CutAxis::LikeWhole;
      made = makeSliceTensor(program_, tensor, logical_axis, part.extent, cut);
      loop_->body.push_back(drops_axis
                                ? program_.appendOp(HirAliasSelect{made, &tensor, logical_axis, part.index})
                                : program_.appendOp(HirAliasSlice{made, &tensor, logical_axis, part.start, part.stop}));
    }
    return {.slice = made,
            .axis = visibleAxisNumber(tensor, along),
            .drops_axis = drops_axis,
            .start = part.start,
            .extent = part.extent};
  }

  Expr* allocate(TensorView& tensor) {
    return program_.appendOp(Allocate{&tensor, elementCount(program_, tensor), false, false});
  }

  void close() {
    if (!loop_) return;
    writeRecorded();
    StreamVal* caller = program_.stream();
    StreamVal* worker = program_.stream(
        program_.rawScalar(ScalarOp::Mod, DataType::I64, std::vector<Scalar*>{index_, program_.numberOfStreams()}));
    Expr* get = program_.appendOp(GetCurrentStream{caller});
    const auto setTo = [&](StreamVal* stream) { return program_.appendOp(SetCurrentStream{stream}); };
    const auto waitFor = [&](StreamVal* stream) { return program_.appendOp(Synchronize{stream}); };
    const bool is_hoisted = sync_ == StreamSync::Hoisted;
    if (loop_->communicates) result_.exprs.push_back(get);
    for (TensorView* output : loop_->outputs) result_.exprs.push_back(allocate(*output));
    if (loop_->writer) append(loop_->writer->before(), result_);
    if (is_hoisted && !loop_->communicates) result_.exprs.push_back(get);
    if (is_hoisted) result_.exprs.push_back(loopOver({{setTo(worker), waitFor(caller)}}));
    Block body;
    if (!is_hoisted && !loop_->communicates) body.exprs.push_back(get);
    body.exprs.push_back(setTo(worker));
    if (!is_hoisted) body.exprs.push_back(waitFor(caller));
    body.exprs.insert(body.exprs.end(), loop_->body.begin(), loop_->body.end());
    body.exprs.push_back(setTo(caller));
    body.exprs.push_back(waitFor(worker));
    body.exprs.insert(body.exprs.end(), loop_->behind.begin(), loop_->behind.end());
    result_.exprs.push_back(loopOver(std::move(body)));
    if (loop_->writer) append(loop_->writer->after(), result_);
    const std::vector<Expr*> waiting = std::move(loop_->waiting);
    loop_.reset();
    result_.exprs.insert(result_.exprs.end(), waiting.begin(), waiting.end());
  }

  static void append(const std::vector<Expr*>& statements, Block& block) {
    block.exprs.insert(block.exprs.end(), statements.begin(), statements.end());
  }

  Expr* loopOver(Block body) {
    const IterDomain& axis = *loop_->axis.loop_axis;
    // (An expanded axis has its one element unless its extent is 0.)
    Scalar* stop = axis.expandedExtent() == nullptr
                       ? axis.extent()
                       : program_.scalar(ScalarOp::Min, axis.extent(), axis.expandedExtent());
    return program_.appendOp(
        ForLoop{index_, program_.constant(0), stop, program_.constant(1), loop_->shown, std::move(body)});
  }

  void requireInputsCovered() {
    for (TensorView* input : tensorsOf(program_.inputs())) {
      const std::optional<StreamAxis> axis = findStreamAxis(*input);
      TK_REQUIRE(
          !axis || used_.contains({input, axis->logical}), HostProgram,
          "Stream on {}: it is an input, and no stream loop runs along this axis of it; {}; mark the output that "
          "reads it",
          describeAxis(*input, *axis->loop_axis), readersOf(*input));
    }
  }

  // "it is read by sum (T1), pad (T2)"
  std::string readersOf(TensorView& input) const {
    std::vector<std::string> readers;
    for (const Expr* expr : program_.topLevel().exprs) {
      if (std::ranges::find(expr->inputs(), &input) == expr->inputs().end()) continue;
      for (const TensorView* output : tensorsOf(expr->outputs()))
        readers.push_back(fmt::format("{} ({})", callName(*expr), nameOf(*output)));
    }
    return readers.empty() ? "nothing reads it" : fmt::format("it is read by {}", joined(readers));
  }

  struct PairHash {
    size_t operator()(const std::pair<const TensorView*, const IterDomain*>& pair) const {
      return std::hash<const void*>{}(pair.first) * 31 + std::hash<const void*>{}(pair.second);
    }
  };

  HostIrContainer& program_;
  StreamSync sync_;
  StreamTransfers transfers_;
  DomainGraph graph_;
  Scalar* index_;
  int64_t next_number_;  // of communications
  Block result_;
  std::optional<StreamLoop> loop_;
  std::unordered_map<const Expr*, ApartOperands> apart_;
  std::unordered_set<std::pair<const TensorView*, const IterDomain*>, PairHash> used_;
};

}  // namespace

std::vector<TensorView*> computedWhole(HostIrContainer& program) {
  std::vector<TensorView*> wholes = StreamLowering(program, StreamSync::Hoisted, StreamTransfers::None).wholes();
  StreamLowering(program, StreamSync::Hoisted, StreamTransfers::None).run();  // whose loops nobody takes
  return wholes;
}

void lowerStreams(HostIrContainer& program, StreamSync sync, StreamTransfers transfers) {
  program.setTopLevel(StreamLowering(program, sync, transfers).run());
}

}  // namespace tokamak
