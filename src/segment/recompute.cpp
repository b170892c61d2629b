#include "segment/recompute.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "graph/fold_casts.h"
#include "graph/rewriter.h"
#include "heuristics/persistent_buffers.h"
#include "ir/ops/math/broadcast_op.h"
#include "ir/ops/math/cast_op.h"
#include "ir/ops/math/expand_op.h"
#include "ir/ops/math/full_op.h"
#include "ir/ops/math/iota_op.h"
#include "ir/ops/math/permute_op.h"
#include "ir/ops/math/pointwise_op.h"
#include "ir/ops/math/reduction_op.h"
#include "ir/ops/math/reshape_op.h"
#include "ir/ops/math/select_op.h"
#include "ir/ops/math/slice_op.h"
#include "ir/ops/math/squeeze_op.h"

namespace tokamak {

namespace {

bool isFactory(const Expr& expr) { return expr.is<FullOp>() || expr.is<IotaOp>(); }

bool isMovement(const Expr& expr) {
  return expr.is<BroadcastOp>() || expr.is<ExpandOp>() || expr.is<SqueezeOp>() || expr.is<PermuteOp>() ||
         expr.is<ReshapeOp>() || expr.is<SelectOp>() || expr.is<SliceOp>();
}

bool growsData(const Expr& expr) {
  if (expr.is<BroadcastOp>() || expr.is<ExpandOp>()) return true;
  const CastOp* cast = expr.as<CastOp>();
  return cast != nullptr && sizeOf(cast->in->dtype()) < sizeOf(cast->dtype) &&
         preservesValues(cast->in->dtype(), cast->dtype);
}

// The operand of an op with one tensor operand, else null.
TensorView* onlyOperand(const Expr& expr) {
  const std::vector<TensorView*> operands = tensorsOf(expr.inputs());
  return operands.size() == 1 ? operands[0] : nullptr;
}

class Recomputation {
 public:
  Recomputation(const Fusion& fusion, std::vector<SegmentedGroup> groups, const MergeRules& rules)
      : fusion_(fusion), rules_(rules), groups_(std::move(groups)) {
    outputs_.insert(fusion.outputs().begin(), fusion.outputs().end());
    for (const auto& [output, alias] : fusion.outputAliases()) updated_.insert(alias.target);
    for (size_t g = 0; g < groups_.size(); ++g) {
      for (const Expr* expr : groups_[g].exprs) owner_[expr] = g;
    }
  }

  // Consumers first, as their inputs are their producers' outputs.
  std::vector<SegmentedGroup> run() {
    for (size_t g = groups_.size(); g-- > 0;) {
      dropUnneeded(groups_[g]);
      if (!groups_[g].exprs.empty() && !staysAlone(*groups_[g].exprs[0])) recomputeInputs(g);
      stored_.insert(groups_[g].inputs.begin(), groups_[g].inputs.end());
    }
    std::erase_if(groups_, [](const SegmentedGroup& group) { return group.exprs.empty(); });
    return std::move(groups_);
  }

 private:
  using Chain = std::vector<Expr*>;
  static constexpr int64_t kMostOps = 32;  // of a recomputed chain

  bool staysAlone(const Expr& expr) const { return rules_.stays_alone(expr); }

  void dropUnneeded(SegmentedGroup& group) {
    group.outputs.clear();
    for (const Expr* expr : group.exprs) {
      for (TensorView* output : tensorsOf(expr->outputs())) {
        if (outputs_.contains(output) || stored_.contains(output)) group.outputs.push_back(output);
      }
    }
    std::unordered_set<const Val*> needed(group.outputs.begin(), group.outputs.end());
    Chain kept;
    for (size_t i = group.exprs.size(); i-- > 0;) {
      Expr* expr = group.exprs[i];
      if (std::ranges::none_of(expr->outputs(), [&](const Val* output) { return needed.contains(output); })) continue;
      needed.insert(expr->inputs().begin(), expr->inputs().end());
      kept.push_back(expr);
    }
    std::ranges::reverse(kept);
    group.exprs = std::move(kept);
    group.inputs = inputsOf(group.exprs);
  }

  static std::vector<TensorView*> inputsOf(const Chain& exprs) {
    const std::unordered_set<const Expr*> inside(exprs.begin(), exprs.end());
    std::vector<TensorView*> inputs;
    std::unordered_set<const Val*> seen;
    for (const Expr* expr : exprs) {
      for (TensorView* input : tensorsOf(expr->inputs())) {
        const bool is_inside = input->definition() != nullptr && inside.contains(input->definition());
        if (!is_inside && seen.insert(input).second) inputs.push_back(input);
      }
    }
    return inputs;
  }

