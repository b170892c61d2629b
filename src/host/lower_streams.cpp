#include "host/lower_streams.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "analysis/domain_graph.h"
#include "base/error.h"
#include "compute/axis_map.h"
#include "host/dropped_axes.h"
#include "host/restrict_op.h"
#include "host/stream_axis.h"
#include "host/stream_scalars.h"
#include "host/unit_slices.h"
#include "ir/ops/host/allocate.h"
#include "ir/ops/host/for_loop.h"
#include "ir/ops/host/get_current_stream.h"
#include "ir/ops/host/hir_alias_select.h"
#include "ir/ops/host/hir_alias_slice.h"
#include "ir/ops/host/set_current_stream.h"
#include "ir/ops/host/synchronize.h"

namespace tokamak {

namespace {

// A loop under construction.
struct StreamLoop {
  StreamAxis axis;                   // of the first statement's output
  std::vector<TensorView*> outputs;  // in body order
  std::vector<Expr*> body;
  std::unordered_map<const TensorView*, std::vector<const IterDomain*>>
      streamed;                                // tensors made in the body -> their streamed logical axes
  std::unordered_set<const TensorView*> read;  // by the body
  std::vector<Expr*> waiting;                  // statements behind the loop that may come before it
  std::map<std::tuple<int64_t, const IterDomain*, const Scalar*, bool>, TensorView*>
      views;  // (tensor, axis, index, keeps axis) -> slice made already
};

class StreamLowering {
 public:
  StreamLowering(HostIrContainer& program, StreamSync sync)
      : program_(program), sync_(sync), graph_(program), index_(streamIndex(program)) {}

  Block run() {
    for (Expr* expr : program_.topLevel().exprs) {
      const std::optional<StreamAxis> axis = outputAxis(*expr);
      if (!axis) {
        addUnmarked(*expr);
        continue;
      }
      if (loop_ && !joins(*expr, *axis)) close();
      // What stands between two statements of one loop and does not depend on it moves before the loop.
      moveWaiting();
      if (!loop_)
        loop_ = StreamLoop{
            .axis = *axis, .outputs = {}, .body = {}, .streamed = {}, .read = {}, .waiting = {}, .views = {}};
      addStatement(*expr, *axis);
    }
    close();
    requireInputsCovered();
    return std::move(result_);
  }

 private:
  // The Stream axis of the statement's outputs, which must agree.
  std::optional<StreamAxis> outputAxis(const Expr& expr) {
    if (expr.list() != OpList::Math && !expr.is<PostOnStream>()) return std::nullopt;
    std::optional<StreamAxis> found;
    const std::vector<TensorView*> outputs = tensorsOf(expr.outputs());
    for (const TensorView* output : outputs) {
      const std::optional<StreamAxis> axis = findStreamAxis(*output);
      if (!axis) continue;
      TK_REQUIRE(!found || areTogether(found->logical, axis->logical), HostProgram,
                 "Stream on {}: another output of {} is streamed along an axis that does not map to it",
                 describeAxis(*output, *axis->loop_axis), callName(expr));
      // A repeated element is written once; memory that the caller gives for it may have a place for each.
      TK_REQUIRE(!program_.isOutput(output) || axis->logical->expandedExtent() == nullptr, HostProgram,
                 "Stream on {}: it repeats one element of an output, so there is nothing to deal out",
                 describeAxis(*output, *axis->loop_axis));
      if (!found) found = axis;
    }
    if (found && expr.list() == OpList::Math) requireIndependent(expr, *found);
    return found;
  }

