#include "host/place_buffers.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.h"
#include "host/step_clocks.h"

namespace tokamak {

namespace {

constexpr int64_t kAlignment = 256;

// When a buffer is in use: from the clock of its allocation to the last step on each stream that touches it.
struct Lifetime {
  DoneCounts start;
  DoneCounts last;
  bool is_allocated = false;
};

bool isDoneBefore(const Lifetime& first, const Lifetime& second) {
  for (size_t s = 0; s < first.last.size(); ++s) {
    if (first.last[s] > second.start[s]) return false;
  }
  return true;
}

std::vector<Lifetime> lifetimesOf(const StepList& list, const StepClocks& clocks) {
  std::vector<Lifetime> lifetimes(list.buffers.size());
  for (Lifetime& lifetime : lifetimes) lifetime.last.assign(static_cast<size_t>(list.stream_count), 0);
  for (size_t i = 0; i < list.steps.size(); ++i) {
    const Step& step = list.steps[i];
    for (const Access& access : step.accesses) {
      Lifetime& lifetime = lifetimes[static_cast<size_t>(access.buffer)];
      if (step.kind == StepKind::Allocate) {
        lifetime.start = clocks.before[i];
        lifetime.is_allocated = true;
      }
      int32_t& last = lifetime.last[static_cast<size_t>(step.stream)];
      last = std::max(last, clocks.position[i]);
    }
  }
  return lifetimes;
}

struct Place {
  size_t buffer;
  int64_t offset;
  int64_t bytes;
};

// First fit in order of size: the lowest offset that no buffer in use at the same time overlaps.
int64_t findOffset(const std::vector<Place>& placed, const std::vector<Lifetime>& lifetimes, size_t buffer,
                   int64_t bytes) {
  std::vector<const Place*> conflicts;
  for (const Place& place : placed) {
    const bool may_share = isDoneBefore(lifetimes[place.buffer], lifetimes[buffer]) ||
                           isDoneBefore(lifetimes[buffer], lifetimes[place.buffer]);
    if (!may_share) conflicts.push_back(&place);
  }
  std::ranges::sort(conflicts, {}, &Place::offset);
  int64_t offset = 0;
  for (const Place* place : conflicts) {
    if (offset + bytes <= place->offset) break;
    offset = std::max(offset, place->offset + place->bytes);
  }
  return offset;
}

// The arena serves one call after the other: a stream that uses it without having waited for the caller's start waits for that first.
StepList withEntryWaits(StepList list) {
  const StepClocks clocks = computeClocks(list);
  const auto isArena = [&](const Access& access) {
    return list.buffers[static_cast<size_t>(access.buffer)].origin == StepBuffer::Origin::Arena;
  };
  std::vector<bool> has_waited(static_cast<size_t>(list.stream_count), false);
  const int32_t entry = list.event_count;
  std::vector<Step> steps;
  for (size_t i = 0; i < list.steps.size(); ++i) {
    Step& step = list.steps[i];
    const auto stream = static_cast<size_t>(step.stream);
    if (clocks.before[i][0] == 0 && !has_waited[stream] && std::ranges::any_of(step.accesses, isArena)) {
      has_waited[stream] = true;
      steps.push_back({.kind = StepKind::Wait, .stream = step.stream, .event = entry});
    }
    steps.push_back(std::move(step));
  }
  if (steps.size() > list.steps.size()) {
    steps.insert(steps.begin(), {.kind = StepKind::Record, .stream = 0, .event = entry});
    ++list.event_count;
  }
  list.steps = std::move(steps);
  return list;
}

}  // namespace

StepList placeBuffers(const StepList& list) {
  const bool has_communications =
      std::ranges::any_of(list.steps, [](const Step& step) { return step.kind == StepKind::Post; });
  if (has_communications) return list;
  const std::vector<Lifetime> lifetimes = lifetimesOf(list, computeClocks(list));

  std::vector<size_t> order;
  for (size_t b = 0; b < list.buffers.size(); ++b) {
    if (list.buffers[b].origin == StepBuffer::Origin::Intermediate && lifetimes[b].is_allocated) order.push_back(b);
  }
  std::ranges::stable_sort(order, std::greater<>{}, [&](size_t b) { return list.buffers[b].bytes; });

  std::map<MemoryKind, std::vector<Place>> placed;
  std::map<MemoryKind, int64_t> arena_bytes;
  std::vector<int64_t> offsets(list.buffers.size(), 0);
  for (const size_t b : order) {
    const StepBuffer& buffer = list.buffers[b];
    const int64_t bytes = (std::max<int64_t>(buffer.bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
    offsets[b] = findOffset(placed[buffer.kind], lifetimes, b, bytes);
    placed[buffer.kind].push_back({b, offsets[b], bytes});
    arena_bytes[buffer.kind] = std::max(arena_bytes[buffer.kind], offsets[b] + bytes);
  }

  StepList result;
  result.stream_count = list.stream_count;
  result.event_count = list.event_count;
  std::vector<int32_t> new_number(list.buffers.size(), -1);
  for (size_t b = 0; b < list.buffers.size(); ++b) {
    if (list.buffers[b].origin == StepBuffer::Origin::Intermediate) continue;
    new_number[b] = static_cast<int32_t>(result.buffers.size());
    result.buffers.push_back(list.buffers[b]);
  }
  std::map<MemoryKind, int32_t> arena_number;
  for (const auto& [kind, bytes] : arena_bytes) {
    arena_number[kind] = static_cast<int32_t>(result.buffers.size());
    result.buffers.push_back({.origin = StepBuffer::Origin::Arena,
                              .number = static_cast<int64_t>(arena_number.size()) - 1,
                              .bytes = bytes,
                              .kind = kind,
                              .name = "arena"});
  }
  const auto translate = [&](int32_t& buffer, int64_t& offset) {
    const auto b = static_cast<size_t>(buffer);
    if (new_number[b] < 0) offset += offsets[b];
    buffer = new_number[b] >= 0 ? new_number[b] : arena_number.at(list.buffers[b].kind);
  };
  for (const Step& step : list.steps) {
    if (step.kind == StepKind::Allocate || step.kind == StepKind::Release) continue;
    result.steps.push_back(step);
    for (Access& access : result.steps.back().accesses) translate(access.buffer, access.offset);
    for (StepAddress& address : result.steps.back().addresses) translate(address.buffer, address.offset);
  }
  return withEntryWaits(std::move(result));
}

int64_t arenaBytes(const StepList& list) {
  int64_t total = 0;
  for (const StepBuffer& buffer : list.buffers) {
    if (buffer.origin == StepBuffer::Origin::Arena) total += buffer.bytes;
  }
  return total;
}

}  // namespace tokamak