  void recomputeInputs(size_t g) {
    Chain all;
    std::vector<Chain> chains;
    for (TensorView* input : groups_[g].inputs) {
      std::optional<Chain> chain = chainOf(*input, g);
      if (chain && isDearerThanLoading(*input, *chain)) chain.reset();
      if (!chain) chain = elementwiseChainOf(*input, g);
      if (!chain || chain->empty()) continue;
      chains.push_back(*chain);
      all.insert(all.end(), chain->begin(), chain->end());
    }
    if (all.empty() || tryWith(groups_[g], all) || chains.size() == 1) return;
    for (const Chain& chain : chains) tryWith(groups_[g], chain);
  }

  bool tryWith(SegmentedGroup& group, const Chain& chain) const {
    SegmentedGroup larger{.exprs = group.exprs, .inputs = {}, .outputs = group.outputs};
    larger.exprs.insert(larger.exprs.end(), chain.begin(), chain.end());
    std::ranges::sort(larger.exprs, {}, &Expr::id);
    const auto same = std::ranges::unique(larger.exprs);
    larger.exprs.erase(same.begin(), same.end());
    larger.inputs = inputsOf(larger.exprs);
    if (!rules_.may_be_group(larger) || !mayProducersStore(group, larger)) return false;
    group = std::move(larger);
    return true;
  }

  // Whether the rules accept the groups that have to store more outputs for the larger group.
  bool mayProducersStore(const SegmentedGroup& group, const SegmentedGroup& larger) const {
    std::map<size_t, std::vector<TensorView*>> asked;
    for (TensorView* input : larger.inputs) {
      const bool is_new = std::ranges::find(group.inputs, input) == group.inputs.end();
      if (!is_new || input->definition() == nullptr || outputs_.contains(input)) continue;
      asked[owner_.at(input->definition())].push_back(input);
    }
    return std::ranges::all_of(asked, [&](const auto& entry) {
      const auto& [producer, given] = entry;
      SegmentedGroup giving = groups_[producer];
      if (giving.exprs.size() == 1) return true;
      const size_t known = giving.outputs.size();
      for (const Expr* expr : giving.exprs) {
        for (TensorView* output : tensorsOf(expr->outputs())) {
          const bool is_given = std::ranges::find(given, output) != given.end() || stored_.contains(output);
          const bool is_known = std::ranges::find(giving.outputs, output) != giving.outputs.end();
          if (is_given && !is_known) giving.outputs.push_back(output);
        }
      }
      return giving.outputs.size() == known || rules_.may_be_group(giving);
    });
  }

  // Whether loading is cheaper: the chain is long (consecutive groups would have ever longer ones), or it has expensive
  // functions and the tensor is stored anyway.
  bool isDearerThanLoading(const TensorView& tensor, const Chain& chain) const {
    const auto functions = std::ranges::count_if(chain, [](const Expr* expr) { return expr->is<PointwiseOp>(); });
    const auto isDear = [](const Expr* expr) { return isExpensive(*expr); };
    return functions > kMostOps || (outputs_.contains(&tensor) && std::ranges::any_of(chain, isDear));
  }

  // The chain of ops by which group `g` recomputes the tensor from inputs and stored tensors; empty for an input of the
  // fusion, nothing where the tensor has to be loaded.
  std::optional<Chain> chainOf(TensorView& tensor, size_t g) const {
    Expr* expr = tensor.definition();
    if (expr == nullptr) return updated_.contains(&tensor) ? std::nullopt : std::optional(Chain{});
    if (owner_.at(expr) == g || staysAlone(*expr) || !mayBeRecomputed(tensor)) return std::nullopt;
    if (isFactory(*expr)) return Chain{expr};
    TensorView* source = onlyOperand(*expr);
    const bool is_function = expr->is<PointwiseOp>();
    if (source == nullptr || !(is_function || isMovement(*expr) || expr->is<CastOp>())) return std::nullopt;
    if (std::optional<Chain> chain = chainOf(*source, g)) {
      chain->push_back(expr);
      return chain;
    }
    if (is_function) return std::nullopt;
    const bool is_larger = sizeOf(source->dtype()) > sizeOf(tensor.dtype());
    if (isStored(*source) ? is_larger : !growsData(*expr) || !mayAllReadersRecompute(tensor)) return std::nullopt;
    return Chain{expr};
  }

