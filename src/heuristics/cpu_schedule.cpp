#include "heuristics/cpu_schedule.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "device_code/device_code.h"
#include "heuristics/axis_groups.h"
#include "ir/ops/math/pointwise_op.h"
#include "ir/ops/math/reduction_op.h"
#include "schedule/rfactor.h"
#include "schedule/transforms.h"

namespace tokamak {

namespace {

using Numbers = std::vector<int64_t>;

bool isReduced(const TensorView& tensor) {
  return tensor.definition() != nullptr && tensor.definition()->is<ReductionOp>();
}

bool isInDeviceCode(const PointwiseOp& op) {
  const auto types = functionTypes(op.function, op.ins.back()->dtype());
  return types && hasFunction(op.function, types->operand);
}

// Merges the loops [first, last) into one, which is then loop `first`.
void mergeRange(TensorView& tensor, int64_t first, int64_t last) {
  for (int64_t i = first + 1; i < last; ++i) merge(&tensor, first);
}

Numbers range(int64_t first, int64_t last) {
  Numbers numbers;
  for (int64_t i = first; i < last; ++i) numbers.push_back(i);
  return numbers;
}

class CpuScheduler {
 public:
  CpuScheduler(Fusion& fusion, CpuScheduleParameters parameters)
      : fusion_(fusion), parameters_(parameters), strides_(globalStrides(fusion)) {
    analysis_.assumeExtents(fusion);
  }

  /// Why it cannot be one kernel, or nothing. Finds the rows.
  std::optional<std::string> findRows(bool may_be_single_block) {
    may_be_single_block_ = may_be_single_block;
    for (const Expr* expr : fusion_.exprs()) {
      if (expr->info().is_library) return fmt::format("{} is a library call", expr->name());
      const auto* pointwise = expr->as<PointwiseOp>();
      if (pointwise != nullptr && !isInDeviceCode(*pointwise))
        return fmt::format("{} has no device code", functionInfo(pointwise->function).name);
      for (TensorView* tensor : tensorsOf(expr->outputs())) {
        if (fusion_.isOutput(tensor) || isReduced(*tensor)) stored_.push_back(tensor);
      }
    }
    const std::set<const TensorView*> stored(stored_.begin(), stored_.end());
    for (const TensorView* tensor : stored_) {
      if (auto problem = findRowsOf(*tensor, stored)) return problem;
    }
    return std::nullopt;
  }

  void run() {
    for (TensorView* tensor : stored_) {
      if (isReduced(*tensor))
        scheduleReduction(*tensor);
      else if (rows_.contains(tensor))
        giveRows(*tensor, loopsOf(*tensor, rows_[tensor]));
      else
        schedulePointwise(*tensor);
    }
    // Reductions that are followed are computed in their row; what is not stored is computed where it is read.
    for (TensorView* tensor : fusion_.allTensors()) {
      if (fusion_.isInput(tensor) || fusion_.isOutput(tensor)) continue;
      const bool is_row = isReduced(*tensor) && followed_.contains(tensor) && !rows_[tensor].empty();
      if (std::ranges::find(partials_, tensor) != partials_.end()) continue;
      if (is_row || !isReduced(*tensor)) tensor->mutableDomain().inline_position = is_row ? 1 : tensor->axisCount();
    }
  }

 private:
  // Its rows are the axes (of the visible shape) along which it follows the reductions that it reads; a reduction that reads none has all
  // its axes as rows.
  std::optional<std::string> findRowsOf(const TensorView& tensor, const std::set<const TensorView*>& stored) {
    const ElementRule& rule = rules_.of(*tensor.definition());
    Substitution same(fusion_);
    TensorReads reads(fusion_, analysis_, rules_,
                      [&](const TensorView& read) { return isReduced(read) && stored.contains(&read); });
    std::optional<Numbers> rows;
    for (const TensorRead& read : reads.of(*rule.value, same)) {
      if (!isReduced(*read.tensor)) continue;
      Numbers follows;
      for (const int64_t row : rows_[read.tensor]) {
        const auto found = std::ranges::find(rule.coordinates, read.index[static_cast<size_t>(row)]);
        const bool is_whole =
            found != rule.coordinates.end() && rule.extents[static_cast<size_t>(found - rule.coordinates.begin())] ==
                                                   shapeOf(*read.tensor)[static_cast<size_t>(row)]->visibleExtent();
        if (!is_whole)
          return fmt::format("{} reads the reduction {} at {}", nameOf(tensor), nameOf(*read.tensor),
                             toString(*read.index[static_cast<size_t>(row)]));
        follows.push_back(found - rule.coordinates.begin());
      }
      followed_.insert(read.tensor);
      following_.insert(&tensor);
      if (follows.empty() && may_be_single_block_) {
        is_single_block_ = true;
        continue;
      }
      if (follows.empty())
        return fmt::format("{} reads {}, which is complete only after all blocks", nameOf(tensor),
                           nameOf(*read.tensor));
      if (rows && *rows != follows) return fmt::format("{} reads reductions along different axes", nameOf(tensor));
      const std::set<int64_t> different(follows.begin(), follows.end());
      if (different.size() != follows.size())
        return fmt::format("{} reads {} along a diagonal", nameOf(tensor), nameOf(*read.tensor));
      rows = follows;
    }
    if (isReduced(tensor)) {
      Numbers all;
      const Axes shape = shapeOf(tensor);
      for (size_t i = 0; i < shape.size(); ++i) {
        if (!shape[i]->isBroadcast()) all.push_back(static_cast<int64_t>(i));
      }
      if (rows && *rows != all)
        return fmt::format("{} is a reduction within a row that has further axes", nameOf(tensor));
      rows = all;
    }
    if (rows) rows_[&tensor] = *rows;
    return std::nullopt;
  }

