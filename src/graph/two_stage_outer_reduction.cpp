#include "graph/two_stage_outer_reduction.h"

#include <algorithm>
#include <set>

#include "define/reductions.h"
#include "define/shapes.h"
#include "graph/rewriter.h"
#include "ir/elementwise.h"
#include "ir/ops/math/reduction_op.h"

namespace tokamak {

namespace {

using Tensors = std::set<const TensorView*>;

bool haveOneShape(const TensorView& a, const TensorView& b) {
  const auto extentOf = [](const IterDomain* axis) { return axis->isBroadcast() ? nullptr : axis->extent(); };
  return std::ranges::equal(shapeOf(a), shapeOf(b), {}, extentOf, extentOf);
}

bool reducesOutermost(const ReductionOp& op) {
  for (size_t i = 0; i < op.axes.size(); ++i)
    if (op.axes[i] != static_cast<int64_t>(i)) return false;
  return op.axes.size() < shapeOf(*op.in).size();
}

bool reducesInnermost(const ReductionOp& op) {
  const auto rank = static_cast<int64_t>(shapeOf(*op.in).size());
  return op.axes.back() == rank - 1 && static_cast<int64_t>(op.axes.size()) < rank;
}

class OuterSums {
 public:
  OuterSums(const Fusion& fusion, const TwoStageParts& parts) : fusion_(fusion), parts_(parts) {}

  bool split(const Expr& expr, Cloner& cloner) const {
    const auto* op = expr.as<ReductionOp>();
    if (op == nullptr || !mayBeTwoStage(*op) || !hasOutputOfSameRows(*op)) return false;
    const size_t rows_axes = op->axes.size();
    TensorView* in = cloner.clone(op->in);
    Fusion& target = cloner.target();
    const Axes shape = shapeOf(*in);
    Scalar* rows = product(target, {shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(rows_axes)});
    const std::vector<IterDomain*> outer_axes(shape.begin() + static_cast<std::ptrdiff_t>(rows_axes), shape.end());
    const auto withOuterAxes = [&](std::vector<Scalar*> sizes) {
      for (const IterDomain* axis : outer_axes) sizes.push_back(axis->visibleExtent());
      return Operands(sizes);
    };
    if (rows_axes > 1) in = reshape(in, withOuterAxes({rows}));
    Scalar* parts = partialSumCount(target, rows, product(target, outer_axes));
    Scalar* turns = target.ceilDiv(rows, parts);
    std::vector<Scalar*> widths(2 * (1 + outer_axes.size()), target.constant(0));
    widths[1] = target.sub(target.mul(turns, parts), rows);
    TensorView* partial = sum(reshape(pad(in, Operands(widths)), withOuterAxes({turns, parts})), {0});
    TensorView* total = sum(partial, {0});
    total->setNamesOf(*op->out);
    cloner.substitute(op->out, total);
    return true;
  }

 private:
  static Scalar* product(Fusion& fusion, const std::vector<IterDomain*>& axes) {
    Scalar* result = fusion.constant(1);
    for (const IterDomain* axis : axes) result = fusion.mul(result, axis->visibleExtent());
    return result;
  }

  // At most one for two rows, so that partial sums have half of the operand's elements at most. At least two, so that
  // they have an axis.
  Scalar* partialSumCount(Fusion& fusion, Scalar* rows, Scalar* columns) const {
    Scalar* parts = fusion.constant(parts_.for_long_rows);
    if (parts_.max_multiple > 1) parts = fusion.mul(parts, blocksPerMultiprocessor(fusion, columns));
    if (parts_.max_rows > 0)
      parts = fusion.scalar(ScalarOp::Max, parts, fusion.ceilDiv(rows, fusion.constant(parts_.max_rows)));
    Scalar* most = fusion.scalar(ScalarOp::Max, fusion.ceilDiv(rows, fusion.constant(2)), fusion.constant(2));
    return fusion.scalar(ScalarOp::Min, parts, most);
  }

  // The number of blocks that run at once on a multiprocessor.
  Scalar* blocksPerMultiprocessor(Fusion& fusion, Scalar* columns) const {
    constexpr int64_t kLongRow = 8192;
    constexpr int64_t kFewOuterElements = 768;
    Scalar* length = fusion.scalar(ScalarOp::Max, columns, fusion.constant(kFewOuterElements));
    Scalar* times = fusion.scalar(ScalarOp::Min, fusion.ceilDiv(fusion.constant(kLongRow), length),
                                  fusion.constant(parts_.max_multiple));
    return fusion.scalar(ScalarOp::Select, fusion.scalar(ScalarOp::Less, columns, fusion.constant(kFewOuterElements)),
                         fusion.constant(parts_.multiple_for_short_rows), times);
  }

