#include "host/ir/loop_limit.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/require.h"
#include "ir/fusion.h"
#include "ir/iter_domain.h"
#include "ir/ops/host/for_loop.h"
#include "ir/ops/host/if_then_else.h"

namespace tokamak {

namespace {

void requireIn(const Block& block, const ScalarBindings& scalars, int64_t around, int64_t most) {
  for (const Expr* expr : block.exprs) {
    if (const auto* condition = expr->as<IfThenElse>()) {
      requireIn(condition->then_body, scalars, around, most);
      requireIn(condition->else_body, scalars, around, most);
    }
    const auto* loop = expr->as<ForLoop>();
    if (loop == nullptr) continue;
    const int64_t iterations = iterationsOf(*loop, scalars).value_or(1);
    requireFewIterations(*loop, iterations, around, most);
    if (iterations > 0) requireIn(loop->body, scalars, around * iterations, most);
  }
}

// "axis 1 (iStream{i0}) of T2", of the tensor that the loop was made for.
std::string describeLoop(const ForLoop& loop) {
  if (loop.axis == nullptr) return toString(*loop.index);
  for (const TensorView* tensor : loop.index->fusion().allTensors()) {
    if (std::ranges::find(tensor->loop(), loop.axis) != tensor->loop().end()) return describeAxis(*tensor, *loop.axis);
  }
  return fmt::format("an axis of extent {}", toString(*loop.axis->extent()));
}

}  // namespace

std::optional<int64_t> iterationsOf(const ForLoop& loop, const ScalarBindings& scalars) {
  const auto start = evaluate(*loop.start, scalars);
  const auto stop = evaluate(*loop.stop, scalars);
  const auto step = evaluate(*loop.step, scalars);
  if (!start || !stop || !step) return std::nullopt;
  TK_REQUIRE(asInt(*step) > 0, HostProgram, "FOR {}: the step is {}; it must be positive", toString(*loop.index),
             asInt(*step));
  if (asInt(*stop) <= asInt(*start)) return 0;
  int64_t distance = 0;
  if (__builtin_sub_overflow(asInt(*stop), asInt(*start), &distance)) return std::numeric_limits<int64_t>::max();
  return (distance - 1) / asInt(*step) + 1;
}

void requireFewIterations(const ForLoop& loop, int64_t iterations, int64_t around, int64_t most) {
  if (iterations <= most / std::max<int64_t>(around, 1)) return;
  const std::string outer = around == 1 ? "" : fmt::format(" in each of {} of the loops around it", around);
  TK_RAISE(
      Bind,
      "loop over {}: {} iterations{}; at most {} in all are legal; split the axis so that each takes more, or raise "
      "the limit (most_iterations, --most-iterations)",
      describeLoop(loop), iterations, outer, most);
}

void requireFewIterations(const Block& block, const ScalarBindings& scalars, int64_t most) {
  requireIn(block, scalars, 1, most);
}

}  // namespace tokamak
