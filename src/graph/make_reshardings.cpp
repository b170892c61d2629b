#include "graph/make_reshardings.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "analysis/resharding_steps.h"
#include "base/require.h"
#include "compute/axis_map.h"
#include "compute/reduced_axes.h"
#include "graph/op_shardings.h"
#include "graph/rewriter.h"
#include "ir/ops/math/linear_op.h"
#include "ir/ops/math/load_store_op.h"
#include "ir/ops/math/matmul_op.h"
#include "ir/ops/math/pointwise_op.h"
#include "schedule/shard.h"

namespace tokamak {

namespace {

using Form = MeshUse::Form;

using Streams = std::vector<MarkedParts>;

// --- meshes of tensors that have none ---

void giveMesh(TensorView& tensor, const DeviceMesh& mesh) {
  if (tensor.mesh().empty()) tensor.setMesh(mesh);
}

const DeviceMesh* firstMesh(std::span<TensorView* const> tensors) {
  const auto found = std::ranges::find_if(tensors, [](const TensorView* tensor) { return !tensor->mesh().empty(); });
  return found == tensors.end() ? nullptr : &(*found)->mesh();
}

void completeMeshes(Fusion& fusion) {
  const std::vector<Expr*> exprs = fusion.exprs();
  const auto give = [](std::span<TensorView* const> to, std::span<TensorView* const> from) {
    const DeviceMesh* mesh = firstMesh(from);
    if (mesh == nullptr) return;
    const DeviceMesh copy = *mesh;
    for (TensorView* tensor : to) giveMesh(*tensor, copy);
  };
  for (const Expr* expr : exprs) give(tensorsOf(expr->outputs()), tensorsOf(expr->inputs()));
  for (size_t i = exprs.size(); i-- > 0;) give(tensorsOf(exprs[i]->inputs()), tensorsOf(exprs[i]->outputs()));
  for (const Expr* expr : exprs) give(tensorsOf(expr->outputs()), tensorsOf(expr->inputs()));
  const std::vector<TensorView*> all = fusion.allTensors();
  give(all, all);
}

// --- the pass ---

class Reshardings {
 public:
  // False where the expression is local, or a resharding, as it is.
  bool replace(const Expr& expr, Cloner& cloner) {
    cloner_ = &cloner;
    if (const auto* op = expr.as<LoadStoreOp>()) return replaceSet(expr, *op);
    TensorView& out = *asTensor(expr.output(0));
    const OpShardings plan = localShardings(expr);
    const Sharding want = shardingOf(out);
    const auto* linear = expr.as<LinearOp>();
    const auto hasTerms = [](const MeshUse& use) { return use.form == Form::Partial; };
    const bool is_product = (linear != nullptr || expr.is<MatmulOp>()) && !(plan.result == want) &&
                            std::ranges::any_of(plan.result.uses, hasTerms);
    std::map<const TensorView*, TensorView*> read;
    bool is_as_given = plan.result == want;
    for (TensorView* operand : tensorsOf(expr.inputs())) {
      const bool is_behind = is_product && linear != nullptr && operand == linear->bias;
      if (is_behind && operand != linear->in && operand != linear->weight) continue;
      read[operand] = this->read(*operand, plan.operands.at(operand), streamsOfReader(expr, *operand));
      is_as_given = is_as_given && read[operand] == cloner.clone(operand);
    }
    if (is_as_given) return false;
    dealt_stream_ = dealtStreamOf(expr, plan);
    if (is_product) return replaceProduct(expr, plan, read);
    Fields fields = fieldsWith(expr, read);
    if (plan.result == want) {
      setResult(fields, cloner.clone(&out));
      cloner.target().append(makeExpr(expr.kind(), fields));
      return true;
    }
    TensorView* made = defineLike(out, out.dtype(), expr.kind(), std::move(fields), plan.result);
    give(out, reshard(made, plan.result, want, streamsOf(out)));
    return true;
  }

 private:
  Fusion& target() { return cloner_->target(); }

  // --- tensors of one sharding from those of another ---

  TensorView* read(TensorView& operand, const Sharding& need, const Streams& streams) {
    const Sharding given = shardingOf(operand);
    const auto isThere = [&](int64_t rank) {
      return std::ranges::find(given.mesh.devices, rank) != given.mesh.devices.end();
    };
    const bool is_whole_there = given.isWhole() && need.isWhole() && std::ranges::all_of(need.mesh.devices, isThere);
    if (is_whole_there) return cloner_->clone(&operand);
    return reshard(cloner_->clone(&operand), given, need, streams);
  }