  static bool mayBeTwoStage(const ReductionOp& op) {
    const bool is_exact = op.out->dtype() == DataType::F32 || op.out->dtype() == DataType::F64;
    const auto isLong = [](const IterDomain* axis) {
      return !axis->isBroadcast() && !axis->extent()->isConstantInt(0);
    };
    return op.op == ReductionKind::Sum && is_exact && reducesOutermost(op) && isUnmarked(*op.out) &&
           isUnmarked(*op.in) && std::ranges::all_of(shapeOf(*op.in), isLong);
  }

  // The tensors of the operand's shape from which elementwise ops compute it, itself included.
  static Tensors sourcesOf(const ReductionOp& op) {
    Tensors sources;
    const auto visit = [&](const auto& self, const TensorView& tensor) -> void {
      if (!haveOneShape(tensor, *op.in) || !sources.insert(&tensor).second) return;
      if (tensor.definition() == nullptr || !isElementwise(*tensor.definition())) return;
      for (const TensorView* operand : tensorsOf(tensor.definition()->inputs())) self(self, *operand);
    };
    visit(visit, *op.in);
    return sources;
  }

  // Whether an output of the operand's shape depends on its sources (with only_with_row_reductions, through reductions
  // of rows), but not on outer sums, which are complete only after all rows.
  bool hasOutputOfSameRows(const ReductionOp& op) const {
    Tensors shared = sourcesOf(op);
    Tensors of_sums;
    Tensors of_row_sums;
    for (const Expr* expr : fusion_.exprs()) {
      if (expr->info().is_library || expr->info().is_communication) continue;
      const std::vector<TensorView*> operands = tensorsOf(expr->inputs());
      const auto isAmong = [&](const Tensors& tensors) {
        return std::ranges::any_of(operands, [&](const TensorView* operand) { return tensors.contains(operand); });
      };
      const auto* reduction = expr->as<ReductionOp>();
      const bool is_of_sums = isAmong(of_sums) || (reduction != nullptr && !reducesInnermost(*reduction));
      if (!is_of_sums && !isAmong(shared)) continue;
      const bool is_of_row_sums = !is_of_sums && (reduction != nullptr || isAmong(of_row_sums));
      for (const TensorView* output : tensorsOf(expr->outputs())) {
        (is_of_sums ? of_sums : shared).insert(output);
        if (is_of_row_sums) of_row_sums.insert(output);
      }
    }
    const Tensors& company = parts_.only_with_row_reductions ? of_row_sums : shared;
    return std::ranges::any_of(fusion_.outputs(), [&](const TensorView* output) {
      return haveOneShape(*output, *op.in) && company.contains(output);
    });
  }

  const Fusion& fusion_;
  TwoStageParts parts_;
};

}  // namespace

// Whether a tensor has marked loops or a mesh: these are for the axes as they are.
static bool isMarked(const Fusion& fusion) {
  return std::ranges::any_of(fusion.allTensors(), [](const TensorView* tensor) {
    return !tensor->mesh().empty() || std::ranges::any_of(tensor->loop(), [](const IterDomain* axis) {
      return axis->parallelType() != ParallelType::Serial;
    });
  });
}

// Three short rows at once hide the latency of memory; one long row fills the registers.
TwoStageParts twoStagePartsOfGpu(int64_t multiprocessors) {
  return {.for_long_rows = multiprocessors, .max_multiple = 8, .multiple_for_short_rows = 3};
}

// Independent of the number of processors, so that results are, too.
TwoStageParts twoStagePartsOfProcessors() {
  return {.for_long_rows = 16, .max_rows = 128, .only_with_row_reductions = true};
}

std::unique_ptr<Fusion> twoStageOuterReduction(const Fusion& fusion, const TwoStageParts& parts) {
  if (isMarked(fusion)) return cloneFusion(fusion);
  const OuterSums sums(fusion, parts);
  return rewriteFusion(fusion, [&](const Expr& expr, Cloner& cloner) { return sums.split(expr, cloner); });
}

}  // namespace tokamak
