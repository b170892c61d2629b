#include "heuristics/online_softmax.h"

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include "ir/extent_assumptions.h"
#include "ir/ops/math/broadcast_op.h"
#include "ir/ops/math/cast_op.h"
#include "ir/ops/math/load_store_op.h"
#include "ir/ops/math/pad_op.h"
#include "ir/ops/math/pointwise_op.h"
#include "ir/ops/math/reduction_op.h"
#include "ir/ops/math/reshape_op.h"

namespace tokamak {

namespace {

template <class Op>
const Op* definitionOf(const TensorView& tensor) {
  return tensor.definition() == nullptr ? nullptr : tensor.definition()->as<Op>();
}

// The tensor before widening casts.
TensorView* beforeCasts(TensorView* tensor) {
  for (const auto* op = definitionOf<CastOp>(*tensor); op != nullptr; op = definitionOf<CastOp>(*tensor)) {
    const bool is_widening =
        isFloatingType(op->in->dtype()) && isFloatingType(op->dtype) && sizeOf(op->in->dtype()) < sizeOf(op->dtype);
    if (!is_widening) break;
    tensor = op->in;
  }
  return tensor;
}

TensorView* beforeBroadcasts(TensorView* tensor) {
  for (;;) {
    tensor = beforeCasts(tensor);
    const auto* op = definitionOf<BroadcastOp>(*tensor);
    if (op == nullptr) return tensor;
    tensor = op->in;
  }
}

const PointwiseOp* functionOf(const TensorView& tensor, std::initializer_list<FunctionId> functions) {
  const auto* op = definitionOf<PointwiseOp>(tensor);
  return op != nullptr && std::ranges::find(functions, op->function) != functions.end() ? op : nullptr;
}

// sum(exp(values - maximum)), each through casts to wider types.
struct SumOfExponentials {
  const ReductionOp* reduction = nullptr;
  const PointwiseOp* exponential = nullptr;
  const PointwiseOp* difference = nullptr;
  TensorView* values = nullptr;
  TensorView* maximum = nullptr;
};

std::optional<SumOfExponentials> matchSum(const TensorView& sum) {
  SumOfExponentials match;
  match.reduction = definitionOf<ReductionOp>(sum);
  if (match.reduction == nullptr || match.reduction->op != ReductionKind::Sum) return std::nullopt;
  match.exponential = functionOf(*beforeCasts(match.reduction->in), {FunctionId::exp, FunctionId::exp2});
  if (match.exponential == nullptr) return std::nullopt;
  match.difference = functionOf(*beforeCasts(asTensor(match.exponential->ins[0])), {FunctionId::sub});
  if (match.difference == nullptr) return std::nullopt;
  TensorView* left = asTensor(match.difference->ins[0]);
  TensorView* right = asTensor(match.difference->ins[1]);
  // Differences in a half type are rounded: relative to another maximum they would be rounded otherwise.
  if (left == nullptr || right == nullptr || sizeOf(match.difference->out->dtype()) < 4) return std::nullopt;
  match.values = beforeCasts(left);
  match.maximum = beforeBroadcasts(right);
  const auto* maximum = definitionOf<ReductionOp>(*match.maximum);
  if (maximum == nullptr || maximum->op != ReductionKind::Max || maximum->axes != match.reduction->axes)
    return std::nullopt;
  return beforeCasts(maximum->in) == match.values ? std::optional(match) : std::nullopt;
}

// Whether each element of the sum needs the value at its own index and the maximum of its own row.
bool isReadAtOwnIndex(Fusion& fusion, const SumOfExponentials& match) {
  IntervalAnalysis analysis;
  assumeExtents(analysis, fusion);
  RuleTable rules;
  const ElementRule& rule = rules.of(*match.reduction->out->definition());
  std::vector<Scalar*> row = rule.coordinates;
  std::vector<Scalar*> own_index = row;
  own_index.insert(own_index.begin() + match.reduction->axes[0], rule.value->axes[0].coordinate);
  TensorReads reads(fusion, analysis, rules,
                    [&](const TensorView& read) { return &read == match.values || &read == match.maximum; });
  Substitution same(fusion);
  for (const TensorRead& read : reads.of(*rule.value->operands[0], same)) {
    const std::vector<Scalar*>& own = read.tensor == match.maximum ? row : own_index;
    const Axes shape = shapeOf(*read.tensor);
    if (shape.size() != own.size()) return false;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (!shape[i]->isBroadcast() && read.index[i] != own[i]) return false;
    }
  }
  return true;
}

bool isRowReduction(const ReductionStructure& structure, const TensorView& tensor) {
  return std::ranges::find(structure.stored(), &tensor) != structure.stored().end() && structure.hasRows(tensor) &&
         !structure.isRecomputed(tensor) && tensor.domain().root.empty();
}

// Whether the values are computed from the maximum or a sum of one of the rows: they are known when that row was read.
bool needsRow(const TensorView& values, const std::vector<SoftmaxReductions>& rows) {
  std::set<const TensorView*> seen;
  std::vector<const TensorView*> open = {&values};
  while (!open.empty()) {
    const TensorView* tensor = open.back();
    open.pop_back();
    if (!seen.insert(tensor).second) continue;
    const bool is_of_row = std::ranges::any_of(rows, [&](const SoftmaxReductions& row) {
      return row.maximum == tensor || std::ranges::find(row.sums, tensor) != row.sums.end();
    });
    if (is_of_row) return true;
    if (tensor->definition() == nullptr) continue;
    for (Val* input : tensor->definition()->inputs()) {
      if (const TensorView* read = asTensor(input)) open.push_back(read);
    }
  }
  return false;
}

// Inserts ops in front of an expression.
class ChunkWriter {
 public:
  ChunkWriter(Fusion& fusion, const Expr* insertion_point) : fusion_(fusion), insertion_point_(insertion_point) {}