  void requireIndependent(const Expr& expr, const StreamAxis& axis) {
    const AxisMap map(expr);
    const TensorView& out = *map.rule().result;
    for (const IterDomain* logical : {axis.logical, axis.inner}) {
      if (logical == nullptr) continue;
      const int64_t s = visibleAxisNumber(out, *logical);
      for (TensorView* operand : tensorsOf(expr.inputs())) {
        const OperandCoordinateUse use = map.use(*operand, s);
        // No op reads along a diagonal.
        TK_CHECK(use.axes.size() < 2, "Stream on {}: {} reads {} with two axes ({}) along the loop; a slice has one",
                 describeAxis(out, *axis.loop_axis), callName(expr), toString(*operand), fmt::join(use.axes, ", "));
        TK_REQUIRE(use.use != CoordinateUse::Other, HostProgram,
                   "Stream on {}: {} is not independent along it: iterations read other parts of {} than their own",
                   describeAxis(out, *axis.loop_axis), callName(expr), toString(*operand));
      }
      TK_REQUIRE(
          !map.dependsOnPosition(s) || hasOrigin(expr), HostProgram,
          "Stream on {}: {} depends on positions along it, and has no attribute that says where a part of it starts",
          describeAxis(out, *axis.loop_axis), callName(expr));
      // What depends on positions and has an origin (iota) has one axis, which is merged with no other.
      TK_CHECK(axis.form != StreamAxis::Form::Merged || !map.dependsOnPosition(s),
               "Stream on {}: {} depends on positions along it, which a merged axis does not tell",
               describeAxis(out, *axis.loop_axis), callName(expr));
    }
  }

  static bool hasOrigin(const Expr& expr) {
    const Fields fields = fieldsOf(expr);
    return std::ranges::any_of(fields, [](const Field& field) { return field.relation == AxisRelation::Origin; });
  }

  bool areTogether(const IterDomain* a, const IterDomain* b) const {
    return a == b || graph_.mapsTo(*a, *b, AxisMapping::Exact);
  }

  bool isSameLoop(const StreamAxis& a, const StreamAxis& b) {
    return a.form == b.form && a.chunk == b.chunk && a.may_pass_end == b.may_pass_end &&
           areTogether(a.logical, b.logical) && (a.inner == nullptr || areTogether(a.inner, b.inner));
  }

  // A statement joins the open loop if its axis maps to the loop's, and it reads what the body made at its own
  // iteration only.
  bool joins(const Expr& expr, const StreamAxis& axis) {
    if (!isSameLoop(loop_->axis, axis)) return false;
    for (TensorView* operand : tensorsOf(expr.inputs())) {
      const auto made = loop_->streamed.find(program_.resolveAlias(operand));
      if (made != loop_->streamed.end() && streamedAxesOf(expr, *operand, axis) != made->second) return false;
    }
    return true;
  }

  // The logical axes of `operand` that the loop's index runs over when the statement is streamed along `axis`.
  std::vector<const IterDomain*> streamedAxesOf(const Expr& expr, const TensorView& operand, const StreamAxis& axis) {
    const Axes shape = shapeOf(operand);
    std::vector<const IterDomain*> axes;
    if (const auto* post = expr.as<PostOnStream>()) {
      const UnitSlices unit = slicesOf(*post);
      for (size_t i = 0; i < post->ins.size(); ++i) {
        if (post->ins[i] == &operand && unit.inputAxes()[i])
          axes.push_back(shape[static_cast<size_t>(*unit.inputAxes()[i])]);
      }
      return axes;
    }
    const AxisMap map(expr);
    for (const IterDomain* logical : {axis.logical, axis.inner}) {
      if (logical == nullptr) continue;
      const OperandCoordinateUse use = map.use(operand, visibleAxisNumber(*map.rule().result, *logical));
      if (use.use == CoordinateUse::Identity) axes.push_back(shape[static_cast<size_t>(use.axes[0])]);
    }
    return axes;
  }

  // It separates loops, unless the open loop has no part in it.
  void addUnmarked(Expr& expr) {
    if (loop_ && !mayComeBefore(expr, *loop_)) close();
    (loop_ ? loop_->waiting : result_.exprs).push_back(&expr);
  }