  // The elementwise ops by which group `g` recomputes the tensor from stored tensors, if that is cheaper than loading
  // it.
  std::optional<Chain> elementwiseChainOf(TensorView& tensor, size_t g) const {
    Chain chain;
    std::unordered_set<const TensorView*> sources;
    std::unordered_set<const Val*> seen;
    if (!collectElements(tensor, g, axesOf(tensor), /*is_source=*/false, chain, sources, seen) || chain.empty())
      return std::nullopt;
    if (isRepeated(tensor, g) && !isOneInstructionAtMost(chain)) return std::nullopt;
    int64_t bytes = 0;
    bool are_inputs = true;
    for (const TensorView* source : sources) {
      if (axesOf(*source) < axesOf(tensor)) continue;
      bytes += sizeOf(source->dtype());
      are_inputs &= source->definition() == nullptr;
    }
    // With equal bytes, recompute from inputs only.
    const int64_t passed = 2 * sizeOf(tensor.dtype());
    if (bytes > passed || (bytes == passed && !are_inputs)) return std::nullopt;
    std::ranges::sort(chain, {}, &Expr::id);
    return chain;
  }

  // Whether the group would recompute an element for several elements of its outputs.
  bool isRepeated(const TensorView& tensor, size_t g) const {
    return std::ranges::any_of(groups_[g].outputs,
                               [&](const TensorView* output) { return axesOf(*output) > axesOf(tensor); });
  }
  static bool isOneInstructionAtMost(const Chain& chain) {
    int64_t instructions = 0;
    for (const Expr* expr : chain) {
      const auto* op = expr->as<PointwiseOp>();
      if (op == nullptr) continue;
      if (op->function == FunctionId::div || op->function == FunctionId::truediv) return false;
      ++instructions;
    }
    return instructions <= 1;
  }

  static int64_t axesOf(const TensorView& tensor) {
    return std::ranges::count_if(shapeOf(tensor), [](const IterDomain* axis) { return !axis->isBroadcast(); });
  }

  bool collectElements(TensorView& tensor, size_t g, int64_t axes, bool is_source, Chain& chain,
                       std::unordered_set<const TensorView*>& sources, std::unordered_set<const Val*>& seen) const {
    if (!seen.insert(&tensor).second) return true;
    Expr* expr = tensor.definition();
    if (expr == nullptr) {
      sources.insert(&tensor);
      return !updated_.contains(&tensor);
    }
    if (owner_.at(expr) == g) return is_source;
    const bool is_stored = is_source && (stored_.contains(&tensor) || outputs_.contains(&tensor));
    // A value with fewer axes is better stored than recomputed for every element, unless that stores a wider type.
    const bool is_small = axesOf(tensor) < axes && !isMovement(*expr) && !isFactory(*expr) && !growsData(*expr);
    const bool is_reduction = expr->is<ReductionOp>();
    if (is_stored || is_reduction || (is_small && is_source) || staysAlone(*expr)) {
      sources.insert(&tensor);
      return is_source;
    }
    const bool is_element = expr->is<PointwiseOp>() || expr->is<CastOp>() || isMovement(*expr) || isFactory(*expr);
    if (!is_element || isExpensive(*expr) || !mayBeRecomputed(tensor) || std::ssize(chain) == kMostOps) return false;
    chain.push_back(expr);
    return std::ranges::all_of(tensorsOf(expr->inputs()), [&](TensorView* operand) {
      return collectElements(*operand, g, axes, /*is_source=*/true, chain, sources, seen);
    });
  }

  // Whether the tensor has no schedule, layout or memory type of its own. (It may be an output.)
  bool mayBeRecomputed(const TensorView& tensor) const {
    return outputs_.contains(&tensor) || isReplaceable(fusion_, tensor);
  }

  // Whether the tensor is in memory anyway, as far as is known.
  bool isStored(const TensorView& tensor) const {
    if (outputs_.contains(&tensor) || stored_.contains(&tensor)) return true;
    const Expr* expr = tensor.definition();
    return expr == nullptr || staysAlone(*expr);
  }

  // Whether all readers outside of the tensor's group may recompute it.
  bool mayAllReadersRecompute(const TensorView& tensor) const {
    if (outputs_.contains(&tensor) || stored_.contains(&tensor)) return false;
    return std::ranges::none_of(tensor.uses(), [&](const Expr* use) { return staysAlone(*use); });
  }

  const Fusion& fusion_;
  const MergeRules& rules_;
  std::vector<SegmentedGroup> groups_;
  std::unordered_map<const Expr*, size_t> owner_;
  std::unordered_set<const Val*> outputs_;
  std::unordered_set<const Val*> updated_;  // inputs that are updated in place
  std::unordered_set<const Val*> stored_;   // inputs of the groups that have been visited (consumers first)
};

}  // namespace

std::vector<SegmentedGroup> recomputeCheap(const Fusion& fusion, std::vector<SegmentedGroup> groups,
                                           const MergeRules& rules) {
  return Recomputation(fusion, std::move(groups), rules).run();
}

}  // namespace tokamak