  TensorView* reshard(TensorView* from, const Sharding& given, const Sharding& need, const Streams& streams) {
    for (const Sharding& next : pathOf(given, need)) from = set(from, next, streams);
    return from;
  }

  // The shardings between, and at the end `to`. What one rank collects and spreads is one Set: a tensor of that rank
  // alone would be a segment more.
  static std::vector<Sharding> pathOf(const Sharding& from, const Sharding& to) {
    std::vector<Sharding> path;
    for (ReshardingStep& step : reshardingSteps("make-reshardings", from, to))
      if (step.to.mesh == from.mesh || step.to.mesh == to.mesh) path.push_back(std::move(step.to));
    return path;
  }

  TensorView* set(TensorView* from, const Sharding& sharding, const Streams& streams) {
    std::vector<Copy>& copies = copies_[from];
    for (const Copy& copy : copies)
      if (copy.sharding == sharding && copy.streams == streams) return copy.tensor;
    LoadStoreOp op{.in = from};
    op.infer(ShapeRule(target(), LoadStoreOp::info.name));
    TensorView* made = asTensor(target().appendOp(op)->output(0));
    place(*made, sharding, streams);
    copies.push_back({sharding, streams, made});
    return made;
  }

  // Gives a new tensor a sharding of the source, and streams on axes that are not dealt out.
  void place(TensorView& made, Sharding sharding, const Streams& streams) {
    for (MeshUse& use : sharding.uses) use.parts = inTarget(std::move(use.parts));
    shard(made, sharding);
    for (const MarkedParts& stream : streams)
      if (sharding.dimensionOf(stream.axis) < 0) markParts(made, inTarget(stream), ParallelType::Stream);
  }

  MarkedParts inTarget(MarkedParts parts) {
    for (AxisCut& cut : parts.cuts) cut.factor = cloner_->clone(cut.factor);
    parts.chunk = cloner_->clone(parts.chunk);
    return parts;
  }

  // The dimension over which operands have parts of the axis that the result is streamed along, and which it reduces.
  static std::optional<size_t> dealtStreamOf(const Expr& expr, const OpShardings& plan) {
    const TensorView& out = *asTensor(expr.output(0));
    const std::optional<MarkedParts> stream = reducedStreamOf(out);
    if (!stream) return std::nullopt;
    const auto end = out.logical().begin() + stream->axis;
    const auto number = static_cast<size_t>(
        std::count_if(out.logical().begin(), end, [](const IterDomain* axis) { return axis->isReduction(); }));
    const AxisMap map(expr);
    const Element* const reduction = reductionOf(map.rule());
    for (const auto& [operand, sharding] : plan.operands) {
      for (size_t i = 0; i < sharding.uses.size(); ++i) {
        const MeshUse& use = sharding.uses[i];
        if (reduction == nullptr || use.form != Form::Chunk) continue;
        if (reducedAxis(*reduction, *operand, use.parts.axis) != number) continue;
        const Sharding own = shardingOf(out);
        const bool is_dealt = own.mesh == sharding.mesh && own.uses[i].form == Form::Chunk;
        TK_REQUIRE(is_dealt && use.parts.chunk == stream->chunk, HostProgram,
                   "make-reshardings: Stream on the reduction axis {} of {}: ranks have parts of it, which are {}; "
                   "stream the parts of ranks, of a result that is dealt out over them, or another axis",
                   stream->axis, nameOf(out), is_dealt ? "others than those of iterations" : "not those of the result");
        return i;
      }
    }
    return std::nullopt;
  }

  // An axis of which each rank has a part has been reduced before ranks meet. A loop over their parts gives each of
  // them its own part of the sum.
  void placeReducedStream(const TensorView& out, TensorView& made) {
    const std::optional<MarkedParts> stream = reducedStreamOf(out);
    if (!stream) return;
    if (!dealt_stream_) return markLogicalParts(made, inTarget(*stream), ParallelType::Stream);
    markParts(made, inTarget(shardingOf(out).uses[*dealt_stream_].parts), ParallelType::Stream);
  }

  // The streams of the reader's result along axes of the operand.
  static Streams streamsOfReader(const Expr& reader, const TensorView& operand) {
    Streams streams = streamsOf(*asTensor(reader.output(0)));
    if (streams.empty()) return streams;
    const AxisMap map(reader);
    Streams along;
    for (MarkedParts stream : streams) {
      const OperandCoordinateUse use = map.use(operand, stream.axis);
      if (use.use != CoordinateUse::Identity) continue;
      stream.axis = use.axes[0];
      along.push_back(std::move(stream));
    }
    return along;
  }