  // Whether nothing that the loop reads or writes is written by the statement, and it reads nothing that the loop
  // writes.
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
    const auto* post = expr.as<PostOnStream>();
    loop_->body.push_back(post != nullptr ? restrictUnit(*post, axis) : restrict(expr, axis));
    for (TensorView* output : tensorsOf(expr.outputs())) {
      loop_->outputs.push_back(output);
      const StreamAxis own = findStreamAxis(*output).value_or(axis);
      auto& axes = loop_->streamed[program_.resolveAlias(output)];
      axes = {own.logical};
      if (own.inner != nullptr) axes.push_back(own.inner);
    }
  }

  Expr* restrict(const Expr& expr, const StreamAxis& axis) {
    const AxisMap map(expr);
    const int64_t outer_number = visibleAxisNumber(*map.rule().result, *axis.logical);
    if (axis.form != StreamAxis::Form::Merged) return restrictAlong(expr, map, axis, outer_number, index_);
    // A merged axis takes two slices: first along the outer axis, then along the inner one of what is left.
    Scalar* inner_extent = axis.inner->visibleExtent();
    const Expr& outer_slice = *restrictAlong(expr, map, axis, outer_number, program_.floorDiv(index_, inner_extent));
    const AxisMap inner_map(outer_slice);
    const size_t rank = shapeOf(*map.rule().result).size();
    const bool is_dropped = shapeOf(*inner_map.rule().result).size() < rank;
    const int64_t inner_number = visibleAxisNumber(*map.rule().result, *axis.inner);
    const int64_t left = inner_number - (is_dropped && inner_number > outer_number ? 1 : 0);
    return restrictAlong(outer_slice, inner_map, axis, left, program_.mod(index_, inner_extent));
  }

  // Every output of a streamed unit is cut along the axis of its own mark.
  static UnitSlices slicesOf(const PostOnStream& post) {
    std::vector<int64_t> axes;
    for (TensorView* out : post.outs) {
      const std::optional<StreamAxis> axis = findStreamAxis(*out);
      TK_REQUIRE(axis.has_value(), HostProgram,
                 "Stream over a host unit: its output {} is not marked; mark all outputs or none", toString(*out));
      TK_REQUIRE(axis->form != StreamAxis::Form::Merged, HostProgram,
                 "Stream on {}: a host unit cannot be streamed along a merged axis; stream its ops one by one",
                 describeAxis(*out, *axis->loop_axis));
      axes.push_back(visibleAxisNumber(*out, *axis->logical));
    }
    return {post, axes};
  }

  Expr* restrictUnit(const PostOnStream& post, const StreamAxis& axis) {
    const UnitSlices unit = slicesOf(post);
    const bool keeps_axis = axis.form == StreamAxis::Form::Chunk || !unit.mayDropAxes();
    PostOnStream restricted;
    const std::shared_ptr<HostUnit> slices = unit.restricted(!keeps_axis);
    for (size_t i = 0; i < post.ins.size(); ++i) {
      if (!unit.inputAxes()[i]) {
        restricted.ins.push_back(post.ins[i]);
        continue;
      }
      TensorView* in = asTensor(post.ins[i]);
      const IterDomain& along = *shapeOf(*in)[static_cast<size_t>(*unit.inputAxes()[i])];
      used_.insert({in, &along});
      restricted.ins.push_back(slice(*in, along, axis, index_, keeps_axis).slice);
    }
    for (TensorView* out : post.outs) {
      restricted.outs.push_back(slice(*out, *findStreamAxis(*out)->logical, axis, index_, keeps_axis).slice);
    }
    // A size that only the axis told that is cut.
    addScalarInputs(program_, restricted, *slices, [](Scalar* scalar) { return scalar; });
    restricted.unit = slices;
    return program_.appendOp(std::move(restricted));
  }

  // The axis that an operand or result is cut along, and where.
  struct Cut {
    TensorView* tensor = nullptr;
    int64_t axis = 0;  ///< of its visible shape
    Scalar* at = nullptr;
  };

