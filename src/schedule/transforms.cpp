#include "schedule/transforms.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"
#include "define/operand.h"
#include "ir/fusion.h"
#include "ir/ops/math/load_store_op.h"
#include "schedule/inline.h"
#include "schedule/loop_steps.h"
#include "schedule/schedule_checks.h"
#include "schedule/set_device_mesh.h"
#include "schedule/shared_loops.h"

namespace tokamak {

namespace {

// A loop axis that a step may change: a marked one may not, as the mark is for the axis as it is.
IterDomain* serialAxis(std::string_view command, const TensorView& tensor, int64_t axis) {
  IterDomain* domain = tensor.loop()[static_cast<size_t>(normalLoopAxis(command, tensor, axis))];
  TK_REQUIRE(domain->parallelType() == ParallelType::Serial, Schedule,
             "{}: {} is already marked {}; {} it first, mark then", command, describeAxis(tensor, *domain),
             parallelTypeName(domain->parallelType()), command);
  return domain;
}

// A part of a split axis. Of a broadcast axis it is a broadcast axis, with a part of the expanded extent.
IterDomain* part(const IterDomain& axis, Scalar* extent) {
  if (!axis.isBroadcast()) return axis.fusion().axis({.kind = axis.kind(), .extent = extent});
  Scalar* shown = axis.expandedExtent() != nullptr ? extent : nullptr;
  return axis.fusion().axis({.kind = axis.kind(), .expanded_extent = shown});
}

IterKind mergedKind(const IterDomain& outer, const IterDomain& inner) {
  if (outer.isReduction() || inner.isReduction()) return IterKind::Reduction;
  return outer.isBroadcast() && inner.isBroadcast() ? IterKind::Broadcast : IterKind::Iteration;
}

}  // namespace

int64_t normalLoopAxis(std::string_view command, const TensorView& tensor, int64_t axis) {
  const int64_t count = tensor.axisCount();
  TK_REQUIRE(count > 0, Schedule, "{}: {} has no axes", command, toString(tensor));
  TK_REQUIRE(axis >= -count && axis < count, Schedule,
             "{}: axis {} is out of bounds for {} with {} loop axes; legal are {} to {}", command, axis,
             toString(tensor), count, -count, count - 1);
  return axis < 0 ? axis + count : axis;
}

const DomainExpr* splitStep(IterDomain* axis, Scalar* factor, SplitSide side) {
  Fusion& fusion = axis->fusion();
  Scalar* rest = fusion.ceilDiv(axis->visibleExtent(), factor);
  const bool is_inner = side == SplitSide::Inner;
  DomainExpr step{.kind = DomainExprKind::Split, .factor = factor, .is_inner_factor = is_inner};
  step.in[0] = axis;
  step.out[0] = part(*axis, is_inner ? rest : factor);
  step.out[1] = part(*axis, is_inner ? factor : rest);
  return fusion.domainExpr(step);
}

const DomainExpr* mergeStep(IterDomain* outer, IterDomain* inner) {
  Fusion& fusion = outer->fusion();
  Scalar* extent = fusion.mul(outer->visibleExtent(), inner->visibleExtent());
  const IterKind kind = mergedKind(*outer, *inner);
  DomainExpr step{.kind = DomainExprKind::Merge};
  step.in[0] = outer;
  step.in[1] = inner;
  if (kind == IterKind::Broadcast) {
    const bool is_expanded = outer->expandedExtent() != nullptr || inner->expandedExtent() != nullptr;
    step.out[0] = fusion.axis({.kind = kind, .expanded_extent = is_expanded ? extent : nullptr});
  } else {
    step.out[0] = fusion.axis({.kind = kind, .extent = extent});
  }
  return fusion.domainExpr(step);
}

const DomainExpr* swizzleStep(IterDomain* x, IterDomain* y, SwizzleType type) {
  DomainExpr step{.kind = DomainExprKind::Swizzle};
  step.swizzle = type;
  step.in[0] = x;
  step.in[1] = y;
  for (size_t i = 0; i < 2; ++i) step.out[i] = x->fusion().axisLike(*step.in[i]);
  return x->fusion().domainExpr(step);
}

const DomainExpr* stepLike(const DomainExpr& form, IterDomain* first, IterDomain* second) {
  switch (form.kind) {
    case DomainExprKind::Split:
      return splitStep(first, form.factor, form.is_inner_factor ? SplitSide::Inner : SplitSide::Outer);
    case DomainExprKind::Merge: return mergeStep(first, second);
    case DomainExprKind::Swizzle: return swizzleStep(first, second, form.swizzle);
  }
  return nullptr;
}

bool canMerge(const IterDomain& outer, const IterDomain& inner) {
  const auto isIteration = [](const IterDomain& axis) { return !axis.isReduction() && !axis.isBroadcast(); };
  // (An expanded axis is no reduction.)
  const auto isApart = [&](const IterDomain& axis) { return isIteration(axis) || axis.expandedExtent() != nullptr; };
  return !(outer.isReduction() && isApart(inner)) && !(inner.isReduction() && isApart(outer));
}

void replaceAxes(Axes& loop, const DomainExpr& step) {
  if (step.kind == DomainExprKind::Split) loop.insert(std::ranges::find(loop, step.in[0]) + 1, step.out[1]);
  if (step.kind == DomainExprKind::Merge) loop.erase(std::ranges::find(loop, step.in[1]));
  if (step.kind == DomainExprKind::Swizzle) *std::ranges::find(loop, step.in[1]) = step.out[1];
  *std::ranges::find(loop, step.in[0]) = step.out[0];
}

bool mayBeShared(ParallelType type) {
  return type != ParallelType::Vectorize && type != ParallelType::Group && type != ParallelType::Mma &&
         type != ParallelType::Bulk;
}

void requireUnshared(std::string_view command, const TensorView& tensor, int64_t position) {
  const int64_t shared = sharedLoopCount(tensor);
  if (position >= shared) return;
  TK_RAISE(Schedule, "{}: {} is a loop that other tensors share, as are the first {} of {}; {} first, inline then",
           command, describeAxis(tensor, *tensor.axis(position)), shared, toString(tensor), command);
}

void split(TensorView* tensor, int64_t axis, Operand factor_operand, SplitSide side) {
  requireGiven("split", {{"tensor", tensor}});
  const int64_t position = normalLoopAxis("split", *tensor, axis);
  IterDomain* domain = serialAxis("split", *tensor, position);
  Scalar* factor = scalarOf(tensor->fusion(), "split", factor_operand);
  TK_REQUIRE(&factor->fusion() == &tensor->fusion(), Schedule, "split: the factor {} for {} belongs to another fusion",
             toString(*factor), toString(*tensor));
  TK_REQUIRE(isIntegerType(factor->dtype()) && (!factor->constantInt() || *factor->constantInt() > 0), Schedule,
             "split: factor {} for {}; factors are positive integers", toString(*factor),
             describeAxis(*tensor, *domain));
  requireUnshared("split", *tensor, position);
  replaceAxes(tensor->mutableDomain().loop, *splitStep(domain, factor, side));
}

void inner_split(TensorView* tensor, int64_t axis, Operand factor) {
  requireGiven("inner_split", {{"tensor", tensor}});
  split(tensor, axis, factor, SplitSide::Inner);
}
void outer_split(TensorView* tensor, int64_t axis, Operand factor) {
  requireGiven("outer_split", {{"tensor", tensor}});
  split(tensor, axis, factor, SplitSide::Outer);
}

void merge(TensorView* tensor, int64_t axis) {
  requireGiven("merge", {{"tensor", tensor}});
  const int64_t position = normalLoopAxis("merge", *tensor, axis);
  TK_REQUIRE(position + 1 < tensor->axisCount(), Schedule,
             "merge: axis {} is the last of {}; it merges with the one after it", position, toString(*tensor));
  IterDomain* outer = serialAxis("merge", *tensor, position);
  IterDomain* inner = serialAxis("merge", *tensor, position + 1);
  TK_REQUIRE(canMerge(*outer, *inner), Schedule,
             "merge: {} and {}: one is a reduction axis, the other is not; reorder to bring axes of one kind together",
             describeAxis(*tensor, *outer), describeAxis(*tensor, *inner));
  requireUnshared("merge", *tensor, position);
  replaceAxes(tensor->mutableDomain().loop, *mergeStep(outer, inner));
}

bool keepsVectorInnermost(const TensorView& tensor, const Axes& order) {
  return tensor.loop().empty() || tensor.loop().back()->parallelType() != ParallelType::Vectorize ||
         order.back() == tensor.loop().back();
}

void reorder(TensorView* tensor, const std::vector<int64_t>& order) {
  requireGiven("reorder", {{"tensor", tensor}});
  const Axes& loop = tensor->loop();
  std::vector<bool> is_taken(loop.size(), false);
  Axes reordered;
  for (const int64_t axis : order) {
    const auto position = static_cast<size_t>(normalLoopAxis("reorder", *tensor, axis));
    TK_REQUIRE(!is_taken[position], Schedule, "reorder: axis {} of {} is named twice", axis, toString(*tensor));
    is_taken[position] = true;
    reordered.push_back(loop[position]);
  }
  TK_REQUIRE(reordered.size() == loop.size(), Schedule,
             "reorder: {} axes in the order for {} with {} loop axes; name each once", order.size(), toString(*tensor),
             loop.size());
  const auto moved = std::ranges::mismatch(loop, reordered).in1;
  if (moved != loop.end()) requireUnshared("reorder", *tensor, moved - loop.begin());
  TK_REQUIRE(keepsVectorInnermost(*tensor, reordered), Schedule,
             "reorder: {} is marked Vectorize, so that it stays the innermost axis; reorder first, mark then",
             describeAxis(*tensor, *loop.back()));
  tensor->mutableDomain().loop = std::move(reordered);
}

// (y ^ x has to stay below y's extent.)
bool canSwizzle(const IterDomain& x, const IterDomain& y, SwizzleType type) {
  if (x.isReduction() || y.isReduction()) return false;
  if (type != SwizzleType::Xor || x.isBroadcast() || y.isBroadcast()) return true;
  const auto width = x.extent()->constantInt();
  const auto height = y.extent()->constantInt();
  return width && height && *height > 0 && std::has_single_bit(static_cast<uint64_t>(*height)) && *width <= *height;
}

void swizzle(TensorView* tensor, int64_t axis_x, int64_t axis_y, SwizzleType type) {
  requireGiven("swizzle", {{"tensor", tensor}});
  const int64_t place_x = normalLoopAxis("swizzle", *tensor, axis_x);
  const int64_t place_y = normalLoopAxis("swizzle", *tensor, axis_y);
  TK_REQUIRE(place_x != place_y, Schedule, "swizzle: axis {} of {} is named twice; name two axes", place_x,
             toString(*tensor));
  IterDomain* x = serialAxis("swizzle", *tensor, place_x);
  IterDomain* y = serialAxis("swizzle", *tensor, place_y);
  TK_REQUIRE(!x->isReduction() && !y->isReduction(), Schedule, "swizzle: {} and {}; reduction axes are not swizzled",
             describeAxis(*tensor, *x), describeAxis(*tensor, *y));
  TK_REQUIRE(canSwizzle(*x, *y, type), Schedule,
             "swizzle: xor of {} and {}; legal are constant extents, that of y a power of two and that of x no larger",
             describeAxis(*tensor, *x), describeAxis(*tensor, *y));
  requireUnshared("swizzle", *tensor, std::min(place_x, place_y));
  replaceAxes(tensor->mutableDomain().loop, *swizzleStep(x, y, type));
}

std::string markProblem(TensorView& tensor, const IterDomain& axis, ParallelType type) {
  const auto problem = [&](const std::string& why) {
    return fmt::format("{} cannot be marked {}, {}", describeAxis(tensor, axis), parallelTypeName(type), why);
  };
  const bool is_dimension = type >= ParallelType::DIDx && type <= ParallelType::TIDz;
  for (const IterDomain* other : tensor.loop()) {
    if (is_dimension && other != &axis && other->parallelType() == type)
      return problem(
          fmt::format("as {} is already; a dimension is given to one axis of a tensor", describeAxis(tensor, *other)));
  }
  const int64_t position = std::ranges::find(tensor.loop(), &axis) - tensor.loop().begin();
  if (!mayBeShared(type) && position < sharedLoopCount(tensor))
    return problem("as other tensors share this loop; mark first, inline then");
  if (const std::string why = sharedTypeProblem(&tensor, position, type); !why.empty()) return problem("as " + why);
  if (std::string why = shardProblem(tensor, axis, type); !why.empty()) return why;
  const bool wants_constant = type == ParallelType::Vectorize || type == ParallelType::Unroll;
  if (wants_constant && !axis.visibleExtent()->isConstant())
    return problem("which takes a constant extent; split it by a number first");
  if (type == ParallelType::Vectorize && &axis != tensor.loop().back())
    return problem(fmt::format("which is for the innermost axis, {}", tensor.axisCount() - 1));
  const bool is_copy = tensor.definition() != nullptr && tensor.definition()->is<LoadStoreOp>();
  return type == ParallelType::Bulk && !is_copy ? problem("which is for copies: the result of a set") : "";
}

void requireMarkable(std::string_view command, TensorView& tensor, const IterDomain& axis, ParallelType type) {
  const std::string problem = markProblem(tensor, axis, type);
  TK_REQUIRE(problem.empty(), Schedule, "{}: {}", command, problem);
}

void parallelize(TensorView* tensor, int64_t axis, ParallelType type) {
  requireGiven("parallelize", {{"tensor", tensor}});
  IterDomain* domain = tensor->loop()[static_cast<size_t>(normalLoopAxis("parallelize", *tensor, axis))];
  requireMarkable("parallelize", *tensor, *domain, type);
  domain->parallelize(type);
}

static bool hasStreamAxis(const TensorView* tensor) {
  return std::ranges::any_of(tensor->loop(),
                             [](const IterDomain* axis) { return axis->parallelType() == ParallelType::Stream; });
}

static bool isMarked(const TensorView& tensor) {
  return tensor.inlinePosition() > 0 || std::ranges::any_of(tensor.loop(), [](const IterDomain* axis) {
           return axis->parallelType() != ParallelType::Serial && axis->parallelType() != ParallelType::Stream;
         });
}

static bool hasOwnLoops(const TensorView& tensor) {
  return tensor.loop() != tensor.logical() || !tensor.domain().root.empty() || tensor.circularBuffer();
}

bool isScheduled(const TensorView& tensor) {
  return isMarked(tensor) || (!hasStreamAxis(&tensor) && hasOwnLoops(tensor));
}

bool isScheduled(const Fusion& fusion) {
  const std::vector<TensorView*> tensors = fusion.allTensors();
  // (A part of a reduction cannot be dropped: others compute with it.)
  const auto saysHow = [](const TensorView* tensor) { return isMarked(*tensor) || !tensor->domain().root.empty(); };
  if (std::ranges::any_of(tensors, saysHow)) return true;
  return std::ranges::none_of(tensors, hasStreamAxis) &&
         std::ranges::any_of(tensors, [](const TensorView* tensor) { return hasOwnLoops(*tensor); });
}

void dropSchedule(Fusion& fusion) {
  for (TensorView* tensor : fusion.allTensors()) {
    TensorDomain& domain = tensor->mutableDomain();
    domain.loop = domain.logical;
    domain.inline_position = 0;
    for (IterDomain* axis : domain.loop) axis->parallelize(ParallelType::Serial);
    tensor->setCircularBuffer(std::nullopt);
  }
}

void requireLegalFactors(const Fusion& fusion, const ScalarBindings& bindings) {
  std::set<const DomainExpr*> seen;
  const auto visit = [&](const auto& self, const TensorView& tensor, const IterDomain& axis) -> void {
    const DomainExpr* step = axis.definition();
    if (step == nullptr || !seen.insert(step).second) return;
    for (const IterDomain* in : step->in) {
      if (in != nullptr) self(self, tensor, *in);
    }
    if (step->kind != DomainExprKind::Split || step->factor->isConstant()) return;
    const auto factor = evaluate(*step->factor, bindings);
    TK_REQUIRE(!factor || asInt(*factor) > 0, Schedule,
               "split: the factor {} of {} is {}; legal are factors of at least 1", toString(*step->factor),
               nameOf(tensor), asInt(*factor));
  };
  for (const TensorView* tensor : fusion.allTensors()) {
    for (const IterDomain* axis : tensor->loop()) visit(visit, *tensor, *axis);
  }
}

// The number of iterations, saturated; an unknown extent counts as 1.
static int64_t iterationsOf(const Axes& axes, const ScalarBindings& bindings) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  int64_t product = 1;
  for (const IterDomain* axis : axes) {
    const auto extent = evaluate(*axis->extent(), bindings);
    const int64_t size = extent ? asInt(*extent) : 1;
    if (size <= 0) return 0;
    product = product > kMost / size ? kMost : product * size;
  }
  return product;
}

// The axes of the tensor that were split or merged: "0, 2".
static std::string cutAxesOf(const TensorView& tensor) {
  std::vector<size_t> numbers;
  for (size_t i = 0; i < tensor.logical().size(); ++i) {
    if (std::ranges::find(tensor.loop(), tensor.logical()[i]) == tensor.loop().end()) numbers.push_back(i);
  }
  return joined(numbers);
}

void requireFewIterations(const Fusion& fusion, const ScalarBindings& bindings) {
  constexpr int64_t kMostIterations = int64_t{1} << 30;
  constexpr int64_t kMostForEach = 1024;
  for (const TensorView* tensor : fusion.allTensors()) {
    const int64_t iterations = iterationsOf(tensor->loop(), bindings);
    if (iterations <= kMostIterations) continue;
    const int64_t elements = iterationsOf(tensor->logical(), bindings);
    TK_REQUIRE(iterations / kMostForEach <= elements, Schedule,
               "schedule of {}: its {} loops have {} iterations for {} elements; legal are {} for each element; split "
               "axis {} less often, or by factors that divide it",
               toString(*tensor), tensor->loop().size(), iterations, elements, kMostForEach, cutAxesOf(*tensor));
  }
}

}  // namespace tokamak