  // --- ops ---

  // A Set changes one dimension, or stands behind Sets that change the others.
  bool replaceSet(const Expr& expr, const LoadStoreOp& op) {
    const Sharding given = shardingOf(*op.in);
    const Sharding want = shardingOf(*op.out);
    TK_REQUIRE(canReshard(given, want), HostProgram,
               "make-reshardings: {} is {}, and {}, of which it is set, is not; leave partial out", nameOf(*op.out),
               toString(op.out->partials()[0]), nameOf(*op.in));
    std::vector<Sharding> path = pathOf(given, want);
    if (path.size() <= 1) return false;
    path.pop_back();
    TensorView* from = cloner_->clone(op.in);
    for (const Sharding& next : path) from = set(from, next, streamsOf(*op.out));
    Fields fields = fieldsWith(expr, {{op.in, from}});
    setResult(fields, cloner_->clone(op.out));
    target().append(makeExpr(expr.kind(), fields));
    return true;
  }

  // Sums of halves are sent as f32; what is behind the sum is done once all have it.
  bool replaceProduct(const Expr& expr, const OpShardings& plan, const std::map<const TensorView*, TensorView*>& read) {
    TensorView& out = *asTensor(expr.output(0));
    const Streams streams = streamsOf(out);
    const Sharding want = shardingOf(out);
    const bool is_half = out.dtype() == DataType::F16 || out.dtype() == DataType::BF16;
    TensorView* bias = expr.is<LinearOp>() ? expr.as<LinearOp>()->bias : nullptr;
    Fields fields = fieldsWith(expr, read);
    std::erase_if(fields, [](const Field& field) { return field.name == "bias"; });
    for (Field& field : fields)
      if (field.name == "dtype" && is_half) field.value = DataType::F32;
    TensorView* sum =
        defineLike(out, is_half ? DataType::F32 : out.dtype(), expr.kind(), std::move(fields), plan.result);
    sum = reshard(sum, plan.result, want, streams);
    if (bias != nullptr) sum = addBias(sum, *bias, want, streams);
    if (sum->dtype() != out.dtype())
      sum = define(findOp("cast")->kind,
                   {{FieldRole::Operand, "in", static_cast<Val*>(sum)}, {FieldRole::Attribute, "dtype", out.dtype()}},
                   want, streams);
    give(out, sum);
    return true;
  }

  // Along the last axis of the sum; its one element where the product is of a vector.
  TensorView* addBias(TensorView* sum, TensorView& bias, const Sharding& want, const Streams& streams) {
    const auto last = static_cast<int64_t>(shapeOf(*sum).size()) - 1;
    const bool has_axis = !shapeOf(bias).empty();
    const bool is_single = has_axis && shapeOf(bias)[0]->isBroadcast() && shapeOf(bias)[0]->expandedExtent() == nullptr;
    Sharding need = wholeOn(want.mesh);
    Sharding spread = need;  // of the bias among the axes of the sum
    for (size_t d = 0; d < want.uses.size(); ++d) {
      const MeshUse& own = want.uses[d];
      if (!has_axis || is_single || own.form != Form::Chunk || own.parts.axis != last) continue;
      need.uses[d] = spread.uses[d] = own;
      need.uses[d].parts.axis = 0;
    }
    TensorView* own = read(bias, need, {});
    if (own->dtype() != sum->dtype())
      own = define(findOp("cast")->kind,
                   {{FieldRole::Operand, "in", static_cast<Val*>(own)}, {FieldRole::Attribute, "dtype", sum->dtype()}},
                   need, {});
    if (last + (has_axis ? 0 : 1) > 0) {
      std::vector<bool> flags(static_cast<size_t>(last) + 1, true);
      if (has_axis) flags.back() = false;
      own = define(findOp("broadcast")->kind,
                   {{FieldRole::Operand, "in", static_cast<Val*>(own)}, {FieldRole::Attribute, "flags", flags}}, spread,
                   {});
    }
    PointwiseOp add{.function = FunctionId::add, .ins = {sum, own}};
    add.infer(ShapeRule(target(), "add"));
    TensorView* made = asTensor(target().appendOp(std::move(add))->output(0));
    place(*made, want, streams);
    return made;
  }

  // --- what expressions are made of ---

