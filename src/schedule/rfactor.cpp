#include "schedule/rfactor.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/require.h"
#include "define/operand.h"
#include "ir/fusion.h"
#include "ir/ops/math/reduction_op.h"
#include "schedule/inline.h"
#include "schedule/loop_steps.h"
#include "schedule/redo_steps.h"
#include "schedule/shared_loops.h"
#include "schedule/transforms.h"

namespace tokamak {

namespace {

using Steps = std::vector<const DomainExpr*>;

bool contains(const auto& list, const auto& value) { return std::ranges::find(list, value) != list.end(); }

/// The plan of an rfactor, made before anything changes.
struct Plan {
  Axes listed;
  Steps moved;    ///< make the listed axes
  Steps kept;     ///< the other steps of the loops
  Axes factored;  ///< the tensor's shape after the moved steps
};

Axes listedAxes(const TensorView& tensor, const std::vector<int64_t>& axes) {
  Axes listed;
  for (const int64_t axis : axes) {
    IterDomain* domain = tensor.axis(normalLoopAxis("rfactor", tensor, axis));
    TK_REQUIRE(!contains(listed, domain), Schedule, "rfactor: axis {} of {} is named twice", axis, toString(tensor));
    TK_REQUIRE(domain->isReduction(), Schedule, "rfactor: {} is no reduction axis; name reduction axes",
               describeAxis(tensor, *domain));
    listed.push_back(domain);
  }
  const auto isLeft = [&](const IterDomain* axis) { return axis->isReduction() && !contains(listed, axis); };
  TK_REQUIRE(!listed.empty() && std::ranges::any_of(tensor.loop(), isLeft), Schedule,
             "rfactor: {} of the {} reduction axes of {} are named; name one at least and leave one at least",
             listed.size(), std::ranges::count_if(tensor.loop(), &IterDomain::isReduction), toString(tensor));
  return listed;
}

void requireReduction(const TensorView& tensor) {
  const Expr* definition = tensor.definition();
  TK_REQUIRE(definition != nullptr && definition->is<ReductionOp>(), Schedule,
             "rfactor: {} is no result of a reduction", toString(tensor));
  TK_REQUIRE(tensor.domain().root.empty(), Schedule,
             "rfactor: {} comes from an rfactor itself; use the tensor that it was made from", toString(tensor));
  // (An allocation order of axes that stay remains legal.)
  const bool keeps_layout = std::ranges::all_of(tensor.domain().allocation, [&](const IterDomain* axis) {
    return !axis->isReduction() && contains(tensor.logical(), axis);
  });
  TK_REQUIRE(keeps_layout, Schedule, "rfactor: {} has an allocation domain over its loops; set it afterwards",
             toString(tensor));
  TK_REQUIRE(sharedLoopCount(tensor) == 0, Schedule,
             "rfactor: the first {} loops of {} are shared with other tensors; rfactor first, inline then",
             sharedLoopCount(tensor), toString(tensor));
}

Plan planOf(const TensorView& tensor, const std::vector<int64_t>& axes) {
  requireReduction(tensor);
  Plan plan;
  plan.listed = listedAxes(tensor, axes);
  plan.moved = stepsTo(plan.listed, tensor.logical());
  plan.kept = stepsTo(tensor.loop(), tensor.logical());
  std::erase_if(plan.kept, [&](const DomainExpr* step) { return contains(plan.moved, step); });
  plan.factored = tensor.logical();
  for (const DomainExpr* step : plan.moved) {
    for (const IterDomain* in : step->in) {
      TK_REQUIRE(in == nullptr || in->isReduction(), Schedule,
                 "rfactor: a named axis of {} is made by a step from {}, which is no reduction axis", toString(tensor),
                 describeAxis(tensor, *in));
    }
    replaceAxes(plan.factored, *step);
  }
  return plan;
}

// --- the new tensor ---

class Factored {
 public:
  Factored(const TensorView& tensor, const Plan& plan)
      : tensor_(tensor), plan_(plan), fusion_(tensor.fusion()), op_(*tensor.definition()->as<ReductionOp>()) {}