  template <class Op>
  TensorView* insert(Op op) {
    op.infer(ShapeRule(fusion_, Op::info.name));
    TensorView* out = op.out;
    fusion_.insertBefore(insertion_point_, std::make_unique<OpNode<Op>>(std::move(op)));
    return out;
  }
  TensorView* cast(TensorView* in, DataType dtype) {
    return in->dtype() == dtype ? in : insert(CastOp{.in = in, .dtype = dtype});
  }
  TensorView* apply(FunctionId function, std::vector<Val*> ins) {
    return insert(PointwiseOp{.function = function, .ins = std::move(ins)});
  }
  TensorView* reduce(TensorView* in, ReductionKind kind, std::vector<int64_t> axes) {
    return insert(ReductionOp{.in = in, .op = kind, .axes = std::move(axes)});
  }
  // With new axes at these places of the result.
  TensorView* broadcast(TensorView* in, const std::vector<int64_t>& axes) {
    std::vector<bool> flags(shapeOf(*in).size() + axes.size(), false);
    for (const int64_t axis : axes) flags[static_cast<size_t>(axis)] = true;
    return insert(BroadcastOp{.in = in, .flags = std::move(flags)});
  }
  Scalar* number(double value, DataType dtype) { return fusion_.constant(ScalarValue{value}, dtype); }

 private:
  Fusion& fusion_;
  const Expr* insertion_point_;
};

constexpr double kLowest = -std::numeric_limits<double>::infinity();

// [..., length, ...] becomes [..., chunks, vectors, threads, vector, ...].
TensorView* cut(ChunkWriter& writer, const SoftmaxReductions& row, const ChunkSize& size) {
  Fusion& fusion = row.values->fusion();
  const auto axis = static_cast<size_t>(row.axis);
  const int64_t chunks = chunksOf(row.length, size);
  const int64_t missing = chunks * size.elements() - row.length;
  TensorView* whole = row.values;
  if (missing > 0) {
    std::vector<Scalar*> widths(2 * shapeOf(*whole).size(), fusion.constant(0));
    widths[2 * axis + 1] = fusion.constant(missing);
    whole =
        writer.insert(PadOp{.in = whole, .widths = std::move(widths), .value = writer.number(kLowest, whole->dtype())});
  }
  std::vector<Scalar*> shape;
  const Axes axes = shapeOf(*row.values);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (i != axis) {
      shape.push_back(axes[i]->visibleExtent());
      continue;
    }
    for (const int64_t extent : {chunks, size.vectors, size.threads, size.vector})
      shape.push_back(fusion.constant(extent));
  }
  TensorView* parts = writer.insert(ReshapeOp{.in = whole, .shape = std::move(shape)});
  return writer.insert(LoadStoreOp{.in = parts});
}

