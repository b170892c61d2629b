#include "host/step_closure.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "host/mutants.h"

namespace tokamak {

namespace {

bool isOrderOnly(const Step& step) { return step.kind == StepKind::Record || step.kind == StepKind::Wait; }

void join(std::vector<bool>& into, const std::vector<bool>& other) {
  for (size_t i = 0; i < into.size(); ++i) {
    if (other[i]) into[i] = true;
  }
}

}  // namespace

StepClosure::StepClosure(const StepList& list, Nodes nodes) {
  const auto works = static_cast<size_t>(std::ranges::count_if(list.steps, [&](const Step& step) {
    return !isOrderOnly(step) || (nodes == Nodes::WorkAndRecords && step.kind == StepKind::Record);
  }));
  const std::vector<bool> nothing(works + 2, false);
  // What has happened when a stream gets to its next step, and at the point an event stands for.
  std::vector<std::vector<bool>> streams(static_cast<size_t>(list.stream_count), nothing);
  std::vector<std::vector<bool>> events(static_cast<size_t>(list.event_count), nothing);
  before_.push_back(nothing);
  streams[0][0] = true;
  for (const Step& step : list.steps) {
    std::vector<bool>& done = streams[static_cast<size_t>(step.stream)];
    if (step.kind == StepKind::Record) {
      if (nodes == Nodes::WorkAndRecords) {
        before_.push_back(done);
        done[before_.size() - 1] = true;
      }
      events[static_cast<size_t>(step.event)] = done;
    } else if (step.kind == StepKind::Wait) {
      join(done, events[static_cast<size_t>(step.event)]);
    } else {
      before_.push_back(done);
      done[before_.size() - 1] = true;
    }
  }
  before_.push_back(streams[0]);
}

std::string StepClosure::firstDifference(const StepClosure& other) const {
  if (count() != other.count()) return fmt::format("{} and {} steps", count() - 2, other.count() - 2);
  for (size_t b = 0; b < count(); ++b) {
    for (size_t a = 0; a < b; ++a) {
      if (isBefore(a, b) != other.isBefore(a, b)) {
        return fmt::format("work step {} is {}before work step {} (0 is the entry, {} the exit)", a,
                           isBefore(a, b) ? "no longer " : "now ", b, count() - 1);
      }
    }
  }
  return "";
}

bool hasCommunications(const StepList& list) {
  return std::ranges::any_of(
      list.steps, [](const Step& step) { return step.kind == StepKind::Post || step.kind == StepKind::Join; });
}

std::string problemOfDroppedWaits(const StepList& list, const StepList& dropped) {
  std::string difference = StepClosure(list).firstDifference(StepClosure(dropped));
  if (!difference.empty()) return difference;
  using enum StepClosure::Nodes;
  const StepClosure order(dropped, WorkAndRecords);
  for (size_t i = 0; i < dropped.steps.size(); ++i) {
    if (dropped.steps[i].kind != StepKind::Wait) continue;
    if (StepClosure(withoutStep(dropped, i), WorkAndRecords) == order)
      return fmt::format("the wait that is step {} is implied by others", i);
  }
  return "";
}

std::string problemOfPlaces(const StepList& list, const StepList& placed) {
  const StepClosure order(list);
  struct Placed {
    int64_t begin = 0;
    int64_t end = 0;
    int32_t arena = 0;
    std::vector<size_t> uses = {};  // work step numbers, from 1
  };
  std::map<int32_t, Placed> places;
  size_t in_list = 0;    // number of the step among those that are not Record or Wait, from 1
  size_t in_placed = 0;  // index
  for (const Step& step : list.steps) {
    if (isOrderOnly(step)) continue;
    ++in_list;
    const bool is_life = step.kind == StepKind::Allocate || step.kind == StepKind::Release;
    while (!is_life && isOrderOnly(placed.steps[in_placed])) ++in_placed;
    for (size_t a = 0; a < step.accesses.size(); ++a) {
      const Access& access = step.accesses[a];
      const StepBuffer& buffer = list.buffers[static_cast<size_t>(access.buffer)];
      if (buffer.origin != StepBuffer::Origin::Intermediate) continue;
      if (is_life) continue;  // touches no byte
      Placed& place = places[access.buffer];
      place.uses.push_back(in_list);
      const Access& moved = placed.steps[in_placed].accesses[a];
      const Placed now{.begin = moved.offset - access.offset,
                       .end = moved.offset - access.offset + buffer.bytes,
                       .arena = moved.buffer};
      if (place.end != 0 && (place.begin != now.begin || place.arena != now.arena))
        return fmt::format("buffer {} has two places", access.buffer);
      place.begin = now.begin;
      place.end = now.end;
      place.arena = now.arena;
      const bool is_arena = placed.buffers[static_cast<size_t>(now.arena)].origin == StepBuffer::Origin::Arena;
      if (!is_arena || now.begin < 0 || now.end > placed.buffers[static_cast<size_t>(now.arena)].bytes)
        return fmt::format("buffer {} leaves the arena", access.buffer);
    }
    if (!is_life) ++in_placed;
  }
  const auto isAllBefore = [&](const Placed& a, const Placed& b) {
    return std::ranges::all_of(a.uses, [&](size_t use) {
      return std::ranges::all_of(b.uses, [&](size_t later) { return order.isBefore(use, later); });
    });
  };
  for (const auto& [one, a] : places) {
    for (const auto& [other, b] : places) {
      const bool share = one < other && a.arena == b.arena && a.begin < b.end && b.begin < a.end;
      if (share && !isAllBefore(a, b) && !isAllBefore(b, a))
        return fmt::format("buffers {} and {} share bytes, but are not used one after the other", one, other);
    }
  }
  return "";
}

}  // namespace tokamak
