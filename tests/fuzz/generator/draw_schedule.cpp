#include "draw_schedule.h"

#include <numeric>

#include "random.h"

namespace tokamak::generator {

namespace {

using StepKind = LoopStep::Kind;

/// The form of the mark: what is done to an axis before it is marked.
enum class Form : uint8_t { Axis, OuterOfSplit, OuterOfSplits, Merged, OuterOfMerged, Inner, Twice, Split };

Form drawForm(Random& random) {
  constexpr int weights[] = {45, 25, 6, 12, 3, 4, 2, 3};
  return static_cast<Form>(random.weighted(weights));
}

int64_t drawFactor(Random& random) {
  constexpr int64_t factors[] = {1, 2, 3, 4, 5, 7, 16, 100};
  constexpr int weights[] = {8, 20, 25, 15, 10, 10, 8, 4};
  return factors[random.weighted(weights)];
}

LoopStep splitOf(int64_t axis, Random& random) {
  return {.kind = random.chance(75) ? StepKind::InnerSplit : StepKind::OuterSplit,
          .axis = axis,
          .factor = drawFactor(random)};
}

// The steps that mark `axis` of a loop nest with `rank` axes; some draws are illegal on purpose.
std::vector<LoopStep> drawSteps(Form form, int64_t axis, int64_t rank, Random& random) {
  std::vector<LoopStep> steps;
  if (rank > 1 && random.chance(15)) {
    LoopStep reorder{.kind = StepKind::Reorder, .order = std::vector<int64_t>(static_cast<size_t>(rank))};
    std::iota(reorder.order.begin(), reorder.order.end(), 0);
    std::swap(reorder.order[0], reorder.order[static_cast<size_t>(random.below(rank))]);
    steps.push_back(reorder);
  }
  const auto mark = [&](int64_t at) { steps.push_back({.kind = StepKind::Stream, .axis = at}); };
  switch (form) {
    case Form::Axis: mark(axis); break;
    case Form::OuterOfSplit:
      steps.push_back(splitOf(axis, random));
      mark(axis);
      break;
    case Form::OuterOfSplits:
      steps.push_back(splitOf(axis, random));
      steps.push_back(splitOf(axis, random));
      mark(axis);
      break;
    case Form::Merged:
      steps.push_back({.kind = StepKind::Merge, .axis = axis});
      mark(axis);
      break;
    case Form::OuterOfMerged:
      steps.push_back({.kind = StepKind::Merge, .axis = axis});
      steps.push_back(splitOf(axis, random));
      mark(axis);
      break;
    case Form::Inner:
      steps.push_back(splitOf(axis, random));
      mark(axis + 1);
      break;
    case Form::Twice:
      mark(axis);
      mark(rank - 1 - axis);
      break;
    case Form::Split: steps.push_back(splitOf(axis, random)); break;
  }
  return steps;
}

class Scheduler {
 public:
  Scheduler(Program& program, uint64_t seed, const Accepts& accepts)
      : program_(program), random_(seed), accepts_(accepts) {
    ProgramBuilder builder;
    for (const Node& node : program.nodes) builder.add(node);
    for (int i = 0; i < builder.count(); ++i) {
      const TensorView* tensor = builder.tensor(i);
      const bool has_loop =
          tensor != nullptr && program.nodes[static_cast<size_t>(i)].kind == NodeKind::Op && tensor->axisCount() > 0;
      ranks_.push_back(has_loop ? tensor->axisCount() : 0);
    }
  }

  DrawnSchedule draw() {
    constexpr int weights[] = {45, 30, 25};
    switch (random_.weighted(weights)) {
      case 0: alongOneAxis(); break;
      case 1: carriedOver(); break;
      default: eachOnItsOwn(); break;
    }
    return drawn_;
  }

 private:
  void tryOn(size_t node, std::vector<LoopStep> steps) {
    std::swap(program_.nodes[node].loop_steps, steps);
    if (accepts_(program_)) {
      ++drawn_.streamed;
      return;
    }
    ++drawn_.refused;
    std::swap(program_.nodes[node].loop_steps, steps);
  }

  void alongOneAxis() {
    const Form form = drawForm(random_);
    const int64_t axis = random_.chance(60) ? 0 : random_.below(3);
    const uint64_t details = random_.next();
    const int percent = random_.chance(50) ? 100 : 60;
    for (size_t i = 0; i < ranks_.size(); ++i) {
      if (axis >= ranks_[i] || !random_.chance(percent)) continue;
      Random same(details);
      tryOn(i, drawSteps(form, axis, ranks_[i], same));
    }
  }

  void carriedOver() {
    for (size_t i = ranks_.size(); i-- > 0;) {
      if (ranks_[i] == 0 || !random_.chance(40)) continue;
      std::vector<LoopStep> steps = drawSteps(drawForm(random_), random_.below(ranks_[i]), ranks_[i], random_);
      steps.push_back({.kind = StepKind::Propagate});
      tryOn(i, std::move(steps));
    }
  }

  void eachOnItsOwn() {
    for (size_t i = 0; i < ranks_.size(); ++i) {
      if (ranks_[i] == 0 || !random_.chance(60)) continue;
      tryOn(i, drawSteps(drawForm(random_), random_.below(ranks_[i]), ranks_[i], random_));
    }
  }

  Program& program_;
  Random random_;
  const Accepts& accepts_;
  std::vector<int64_t> ranks_;  // of the loop nests; 0: nothing to mark
  DrawnSchedule drawn_;
};

}  // namespace

DrawnSchedule drawSchedule(Program& program, uint64_t seed, const Accepts& accepts) {
  return Scheduler(program, seed, accepts).draw();
}

}  // namespace tokamak::generator