  Expr* restrictAlong(const Expr& expr, const AxisMap& map, const StreamAxis& axis, int64_t number, Scalar* index) {
    const bool keeps_axis = axis.form == StreamAxis::Form::Chunk || map.dependsOnPosition(number) ||
                            !isSameWithout(expr, cutsOf(expr, map, axis, number, index, /*keeps_axis=*/false), number);
    AxisSlices slices;
    for (const Cut& cut : cutsOf(expr, map, axis, number, index, keeps_axis)) {
      const IterDomain& along = *shapeOf(*cut.tensor)[static_cast<size_t>(cut.axis)];
      slices[cut.tensor] = slice(*cut.tensor, along, axis, cut.at, keeps_axis);
      used_.insert({cut.tensor, &along});
    }
    return restrictOp(program_, expr, slices);
  }

  static bool isSameWithout(const Expr& expr, const std::vector<Cut>& cuts, int64_t number) {
    DroppedAxes dropped;
    for (const Cut& cut : cuts) dropped[cut.tensor] = cut.axis;
    return isSameWithoutAxis(expr, number, dropped);
  }

  std::vector<Cut> cutsOf(const Expr& expr, const AxisMap& map, const StreamAxis& axis, int64_t number, Scalar* index,
                          bool keeps_axis) {
    std::vector<Cut> cuts;
    const std::vector<std::vector<OperandAxis>> along = operandAxesAlong(expr, number);
    for (size_t i = 0; i < expr.inputs().size(); ++i) {
      TensorView* operand = asTensor(expr.input(i));
      if (operand == nullptr) continue;
      const OperandCoordinateUse use = map.use(*operand, number);
      if (use.use == CoordinateUse::Identity)
        cuts.push_back({operand, use.axes[0], index});
      else if (const auto cut = cutOfBroadcast(expr, *operand, along[i], axis, index, keeps_axis))
        cuts.push_back(*cut);
    }
    for (TensorView* output : tensorsOf(expr.outputs())) cuts.push_back({output, number, index});
    return cuts;
  }

  // A broadcast axis of an operand goes with the result's: where that is dropped, it is, too; an expanded one shows
  // the chunk's size.
  std::optional<Cut> cutOfBroadcast(const Expr& expr, TensorView& operand, const std::vector<OperandAxis>& numbers,
                                    const StreamAxis& axis, Scalar* index, bool keeps_axis) {
    const Axes shape = shapeOf(operand);
    const OperandAxis* chosen = nullptr;
    for (const OperandAxis& number : numbers) {
      const IterDomain& along = *shape[static_cast<size_t>(number.axis)];
      const bool is_expanded = along.expandedExtent() != nullptr;
      TK_REQUIRE(number.is_whole || !is_expanded, HostProgram,
                 "Stream on {}: {} is not independent along it: iterations see other parts of the expanded axis {} of "
                 "{} than their own",
                 describeAxis(*asTensor(expr.output(0)), *axis.loop_axis), callName(expr), number.axis,
                 toString(operand));
      if (is_expanded || (chosen == nullptr && along.isBroadcast() && number.is_alone && !keeps_axis)) chosen = &number;
    }
    if (chosen == nullptr) return std::nullopt;
    const IterDomain& along = *shape[static_cast<size_t>(chosen->axis)];
    return Cut{&operand, chosen->axis, along.expandedExtent() != nullptr ? index : program_.constant(0)};
  }

  AxisSlice slice(TensorView& tensor, const IterDomain& along, const StreamAxis& axis, Scalar* index, bool keeps_axis) {
    AxisSlice result;
    result.axis = visibleAxisNumber(tensor, along);
    result.drops_axis = !keeps_axis;
    Scalar* one = program_.constant(1);
    Scalar* chunk = axis.chunk != nullptr ? axis.chunk : one;
    if (keeps_axis) {
      result.start = program_.mul(index, chunk);
      if (axis.may_pass_end) result.start = program_.scalar(ScalarOp::Min, result.start, axis.logical->visibleExtent());
      Scalar* left = program_.sub(axis.logical->visibleExtent(), result.start);
      result.extent = axis.chunk == nullptr ? one : program_.scalar(ScalarOp::Min, chunk, left);
    }
    auto& made = loop_->views[{tensor.id(), &along, index, keeps_axis}];
    if (made == nullptr) {
      const int64_t logical_axis = logicalAxisNumber(tensor, along);
      made = makeSliceTensor(program_, tensor, logical_axis, result.extent);
      Expr* view = nullptr;
      if (keeps_axis) {
        Scalar* stop = axis.chunk == nullptr ? program_.add(result.start, one)
                                             : program_.scalar(ScalarOp::Min, program_.add(result.start, chunk),
                                                               axis.logical->visibleExtent());
        view = program_.appendOp(HirAliasSlice{made, &tensor, logical_axis, result.start, stop});
      } else {
        view = program_.appendOp(HirAliasSelect{made, &tensor, logical_axis, index});
      }
      loop_->body.push_back(view);
    }
    result.slice = made;
    return result;
  }