  Fields fieldsWith(const Expr& expr, const std::map<const TensorView*, TensorView*>& read) {
    const auto valOf = [&](Val* val) -> Val* {
      const auto found = read.find(asTensor(val));
      return val != nullptr && found != read.end() ? found->second : cloner_->clone(val);
    };
    Fields fields = fieldsOf(expr);
    std::erase_if(fields, [](const Field& field) {
      return field.role == FieldRole::Result || field.role == FieldRole::ResultList;
    });
    for (Field& field : fields) {
      if (auto* val = std::get_if<Val*>(&field.value)) *val = valOf(*val);
      if (auto* vals = std::get_if<std::vector<Val*>>(&field.value))
        std::ranges::transform(*vals, vals->begin(), valOf);
      if (auto* scalar = std::get_if<Scalar*>(&field.value)) *scalar = cloner_->clone(*scalar);
      if (auto* scalars = std::get_if<std::vector<Scalar*>>(&field.value))
        std::ranges::transform(*scalars, scalars->begin(), [&](Scalar* scalar) { return cloner_->clone(scalar); });
    }
    return fields;
  }

  static void setResult(Fields& fields, TensorView* out) {
    fields.insert(fields.begin(), {FieldRole::Result, "out", static_cast<Val*>(out)});
  }

  // A result with the axes of another tensor, which the op gave or nearly gave.
  TensorView* defineLike(TensorView& out, DataType dtype, OpKind kind, Fields fields, const Sharding& sharding) {
    Axes axes;
    for (const IterDomain* axis : out.logical())
      axes.push_back(target().axis({.kind = axis->kind(),
                                    .extent = cloner_->clone(axis->extent()),
                                    .expanded_extent = cloner_->clone(axis->expandedExtent()),
                                    .is_rfactor = axis->isRFactor()}));
    TensorView* made = target().tensor(dtype, std::move(axes));
    place(*made, sharding, streamsOf(out));
    placeReducedStream(out, *made);
    setResult(fields, made);
    target().append(makeExpr(kind, fields));
    return made;
  }

  TensorView* define(OpKind kind, const Fields& fields, const Sharding& sharding, const Streams& streams) {
    TensorView* made = asTensor(defineExpr(target(), kind, fields)->output(0));
    place(*made, sharding, streams);
    return made;
  }

  // `made`, which has the marks of `out`, takes its names, its memory and its layout, too.
  void give(TensorView& out, TensorView* made) {
    made->setNamesOf(out);
    made->setMemoryType(out.memoryType());
    made->setMemoryKind(out.memoryKind());
    TensorDomain& domain = made->mutableDomain();
    domain.stride_order = out.domain().stride_order;
    domain.stride_order_hint = out.domain().stride_order_hint;
    const Axes shape = shapeOf(out);
    const Axes& stored = out.domain().allocation.empty() ? out.logical() : out.domain().allocation;
    Axes allocation;
    std::vector<std::optional<bool>> contiguity;
    for (size_t i = 0; i < stored.size(); ++i) {
      const auto found = std::ranges::find(shape, stored[i]);
      if (found == shape.end()) continue;
      allocation.push_back(shapeOf(*made)[static_cast<size_t>(found - shape.begin())]);
      contiguity.push_back(out.domain().contiguity[i]);
    }
    if (allocation.size() == shape.size() && allocation.size() == domain.logical.size()) {
      if (allocation != domain.logical) domain.allocation = std::move(allocation);
      domain.contiguity = std::move(contiguity);
    }
    cloner_->substitute(&out, made);
  }

  struct Copy {
    Sharding sharding;
    Streams streams;
    TensorView* tensor = nullptr;
  };

  Cloner* cloner_ = nullptr;
  std::optional<size_t> dealt_stream_;  // of the expression that is replaced
  std::map<TensorView*, std::vector<Copy>, ById> copies_;
};

void requireUpdatesInPlace(const Fusion& fusion) {
  for (const auto& [output, alias] : fusion.outputAliases()) {
    const TensorView* input = asTensor(alias.target);
    const bool is_same = input == nullptr || shardingOf(*output) == shardingOf(*input);
    TK_REQUIRE(is_same, HostProgram,
               "make-reshardings: {} updates {}, and its ranks have other parts of it; give both the same marks",
               nameOf(*output), nameOf(*input));
  }
}

}  // namespace

std::unique_ptr<Fusion> makeReshardings(const Fusion& fusion) {
  const std::unique_ptr<Fusion> source = cloneFusion(fusion);
  completeMeshes(*source);
  if (firstMesh(source->allTensors()) == nullptr) return cloneFusion(fusion);
  requireUpdatesInPlace(*source);
  Reshardings reshardings;
  return rewriteFusion(*source, [&](const Expr& expr, Cloner& cloner) { return reshardings.replace(expr, cloner); });
}

}  // namespace tokamak
