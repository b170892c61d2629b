#include "segment/group_merging.h"

#include <algorithm>

#include "ir/ops/math/reduction_op.h"

namespace tokamak {

namespace {

int64_t axesOf(const TensorView& tensor) {
  return std::ranges::count_if(shapeOf(tensor), [](const IterDomain* axis) { return !axis->isBroadcast(); });
}

bool contains(const std::vector<TensorView*>& tensors, const TensorView* tensor) {
  return std::ranges::find(tensors, tensor) != tensors.end();
}

bool reads(const SegmentedGroup& group, const SegmentedGroup& producer) {
  return std::ranges::any_of(group.inputs, [&](const TensorView* input) { return contains(producer.outputs, input); });
}

bool shareWhatIsLarge(const SegmentedGroup& a, const SegmentedGroup& b) {
  int64_t largest = 0;
  for (const auto* tensors : {&a.inputs, &a.outputs, &b.inputs, &b.outputs})
    for (const TensorView* tensor : *tensors) largest = std::max(largest, axesOf(*tensor));
  return largest > 0 && std::ranges::any_of(a.inputs, [&](const TensorView* input) {
           return axesOf(*input) == largest && contains(b.inputs, input);
         });
}

// Whether both have outputs of one shape, made of another group's outputs: merging saves a launch.
bool areSiblings(const SegmentedGroup& a, const SegmentedGroup& b, const std::vector<SegmentedGroup>& groups) {
  const auto largestOf = [](const SegmentedGroup& group) {
    return *std::ranges::max_element(group.inputs, {}, [](const TensorView* tensor) { return axesOf(*tensor); });
  };
  if (a.inputs.empty() || b.inputs.empty()) return false;
  const auto extentOf = [](const IterDomain* axis) { return axis->isBroadcast() ? nullptr : axis->extent(); };
  const bool is_one_shape = std::ranges::equal(shapeOf(*largestOf(a)), shapeOf(*largestOf(b)), {}, extentOf, extentOf);
  return is_one_shape && std::ranges::any_of(groups, [&](const SegmentedGroup& other) {
           return contains(other.outputs, largestOf(a)) && contains(other.outputs, largestOf(b));
         });
}

void append(std::vector<TensorView*>& to, const std::vector<TensorView*>& from) {
  for (TensorView* tensor : from)
    if (!contains(to, tensor)) to.push_back(tensor);
}

// The ops of both. Outputs of the first that only the second reads are no outputs any more.
SegmentedGroup merged(const SegmentedGroup& a, const SegmentedGroup& b,
                      const std::function<bool(const TensorView&)>& isNeeded) {
  SegmentedGroup both = a;
  both.exprs.insert(both.exprs.end(), b.exprs.begin(), b.exprs.end());
  std::ranges::sort(both.exprs, {}, &Expr::id);
  both.exprs.erase(std::unique(both.exprs.begin(), both.exprs.end()), both.exprs.end());
  append(both.inputs, b.inputs);
  append(both.outputs, b.outputs);
  const auto isInside = [&](const TensorView* tensor) {
    return tensor->definition() != nullptr && std::ranges::find(both.exprs, tensor->definition()) != both.exprs.end();
  };
  std::erase_if(both.inputs, isInside);
  std::erase_if(both.outputs, [&](const TensorView* tensor) { return !isNeeded(*tensor); });
  return both;
}

}  // namespace

std::vector<SegmentedGroup> moveSmallOpsToProducers(const Fusion& fusion, std::vector<SegmentedGroup> groups,
                                                    const MergeRules& rules) {
  const auto isAlone = [&](const SegmentedGroup& group) {
    return std::ranges::any_of(group.exprs, [&](const Expr* expr) { return rules.stays_alone(*expr); });
  };
  const auto isNeededBy = [&](const TensorView* tensor, const std::vector<Expr*>& exprs) {
    return std::ranges::any_of(exprs, [&](const Expr* expr) {
      return std::ranges::find(expr->inputs(), static_cast<const Val*>(tensor)) != expr->inputs().end();
    });
  };
  for (size_t j = 1; j < groups.size(); ++j) {
    for (size_t i = j; i-- > 0;) {
      if (!reads(groups[j], groups[i]) || isAlone(groups[i]) || isAlone(groups[j])) continue;
      int64_t largest = 0;
      for (const TensorView* tensor : groups[j].inputs) largest = std::max(largest, axesOf(*tensor));
      std::vector<TensorView*> made;
      std::vector<Expr*> moved;
      for (Expr* expr : groups[j].exprs) {
        const std::vector<TensorView*> operands = tensorsOf(expr->inputs());
        const auto isThere = [&](const TensorView* operand) {
          return contains(groups[i].outputs, operand) || contains(made, operand) || operand->definition() == nullptr;
        };
        const auto isMade = [&](const TensorView* operand) {
          return contains(groups[i].outputs, operand) || contains(made, operand);
        };
        const bool is_small = std::ranges::all_of(tensorsOf(expr->outputs()),
                                                  [&](const TensorView* out) { return axesOf(*out) < largest; });
        if (!is_small || expr->is<ReductionOp>() || !std::ranges::all_of(operands, isThere) ||
            std::ranges::none_of(operands, isMade))
          continue;
        moved.push_back(expr);
        append(made, tensorsOf(expr->outputs()));
      }
      if (moved.empty() || moved.size() == groups[j].exprs.size()) continue;
      std::vector<Expr*> left = groups[j].exprs;
      std::erase_if(left, [&](const Expr* expr) { return std::ranges::find(moved, expr) != moved.end(); });
      SegmentedGroup producer = groups[i];
      producer.exprs.insert(producer.exprs.end(), moved.begin(), moved.end());
      std::ranges::sort(producer.exprs, {}, &Expr::id);
      producer.exprs.erase(std::unique(producer.exprs.begin(), producer.exprs.end()), producer.exprs.end());
      for (const Expr* expr : moved) {
        for (TensorView* operand : tensorsOf(expr->inputs()))
          if (operand->definition() == nullptr && !contains(producer.inputs, operand))
            producer.inputs.push_back(operand);
      }
      SegmentedGroup consumer{.exprs = left, .inputs = {}, .outputs = {}};
      for (TensorView* output : groups[j].outputs)
        (contains(made, output) ? producer : consumer).outputs.push_back(output);
      for (TensorView* tensor : made) {
        if (isNeededBy(tensor, left) && !contains(producer.outputs, tensor)) producer.outputs.push_back(tensor);
      }
      // Outputs that no other group reads are no outputs any more.
      std::erase_if(producer.outputs, [&](TensorView* tensor) {
        if (fusion.isOutput(tensor) || isNeededBy(tensor, left)) return false;
        for (size_t k = 0; k < groups.size(); ++k)
          if (k != i && k != j && contains(groups[k].inputs, tensor)) return false;
        return true;
      });
      for (const auto* tensors : {&groups[j].inputs, &made}) {
        for (TensorView* tensor : *tensors)
          if (isNeededBy(tensor, left)) append(consumer.inputs, {tensor});
      }
      if (!rules.may_be_group(producer) || (consumer.exprs.size() > 1 && !rules.may_be_group(consumer))) continue;
      groups[i] = std::move(producer);
      groups[j] = std::move(consumer);
    }
  }
  return groups;
}

std::vector<SegmentedGroup> mergeGroups(const Fusion& fusion, std::vector<SegmentedGroup> groups,
                                        const MergeRules& rules) {
  // Few groups back: a cache holds little of earlier ones, and the number of calls of the rules stays linear.
  constexpr size_t kNeighbours = 16;
  const auto isAlone = [&](const SegmentedGroup& group) {
    return std::ranges::any_of(group.exprs, [&](const Expr* expr) { return rules.stays_alone(*expr); });
  };
  for (size_t j = 1; j < groups.size(); ++j) {
    for (size_t i = j; i-- > (j > kNeighbours ? j - kNeighbours : 0);) {
      if (groups[i].exprs.empty() || isAlone(groups[i]) || isAlone(groups[j])) continue;
      bool is_needed = false;
      bool needs_others = false;
      for (size_t k = i + 1; k < j; ++k) {
        is_needed |= reads(groups[k], groups[i]);
        needs_others |= reads(groups[j], groups[k]);
      }
      if ((is_needed && needs_others) || groups[j].exprs.empty()) continue;
      if (!reads(groups[j], groups[i]) && !shareWhatIsLarge(groups[i], groups[j]) &&
          !areSiblings(groups[i], groups[j], groups))
        continue;
      SegmentedGroup both = merged(groups[i], groups[j], [&](const TensorView& tensor) {
        if (fusion.isOutput(const_cast<TensorView*>(&tensor))) return true;
        for (size_t k = 0; k < groups.size(); ++k) {
          if (k != i && k != j && contains(groups[k].inputs, &tensor)) return true;
        }
        return false;
      });
      if (!rules.may_be_group(both)) continue;
      // At the second's position, unless the first is needed earlier.
      groups[is_needed ? i : j] = std::move(both);
      groups[is_needed ? j : i] = {};
    }
  }
  std::erase_if(groups, [](const SegmentedGroup& group) { return group.exprs.empty(); });
  return groups;
}

}  // namespace tokamak