  Expr* allocate(TensorView& tensor) {
    return program_.appendOp(Allocate{&tensor, elementCount(program_, tensor), false, false});
  }

  void close() {
    if (!loop_) return;
    for (TensorView* output : loop_->outputs) result_.exprs.push_back(allocate(*output));
    StreamVal* caller = program_.stream();
    StreamVal* worker = program_.stream(
        program_.rawScalar(ScalarOp::Mod, DataType::I64, std::vector<Scalar*>{index_, program_.numberOfStreams()}));
    Expr* get = program_.appendOp(GetCurrentStream{caller});
    const auto setTo = [&](StreamVal* stream) { return program_.appendOp(SetCurrentStream{stream}); };
    const auto waitFor = [&](StreamVal* stream) { return program_.appendOp(Synchronize{stream}); };
    Block body;
    if (sync_ == StreamSync::Hoisted) {
      result_.exprs.push_back(get);
      result_.exprs.push_back(loopOver({{setTo(worker), waitFor(caller)}}));
      body.exprs = {setTo(worker)};
    } else {
      body.exprs = {get, setTo(worker), waitFor(caller)};
    }
    body.exprs.insert(body.exprs.end(), loop_->body.begin(), loop_->body.end());
    body.exprs.push_back(setTo(caller));
    body.exprs.push_back(waitFor(worker));
    result_.exprs.push_back(loopOver(std::move(body)));
    const std::vector<Expr*> waiting = std::move(loop_->waiting);
    loop_.reset();
    result_.exprs.insert(result_.exprs.end(), waiting.begin(), waiting.end());
  }

  Expr* loopOver(Block body) {
    const IterDomain& axis = *loop_->axis.loop_axis;
    // The single element of an expanded axis is there unless the axis shows none.
    Scalar* stop = axis.expandedExtent() == nullptr
                       ? axis.extent()
                       : program_.scalar(ScalarOp::Min, axis.extent(), axis.expandedExtent());
    return program_.appendOp(
        ForLoop{index_, program_.constant(0), stop, program_.constant(1), loop_->axis.loop_axis, std::move(body)});
  }

  void requireInputsCovered() {
    for (TensorView* input : tensorsOf(program_.inputs())) {
      const std::optional<StreamAxis> axis = findStreamAxis(*input);
      TK_REQUIRE(
          !axis || used_.contains({input, axis->logical}), HostProgram,
          "Stream on {}: it is an input, and no stream loop runs along this axis of it; mark the output that reads it",
          describeAxis(*input, *axis->loop_axis));
    }
  }

  struct PairHash {
    size_t operator()(const std::pair<const TensorView*, const IterDomain*>& pair) const {
      return std::hash<const void*>{}(pair.first) * 31 + std::hash<const void*>{}(pair.second);
    }
  };

  HostIrContainer& program_;
  StreamSync sync_;
  DomainGraph graph_;
  Scalar* index_;
  Block result_;
  std::optional<StreamLoop> loop_;
  std::unordered_set<std::pair<const TensorView*, const IterDomain*>, PairHash> used_;
};

}  // namespace

void lowerStreams(HostIrContainer& program, StreamSync sync) {
  program.setTopLevel(StreamLowering(program, sync).run());
}

}  // namespace tokamak
