#include "host/ir/input_updates.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "graph/rewriter.h"
#include "ir/elementwise.h"
#include "ir/ops/math/broadcast_op.h"
#include "ir/ops/math/expand_op.h"
#include "ir/ops/math/full_op.h"
#include "ir/ops/math/load_store_op.h"
#include "ir/ops/math/reshape_op.h"
#include "schedule/schedule_checks.h"

namespace tokamak {

namespace {

class UpdatePlanner {
 public:
  UpdatePlanner(const Fusion& fusion, std::span<const SegmentedGroup> groups, GroupRuns runs)
      : fusion_(fusion), groups_(groups), runs_(runs) {
    for (const SegmentedGroup& group : groups) findBoundSets(group);
    for (const auto& [output, alias] : fusion.outputAliases()) {
      if (!fusion.isInput(output)) updates_.at_once.insert(output);
    }
  }

  // Each update that has to wait is one more reader at the end, for which others may have to wait, too.
  InputUpdates run() {
    bool is_changed = true;
    while (is_changed) {
      is_changed = false;
      for (const auto& [output, alias] : fusion_.outputAliases()) {
        if (!updates_.at_once.contains(output) || mayBeAtOnce(*output, *asTensor(alias.target))) continue;
        updates_.at_once.erase(output);
        is_changed = true;
      }
    }
    orderLateUpdates();
    return std::move(updates_);
  }

 private:
  // Sets that may lie in what they read: nothing gives them memory of their own.
  void findBoundSets(const SegmentedGroup& group) {
    const bool is_alone = group.exprs.size() == 1;
    for (const Expr* expr : group.exprs) {
      const auto* set = expr->as<LoadStoreOp>();
      if (set == nullptr || set->in->memoryKind() != set->out->memoryKind()) continue;
      const bool is_given = std::ranges::find(group.outputs, set->out) != group.outputs.end();
      const bool is_plain_output = fusion_.isOutput(set->out) && !fusion_.outputAliases().contains(set->out);
      const bool binds = is_alone ? !is_plain_output : !is_given;
      if (binds) bound_[set->out] = set->in;
    }
  }

  // The tensor in whose memory this one lies. What is written into an input at once is no name for what the input was.
  const Val* memoryOf(const Val* tensor) const {
    for (auto source = bound_.find(tensor); source != bound_.end(); source = bound_.find(tensor)) {
      if (updates_.at_once.contains(source->first)) break;
      tensor = source->second;
    }
    return tensor;
  }

  bool reads(const Expr& expr, const TensorView& input) const {
    return std::ranges::any_of(expr.inputs(), [&](const Val* val) { return memoryOf(val) == &input; });
  }

  // Nobody reads the input's old elements after the output has been computed, and who reads them before, perhaps in the
  // iterations of one loop, reads each only for its own result.
  bool mayBeAtOnce(const TensorView& output, const TensorView& input) const {
    bool is_written = false;
    for (const SegmentedGroup& group : groups_) {
      if (!mayBeAtOnce(output, input, group, is_written)) return false;
    }
    return std::ranges::none_of(fusion_.outputAliases(), [&](const auto& other) {
      return !updates_.at_once.contains(other.first) && memoryOf(other.first) == &input;
    });
  }

  bool mayBeAtOnce(const TensorView& output, const TensorView& input, const SegmentedGroup& group,
                   bool& is_written) const {
    bool is_read = false;
    const bool is_kernel = runs_ == GroupRuns::AsKernels && group.exprs.size() > 1;
    const bool is_written_here = std::ranges::find(group.exprs, output.definition()) != group.exprs.end();
    for (const Expr* expr : group.exprs) {
      const bool reads_input = reads(*expr, input);
      const bool keeps_places = isElementwise(*expr) || (is_kernel && is_written_here && expr->is<ReshapeOp>());
      if (reads_input && (is_written || !keeps_places)) return false;
      is_read = is_read || reads_input;
      is_written = is_written || expr == output.definition();
    }
    // A kernel reads an element whenever a value needs it, also after another of its outputs has been written.
    if (!is_kernel || !is_written_here || !is_read) return true;
    const bool has_other_name = std::ranges::any_of(
        group.inputs, [&](const TensorView* tensor) { return tensor != &input && memoryOf(tensor) == &input; });
    return !has_other_name && isOneLoop(group, output, input);
  }

