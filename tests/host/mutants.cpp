#include "host/mutants.h"
#include "device/work.h"

#include <algorithm>
#include <utility>

namespace tokamak {

namespace {

size_t pickIndex(std::mt19937& random, size_t low, size_t high) {
  return std::uniform_int_distribution<size_t>(low, high)(random);
}

std::string nameOf(const StepList& list, size_t step) {
  return "step " + std::to_string(step) + " `" + list.steps[step].text + "`";
}

class Mutator {
 public:
  Mutator(const StepList& list, std::mt19937& random) : list_(list), random_(random) {}

  std::vector<Mutant> all() {
    for (size_t step = 0; step < list_.steps.size(); ++step) {
      const StepKind kind = list_.steps[step].kind;
      if (kind == StepKind::Record || kind == StepKind::Wait || kind == StepKind::Join) {
        add(MutantKind::DropSynchronisation, "drop " + nameOf(list_, step), withoutStep(list_, step));
      }
      changeStream(step);
      if (kind == StepKind::Record) moveRecord(step);
      if (kind == StepKind::Wait) shrinkWait(step);
      if (kind == StepKind::Release) freeEarly(step);
      if (kind == StepKind::Work || kind == StepKind::Post) shiftSlice(step);
    }
    return std::move(mutants_);
  }

 private:
  void add(MutantKind kind, std::string text, StepList list) {
    mutants_.push_back({kind, std::move(text), std::move(list)});
  }

  void changeStream(size_t step) {
    if (list_.stream_count < 2) return;
    const auto shift = static_cast<int32_t>(pickIndex(random_, 1, static_cast<size_t>(list_.stream_count) - 1));
    const int32_t stream = (list_.steps[step].stream + shift) % list_.stream_count;
    add(MutantKind::ChangeStream, nameOf(list_, step) + " to stream " + std::to_string(stream),
        withStream(list_, step, stream));
  }

  // To an earlier place: what is recorded shrinks. (To a later one: waits before it see an older record.)
  void moveRecord(size_t step) {
    size_t to = pickIndex(random_, 0, list_.steps.size() - 1);
    if (to == step) to = 0;
    add(MutantKind::MoveRecord, nameOf(list_, step) + " to " + std::to_string(to), withMovedStep(list_, step, to));
  }

  void shrinkWait(size_t step) {
    const auto record = recordOf(list_, step);
    if (!record) return;
    const size_t point = pickIndex(random_, 0, *record);
    add(MutantKind::ShrinkWait, nameOf(list_, step) + " for the state before step " + std::to_string(point),
        withOlderRecord(list_, step, point));
  }

  void freeEarly(size_t step) {
    if (step == 0) return;
    const size_t to = pickIndex(random_, step < 6 ? 0 : step - 6, step - 1);
    add(MutantKind::FreeEarly, nameOf(list_, step) + " to " + std::to_string(to), withMovedStep(list_, step, to));
  }

  void shiftSlice(size_t step) {
    const auto& accesses = list_.steps[step].accesses;
    if (accesses.empty()) return;
    const size_t access = pickIndex(random_, 0, accesses.size() - 1);
    // By an element, by what may be the next slice, or by anything.
    const std::array<int64_t, 4> shifts = {accesses[access].element_bytes,
                                           accesses[access].dims.empty() ? 4 : accesses[access].dims[0].stride, 16,
                                           static_cast<int64_t>(pickIndex(random_, 1, 64))};
    const int64_t distance = shifts[pickIndex(random_, 0, shifts.size() - 1)];
    const int64_t bytes = pickIndex(random_, 0, 1) == 0 ? distance : -distance;
    add(MutantKind::ShiftSlice,
        "access " + std::to_string(access) + " of " + nameOf(list_, step) + " by " + std::to_string(bytes),
        withShiftedAccess(list_, step, access, bytes));
  }

  const StepList& list_;
  std::mt19937& random_;
  std::vector<Mutant> mutants_;
};

}  // namespace

std::string_view mutantKindName(MutantKind kind) {
  switch (kind) {
    case MutantKind::DropSynchronisation: return "drop synchronisation";
    case MutantKind::ChangeStream: return "change stream";
    case MutantKind::MoveRecord: return "move record";
    case MutantKind::ShrinkWait: return "shrink wait";
    case MutantKind::FreeEarly: return "free early";
    case MutantKind::ShiftSlice: return "shift slice";
  }
  return "";
}

bool isMissingSynchronisation(MutantKind kind) { return kind < MutantKind::FreeEarly; }

StepList withoutStep(const StepList& list, size_t step) {
  StepList mutant = list;
  mutant.steps.erase(mutant.steps.begin() + static_cast<std::ptrdiff_t>(step));
  return mutant;
}

StepList withStream(const StepList& list, size_t step, int32_t stream) {
  StepList mutant = list;
  mutant.steps[step].stream = stream;
  return mutant;
}

StepList withMovedStep(const StepList& list, size_t from, size_t to) {
  StepList mutant = withoutStep(list, from);
  mutant.steps.insert(mutant.steps.begin() + static_cast<std::ptrdiff_t>(to), list.steps[from]);
  return mutant;
}

std::optional<size_t> recordOf(const StepList& list, size_t wait) {
  for (size_t step = wait; step-- > 0;) {
    if (list.steps[step].kind == StepKind::Record && list.steps[step].event == list.steps[wait].event) return step;
  }
  return std::nullopt;
}

StepList withOlderRecord(const StepList& list, size_t wait, size_t point) {
  StepList mutant = list;
  const auto record = recordOf(list, wait);
  if (!record) return mutant;
  Step older = list.steps[*record];
  older.event = mutant.event_count++;
  mutant.steps[wait].event = older.event;
  mutant.steps.insert(mutant.steps.begin() + static_cast<std::ptrdiff_t>(point), std::move(older));
  return mutant;
}

StepList withShiftedAccess(const StepList& list, size_t step, size_t access, int64_t bytes) {
  StepList mutant = list;
  mutant.steps[step].accesses[access].offset += bytes;
  return mutant;
}

std::vector<Mutant> mutantsOf(const StepList& list, std::mt19937& random) { return Mutator(list, random).all(); }

}  // namespace tokamak