// Redefines a reduction: it reduces `axes` of `in` instead of the one axis before.
void redefine(TensorView& tensor, TensorView* in, ReductionKind kind, std::vector<int64_t> axes) {
  Fusion& fusion = tensor.fusion();
  TensorDomain& domain = tensor.mutableDomain();
  const auto first = static_cast<std::ptrdiff_t>(axes.front());
  const Axes shape = shapeOf(*in);
  domain.logical.erase(domain.logical.begin() + first);
  for (const int64_t axis : axes) {
    domain.logical.insert(
        domain.logical.begin() + axis,
        fusion.axis({.kind = IterKind::Reduction, .extent = shape[static_cast<size_t>(axis)]->visibleExtent()}));
  }
  domain.loop = domain.logical;
  if (domain.allocation.empty()) domain.contiguity.insert(domain.contiguity.begin() + first, std::nullopt);
  fusion.replaceExpr(tensor.definition(), std::make_unique<OpNode<ReductionOp>>(
                                              ReductionOp{.out = &tensor, .in = in, .op = kind, .axes = axes}));
}

}  // namespace

std::vector<SoftmaxReductions> findSoftmaxReductions(const ReductionStructure& structure) {
  std::vector<SoftmaxReductions> found;
  for (TensorView* sum : structure.stored()) {
    const auto match = matchSum(*sum);
    if (!match || match->reduction->axes.size() != 1 || !isRowReduction(structure, *sum) ||
        !isRowReduction(structure, *match->maximum) || structure.rowsOf(*sum) != structure.rowsOf(*match->maximum))
      continue;
    const int64_t axis = match->reduction->axes[0];
    const Axes shape = shapeOf(*match->values);
    const auto length = shape[static_cast<size_t>(axis)]->extent()->constantInt();
    const bool is_expanded =
        std::ranges::any_of(shape, [](const IterDomain* each) { return each->expandedExtent() != nullptr; });
    if (!length || *length < 2 || is_expanded || !isReadAtOwnIndex(structure.fusion(), *match)) continue;
    const auto known = std::ranges::find(found, match->maximum, &SoftmaxReductions::maximum);
    if (known != found.end())
      known->sums.push_back(sum);
    else
      found.push_back({match->maximum, {sum}, match->values, axis, *length});
  }
  // A softmax of what another one gives has its chunks when the other has all of its own: these loops cannot be one.
  const std::vector<SoftmaxReductions> all = found;
  std::erase_if(found, [&](const SoftmaxReductions& row) { return needsRow(*row.values, all); });
  return found;
}

int64_t chunksOf(int64_t length, const ChunkSize& size) { return (length + size.elements() - 1) / size.elements(); }