  /// The new tensor and the reduction that gives it, not yet in the fusion.
  ReductionOp make() {
    for (size_t i = 0; i < tensor_.logical().size(); ++i) addOwnAxis(i);
    for (const DomainExpr* step : plan_.moved) addMovedStep(*step);
    redoSteps(plan_.kept, copies_);
    copyMarks(copies_);
    TensorDomain domain;
    // After another rfactor, a reduction without steps belongs to the same chain.
    if (!plan_.moved.empty() || !op_.in->domain().root.empty()) domain.root = copiesOf(tensor_.logical());
    domain.logical = copiesOf(plan_.factored);
    domain.loop = copiesOf(tensor_.loop());
    TensorView* made = fusion_.tensor(tensor_.dtype(), std::move(domain));
    made->setMesh(tensor_.mesh());
    return {.out = made, .in = op_.in, .op = op_.op, .axes = reduced_};
  }

 private:
  // Axis i of the shape is the operand's axis i.
  void addOwnAxis(size_t i) {
    const IterDomain* axis = tensor_.logical()[i];
    const bool is_moved = std::ranges::any_of(
        plan_.moved, [&](const DomainExpr* step) { return std::ranges::find(step->in, axis) != std::end(step->in); });
    if (is_moved || contains(plan_.listed, axis)) {
      reduced_.push_back(static_cast<int64_t>(i));
      copies_[axis] = fusion_.axisLike(*axis);
    } else {
      copies_[axis] = fusion_.axisLike(axis->isReduction() ? *shapeOf(*op_.in)[i] : *axis);
    }
  }

  void addMovedStep(const DomainExpr& step) {
    DomainExpr copy = step;
    for (size_t i = 0; i < 2; ++i) {
      if (step.in[i] != nullptr) copy.in[i] = copies_.at(step.in[i]);
      if (step.out[i] == nullptr) continue;
      const bool is_kept = contains(plan_.factored, step.out[i]) && !contains(plan_.listed, step.out[i]);
      copy.out[i] = fusion_.axis({.kind = is_kept ? IterKind::Iteration : IterKind::Reduction,
                                  .extent = step.out[i]->extent(),
                                  .is_rfactor = true});
      copies_[step.out[i]] = copy.out[i];
    }
    fusion_.domainExpr(copy);
  }

  Axes copiesOf(const Axes& axes) const {
    Axes copies;
    for (const IterDomain* axis : axes) copies.push_back(copies_.at(axis));
    return copies;
  }

  const TensorView& tensor_;
  const Plan& plan_;
  Fusion& fusion_;
  const ReductionOp& op_;
  AxisCopies copies_;
  std::vector<int64_t> reduced_;
};

// --- what is left of the tensor ---

void reduceRest(TensorView* tensor, const Plan& plan) {
  TensorDomain& domain = tensor->mutableDomain();
  AxisCopies copies;
  std::vector<std::optional<bool>> contiguity;
  Axes logical;
  for (IterDomain* axis : plan.factored) {
    if (contains(plan.listed, axis)) continue;
    const auto own = std::ranges::find(domain.logical, axis);
    if (own == domain.logical.end()) copies[axis] = tensor->fusion().axisLike(*axis);
    contiguity.push_back(own == domain.logical.end()
                             ? std::nullopt
                             : domain.contiguity[static_cast<size_t>(own - domain.logical.begin())]);
    logical.push_back(copyIn(copies, axis));
  }
  redoSteps(plan.kept, copies);
  copyMarks(copies);
  Axes loop;
  for (IterDomain* axis : domain.loop) {
    if (!contains(plan.listed, axis)) loop.push_back(copyIn(copies, axis));
  }
  domain.logical = std::move(logical);
  domain.loop = std::move(loop);
  if (domain.allocation.empty()) domain.contiguity = std::move(contiguity);
}

std::vector<int64_t> reductionNumbers(const Axes& axes) {
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i]->isReduction()) numbers.push_back(static_cast<int64_t>(i));
  }
  return numbers;
}

std::unique_ptr<Expr> exprOf(ReductionOp op) { return std::make_unique<OpNode<ReductionOp>>(std::move(op)); }

}  // namespace

TensorView* rfactor(TensorView* tensor, const std::vector<int64_t>& axes) {
  requireGiven("rfactor", {{"tensor", tensor}});
  const Plan plan = planOf(*tensor, axes);
  const ReductionOp first = Factored(*tensor, plan).make();
  reduceRest(tensor, plan);
  Fusion& fusion = tensor->fusion();
  const Expr* rest = fusion.replaceExpr(
      tensor->definition(),
      exprOf({.out = tensor, .in = first.out, .op = first.op, .axes = reductionNumbers(tensor->logical())}));
  fusion.insertBefore(rest, exprOf(first));
  return first.out;
}

}  // namespace tokamak
