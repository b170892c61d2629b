#include "heuristics/cpu_schedule.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "heuristics/axis_groups.h"
#include "ir/ops/math/reduction_op.h"
#include "schedule/transforms.h"

namespace tokamak {

namespace {

using Numbers = std::vector<int64_t>;

bool isReduced(const TensorView& tensor) { return tensor.definition() != nullptr && tensor.definition()->is<ReductionOp>(); }

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
  CpuScheduler(Fusion& fusion, const CpuScheduleParameters& parameters)
      : fusion_(fusion), parameters_(parameters), strides_(globalStrides(fusion)) {
    analysis_.assumeExtents(fusion);
  }

  void run() {
    for (TensorView* tensor : fusion_.allTensors()) {
      if (fusion_.isInput(tensor)) continue;
      const bool is_stored = fusion_.isOutput(tensor) || isReduced(*tensor);
      tensor->mutableDomain().inline_position = is_stored ? 0 : tensor->axisCount();
      if (is_stored) stored_.push_back(tensor);
    }
    findReads();
    for (TensorView* tensor : stored_) {
      if (isReduced(*tensor))
        scheduleReduction(*tensor);
      else if (!rows_[tensor].empty())
        scheduleRows(*tensor);
      else
        schedulePointwise(*tensor);
    }
  }

 private:
  // Which coordinates of a tensor say what it reads of reductions: those are its rows.
  void findReads() {
    RuleTable rules;
    const std::set<const TensorView*> stored(stored_.begin(), stored_.end());
    for (const TensorView* tensor : stored_) {
      const ElementRule& rule = rules.of(*tensor->definition());
      Substitution same(fusion_);
      TensorReads reads(fusion_, analysis_, rules,
                        [&](const TensorView& read) { return isReduced(read) && stored.contains(&read); });
      for (const TensorRead& read : reads.of(*rule.value, same)) {
        if (!isReduced(*read.tensor)) continue;
        for (Scalar* index : read.index) {
          const auto found = std::ranges::find(rule.coordinates, index);
          if (found != rule.coordinates.end()) rows_[tensor].insert(found - rule.coordinates.begin());
        }
        if (!read.index.empty()) followed_.insert(read.tensor);
      }
    }
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
    parallelize(&tensor, 0, ParallelType::BIDx);
  }

  // Positions among the loops of the axes of the visible shape.
  static Numbers loopsOf(const TensorView& tensor, const std::set<int64_t>& axes) {
    const Axes shape = shapeOf(tensor);
    Numbers loops;
    for (const int64_t axis : axes)
      loops.push_back(std::ranges::find(tensor.loop(), shape[static_cast<size_t>(axis)]) - tensor.loop().begin());
    return loops;
  }

  void scheduleRows(TensorView& tensor) { giveRows(tensor, loopsOf(tensor, rows_[&tensor])); }

  void scheduleReduction(TensorView& tensor) {
    Numbers rows;
    for (const int64_t i : range(0, tensor.axisCount())) {
      if (!tensor.axis(i)->isReduction()) rows.push_back(i);
    }
    const bool is_outer = !rows.empty() && rows.back() == tensor.axisCount() - 1 && !followed_.contains(&tensor);
    if (!is_outer) {
      giveRows(tensor, rows);
      if (followed_.contains(&tensor)) tensor.mutableDomain().inline_position = 1;
      return;
    }
    // The reduction runs over outer axes: a block takes some columns and goes through them side by side.
    const int64_t last = tensor.axisCount() - 1;
    split(&tensor, last, fusion_.constant(parameters_.columns));
    rows.back() = last;
    giveRows(tensor, rows);
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
    parallelize(&tensor, 0, ParallelType::BIDx);
  }

  Fusion& fusion_;
  const CpuScheduleParameters& parameters_;
  Strides strides_;
  IntervalAnalysis analysis_;
  std::vector<TensorView*> stored_;
  std::map<const TensorView*, std::set<int64_t>> rows_;
  std::set<const TensorView*> followed_;
};

}  // namespace

std::optional<std::string> whyNoCpuKernel(const Fusion& fusion) {
  for (const Expr* expr : fusion.exprs()) {
    if (expr->info().is_library) return fmt::format("{} is a library call", expr->name());
    if (expr->outputs().size() != 1) return fmt::format("{} has several results", expr->name());
  }
  return std::nullopt;
}

void scheduleForCpu(Fusion& fusion, const CpuScheduleParameters& parameters) { CpuScheduler(fusion, parameters).run(); }

}  // namespace tokamak
