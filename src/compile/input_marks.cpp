#include "compile/input_marks.h"

#include <algorithm>
#include <set>

#include "compute/axis_map.h"
#include "host/lower/stream_axis.h"
#include "ir/clone.h"
#include "schedule/loop_steps.h"
#include "schedule/transform_replay.h"
#include "schedule/transforms.h"

namespace tokamak {

namespace {

// Axes of the operand with those of the op's result whose index they have.
AxisPairs pairsOf(const AxisMap& map, const TensorView& operand) {
  const Axes result = shapeOf(*map.rule().result);
  const Axes shape = shapeOf(operand);
  AxisPairs pairs;
  for (size_t i = 0; i < result.size(); ++i) {
    const OperandCoordinateUse use = map.use(operand, static_cast<int64_t>(i));
    if (use.use == CoordinateUse::Identity) pairs.emplace_back(shape[static_cast<size_t>(use.axes[0])], result[i]);
  }
  return pairs;
}

// Whether the op may be done in parts along what goes with the operand's axis.
bool isStreamable(const AxisMap& map, const AxisPairs& pairs, const IterDomain* axis) {
  const auto pair = std::ranges::find(pairs, axis, [](const auto& both) { return both.first; });
  if (pair == pairs.end()) return false;
  const Axes result = shapeOf(*map.rule().result);
  const int64_t number = std::ranges::find(result, pair->second) - result.begin();
  return map.isIndependentAlong(number) && !map.dependsOnPosition(number);
}

// Whether the result has the operand's mark now.
bool takeMark(const Expr& expr, const TensorView& operand) {
  TensorView& result = *asTensor(expr.output(0));
  const std::optional<StreamAxis> mark = findStreamAxis(operand);
  const bool has_own = std::ranges::any_of(result.loop(), [](const IterDomain* axis) { return axis->isStream(); });
  if (!mark || has_own || !result.domain().root.empty()) return false;
  const AxisMap map(expr);
  const AxisPairs pairs = pairsOf(map, operand);
  if (!isStreamable(map, pairs, mark->logical)) return false;
  if (mark->inner != nullptr && !isStreamable(map, pairs, mark->inner)) return false;
  TransformReplay replay(result, pairs, TransformReplay::Mode::Make);
  replay.follow({mark->loop_axis});
  IterDomain* own = replay.loopAxisAt(*mark->loop_axis);
  if (own == nullptr || !markProblem(result, *own, ParallelType::Stream).empty()) return false;
  own->parallelize(ParallelType::Stream);
  return true;
}

}  // namespace

std::unique_ptr<Fusion> carryInputMarks(const Fusion& fusion) {
  const auto isMarked = [](const TensorView* input) { return findStreamAxis(*input).has_value(); };
  if (std::ranges::none_of(tensorsOf(fusion.inputs()), isMarked)) return nullptr;
  std::unique_ptr<Fusion> copy = cloneFusion(fusion);
  std::set<const TensorView*> marked;
  for (const TensorView* input : tensorsOf(copy->inputs())) {
    if (isMarked(input)) marked.insert(input);
  }
  for (const Expr* expr : copy->exprs()) {
    for (const TensorView* operand : tensorsOf(expr->inputs())) {
      if (marked.contains(operand) && takeMark(*expr, *operand)) marked.insert(asTensor(expr->output(0)));
    }
  }
  return copy;
}

}  // namespace tokamak