  // One block per row: the given loops come first and become one; the others stay loops of the block.
  void giveRows(TensorView& tensor, const Numbers& rows) {
    Numbers order = rows;
    for (const int64_t i : range(0, tensor.axisCount())) {
      if (std::ranges::find(rows, i) == rows.end()) order.push_back(i);
    }
    if (order != range(0, tensor.axisCount())) reorder(&tensor, order);
    if (rows.empty()) return;
    mergeRange(tensor, 0, static_cast<int64_t>(rows.size()));
    if (!is_single_block_) parallelize(&tensor, 0, ParallelType::BIDx);
  }

  // Positions among the loops of the axes of the visible shape.
  static Numbers loopsOf(const TensorView& tensor, const Numbers& axes) {
    const Axes shape = shapeOf(tensor);
    Numbers loops;
    for (const int64_t axis : axes)
      loops.push_back(std::ranges::find(tensor.loop(), shape[static_cast<size_t>(axis)]) - tensor.loop().begin());
    return loops;
  }

  void scheduleReduction(TensorView& tensor) {
    Numbers rows;
    for (const int64_t i : range(0, tensor.axisCount())) {
      if (!tensor.axis(i)->isReduction() && !tensor.axis(i)->isBroadcast()) rows.push_back(i);
    }
    const bool is_outer = !rows.empty() && rows.back() == tensor.axisCount() - 1 && !followed_.contains(&tensor) &&
                          !following_.contains(&tensor);
    if (!is_outer) {
      giveRows(tensor, rows);
      accumulateSideBySide(tensor);
      return;
    }
    // The reduction runs over outer axes: a block takes some columns and goes through them side by side.
    const int64_t last = tensor.axisCount() - 1;
    split(&tensor, last, fusion_.constant(parameters_.columns));
    rows.back() = last;
    giveRows(tensor, rows);
  }

  // Several partial results along the innermost reduction axis, combined at the end of the row: the compiler makes vectors of them.
  void accumulateSideBySide(TensorView& tensor) {
    const int64_t last = tensor.axisCount() - 1;
    const auto extent = tensor.axis(last)->extent()->constantInt();
    if (!tensor.axis(last)->isReduction() || (extent && *extent <= parameters_.lanes)) return;
    split(&tensor, last, fusion_.constant(parameters_.lanes));
    Numbers others;
    for (const int64_t i : range(0, last + 1)) {
      if (tensor.axis(i)->isReduction()) others.push_back(i);
    }
    partials_.push_back(rfactor(&tensor, others));
  }

  void schedulePointwise(TensorView& tensor) {
    const AxisGroups groups(fusion_, tensor, strides_);
    const auto inner = static_cast<int64_t>(groups.innermostGroup());
    const int64_t count = tensor.axisCount();
    if (count == 0) return;
    mergeRange(tensor, inner, count);
    mergeRange(tensor, 0, inner);
    const int64_t last = tensor.axisCount() - 1;
    split(&tensor, last, fusion_.constant(parameters_.chunk));
    mergeRange(tensor, 0, last + 1);
    if (!is_single_block_) parallelize(&tensor, 0, ParallelType::BIDx);
  }

  Fusion& fusion_;
  CpuScheduleParameters parameters_;
  Strides strides_;
  IntervalAnalysis analysis_;
  std::vector<TensorView*> stored_;
  RuleTable rules_;
  std::map<const TensorView*, Numbers> rows_;
  std::set<const TensorView*> followed_;   // by other stored tensors, row by row
  std::set<const TensorView*> following_;  // the others
  std::vector<TensorView*> partials_;
  bool may_be_single_block_ = true;
  bool is_single_block_ = false;  // something is complete only when all of it has been reduced
};

}  // namespace

std::optional<std::string> whyNoCpuKernel(Fusion& fusion) {
  return CpuScheduler(fusion, {}).findRows(/*may_be_single_block=*/false);
}

void scheduleForCpu(Fusion& fusion, const CpuScheduleParameters& parameters) {
  CpuScheduler scheduler(fusion, parameters);
  const auto problem = scheduler.findRows(/*may_be_single_block=*/true);
  TK_REQUIRE(!problem, Schedule, "no kernel for the processor: {}", *problem);
  scheduler.run();
}

}  // namespace tokamak