std::vector<ChunkTensor> makeOnlineSoftmax(const ReductionStructure& structure, const SoftmaxReductions& row,
                                           const ChunkSize& size) {
  using Part = ChunkTensor::Part;
  const int64_t axis = row.axis;
  const std::vector<int64_t> within = {axis + 1, axis + 3};
  const std::vector<int64_t> chunks = {axis, axis + 1};
  std::vector<ChunkTensor> tensors;
  const auto add = [&](TensorView* tensor, Part part) {
    ChunkTensor chunk{tensor, part, axis, structure.rowsOf(*row.maximum)};
    const int64_t axes = part == Part::Elements || part == Part::Sum ? 4 : 2;
    for (int64_t& each : chunk.rows) each += each < axis ? 0 : axes;
    tensors.push_back(std::move(chunk));
  };

  std::vector<SumOfExponentials> matches;
  for (const TensorView* sum : row.sums) matches.push_back(*matchSum(*sum));
  const DataType type = definitionOf<ReductionOp>(*row.maximum)->in->dtype();

  ChunkWriter writer(structure.fusion(), row.maximum->definition());
  TensorView* elements = cut(writer, row, size);
  add(elements, Part::Elements);
  TensorView* chunk_maximum = writer.reduce(writer.cast(elements, type), ReductionKind::Max, within);
  add(chunk_maximum, Part::Elements);
  // Differences to -inf are NaN. In a chunk of nothing but -inf all exponentials have to be 0.
  TensorView* finite_maximum = writer.apply(
      FunctionId::where, {writer.apply(FunctionId::isneginf, {chunk_maximum}), writer.number(0, type), chunk_maximum});
  TensorView* persistent = writer.insert(LoadStoreOp{.in = chunk_maximum});
  add(persistent, Part::Persistent);
  std::vector<TensorView*> partial;
  for (const SumOfExponentials& match : matches) {
    const DataType exact = match.difference->out->dtype();
    const DataType wide = match.exponential->out->dtype();
    TensorView* difference = writer.apply(
        FunctionId::sub, {writer.cast(elements, exact), writer.broadcast(writer.cast(finite_maximum, exact), within)});
    // Each sum has a term of 1, that of the chunk's maximum.
    const FunctionId function = match.exponential->function;
    TensorView* power =
        writer.apply(function == FunctionId::exp ? FunctionId::exp_term : function, {writer.cast(difference, wide)});
    partial.push_back(writer.reduce(writer.cast(power, match.reduction->in->dtype()), ReductionKind::Sum, within));
    add(partial.back(), Part::Sum);
  }
  redefine(*row.maximum, chunk_maximum, ReductionKind::Max, chunks);
  add(row.maximum, Part::Row);
  for (size_t i = 0; i < matches.size(); ++i) {
    const SumOfExponentials& match = matches[i];
    ChunkWriter after(structure.fusion(), row.sums[i]->definition());
    const DataType exact = match.difference->out->dtype();
    TensorView* difference = after.apply(
        FunctionId::sub, {after.cast(persistent, exact), after.broadcast(after.cast(row.maximum, exact), chunks)});
    TensorView* power =
        after.apply(match.exponential->function, {after.cast(difference, match.exponential->out->dtype())});
    TensorView* part = after.apply(FunctionId::mul, {partial[i], after.cast(power, partial[i]->dtype())});
    redefine(*row.sums[i], part, ReductionKind::Sum, chunks);
    add(row.sums[i], Part::Row);
  }
  return tensors;
}

void useExpTerms(const ReductionStructure& structure, const std::set<const TensorView*>& persistent) {
  const auto isPersistent = [&](const SumOfExponentials& match) {
    const TensorView* tensor = match.reduction->in;
    for (; tensor != match.exponential->out; tensor = definitionOf<CastOp>(*tensor)->in) {
      if (persistent.contains(tensor)) return true;
    }
    return persistent.contains(tensor);
  };
  for (const SoftmaxReductions& row : findSoftmaxReductions(structure)) {
    for (TensorView* sum : row.sums) {
      const SumOfExponentials match = *matchSum(*sum);
      if (match.exponential->function != FunctionId::exp || isPersistent(match)) continue;
      Fusion& fusion = structure.fusion();
      ChunkWriter writer(fusion, sum->definition());
      TensorView* term = writer.apply(FunctionId::exp_term, match.exponential->ins);
      ReductionOp shortened = *match.reduction;
      shortened.in = writer.cast(term, match.reduction->in->dtype());
      fusion.replaceExpr(sum->definition(), std::make_unique<OpNode<ReductionOp>>(std::move(shortened)));
    }
  }
}

}  // namespace tokamak