  // Whether the kernel computes all its outputs element by element in one loop (none of its tensors has one by hand),
  // where what is made of the input's element is made in one iteration (in-place-store-ordering sees to its being read
  // first); and whether output and input have their elements at the same offsets. On the way they may have another
  // shape: the same offsets, counted from the first one.
  static bool isOneLoop(const SegmentedGroup& group, const TensorView& output, const TensorView& input) {
    const auto isLikeOutput = [&](const TensorView* tensor) { return haveSameExtents(*tensor, output); };
    if (!isPlain(input) || !isPlain(output) || !isLikeOutput(&input)) return false;
    const auto isPlainResult = [&](const TensorView* tensor) { return isLikeOutput(tensor) && isPlain(*tensor); };
    if (!std::ranges::all_of(group.outputs, isPlainResult)) return false;
    std::unordered_set<const Val*> made_of_input = {&input};
    for (const Expr* expr : group.exprs) {
      const bool depends =
          std::ranges::any_of(expr->inputs(), [&](const Val* val) { return made_of_input.contains(val); });
      const bool is_repeated = expr->is<BroadcastOp>() || expr->is<ExpandOp>() || expr->is<FullOp>();
      const bool is_in_step = isElementwise(*expr) || (depends ? expr->is<ReshapeOp>() : is_repeated);
      if (!is_in_step) return false;
      for (const TensorView* result : tensorsOf(expr->outputs())) {
        if (isScheduled(*result) || (depends && !holdsEachOnce(*result))) return false;
        if (depends) made_of_input.insert(result);
      }
    }
    return true;
  }

  // Then what is computed of it element by element has its shape.
  static bool holdsEachOnce(const TensorView& tensor) {
    return std::ranges::none_of(shapeOf(tensor), &IterDomain::isBroadcast);
  }

  // Dense, in the order of its axes, and without a schedule.
  static bool isPlain(const TensorView& tensor) {
    return isUnmarked(tensor) &&
           std::ranges::none_of(tensor.domain().contiguity, [](const auto& dense) { return dense == false; });
  }

  static bool haveSameExtents(const TensorView& a, const TensorView& b) {
    return std::ranges::equal(shapeOf(a), shapeOf(b), [](const IterDomain* x, const IterDomain* y) {
      return !x->isBroadcast() && !y->isBroadcast() && x->visibleExtent() == y->visibleExtent();
    });
  }

  // A copy runs when no other one reads what it overwrites. Where there is none such, all that are left go round in
  // circles.
  void orderLateUpdates() {
    std::vector<LateUpdate> waiting;
    for (TensorView* output : fusion_.outputs()) {
      const auto alias = fusion_.outputAliases().find(output);
      if (alias == fusion_.outputAliases().end() || updates_.at_once.contains(output)) continue;
      if (alias->second.target == output) continue;
      if (std::ranges::find(waiting, output, &LateUpdate::output) != waiting.end()) continue;
      waiting.push_back({.output = output, .input = asTensor(alias->second.target)});
    }
    const auto isFree = [&](const LateUpdate& update) {
      return std::ranges::none_of(waiting, [&](const LateUpdate& other) {
        return other.output != update.output && !other.is_saved && memoryOf(other.output) == update.input;
      });
    };
    while (!waiting.empty()) {
      const auto next = std::ranges::find_if(waiting, isFree);
      if (next == waiting.end()) {
        waiting.front().is_saved = true;
        continue;
      }
      updates_.late.push_back(*next);
      waiting.erase(next);
    }
  }

  const Fusion& fusion_;
  std::span<const SegmentedGroup> groups_;
  GroupRuns runs_;
  InputUpdates updates_;
  std::unordered_map<const Val*, const Val*> bound_;  // Sets to what they read
};

}  // namespace

InputUpdates planInputUpdates(const Fusion& fusion, std::span<const SegmentedGroup> groups, GroupRuns runs) {
  return UpdatePlanner(fusion, groups, runs).run();
}

}  // namespace tokamak
