#include "host/plan/place_buffers.h"

#include <algorithm>
#include <map>

#include "host/check/step_uses.h"
#include "host/plan/arena_layout.h"
#include "host/plan/step_clocks.h"

namespace tokamak {

namespace {

// The buffers' lifetimes, and whether they need memory.
struct BufferUses {
  std::vector<ArenaItem> items;  // per buffer of the list
  std::vector<bool> is_used;
};

// Allocate and Release steps are no uses: only accesses order two buffers.
BufferUses usesOf(const StepList& list, const StepClocks& clocks) {
  const auto stream_count = static_cast<size_t>(list.stream_count);
  BufferUses uses;
  uses.is_used.resize(list.buffers.size(), false);
  for (const StepBuffer& buffer : list.buffers) {
    uses.items.push_back({.start = {}, .last = DoneCounts(stream_count, 0), .bytes = buffer.bytes});
  }
  for (size_t i = 0; i < list.steps.size(); ++i) {
    const Step& step = list.steps[i];
    for (const StepAddress& address : step.addresses) uses.is_used[static_cast<size_t>(address.buffer)] = true;
    if (isMemoryKind(step.kind)) continue;
    for (const Access& access : step.accesses) {
      ArenaItem& item = uses.items[static_cast<size_t>(access.buffer)];
      uses.is_used[static_cast<size_t>(access.buffer)] = true;
      if (item.start.empty()) item.start = clocks.before[i];
      // (On one stream the first use has the fewest steps done before it.)
      int32_t& last = item.last[static_cast<size_t>(step.stream)];
      if (last == 0) {
        for (size_t s = 0; s < stream_count; ++s) item.start[s] = std::min(item.start[s], clocks.before[i][s]);
      }
      last = clocks.position[i];
    }
  }
  for (ArenaItem& item : uses.items) {
    if (item.start.empty()) item.start.resize(stream_count, 0);  // no byte is used
  }
  return uses;
}

// The next call uses the same arena, so streams have to wait for the caller's start before they use it.
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
  const BufferUses uses = usesOf(list, computeClocks(list));

  std::map<MemoryKind, std::vector<size_t>> placed;
  for (size_t b = 0; b < list.buffers.size(); ++b) {
    if (list.buffers[b].origin == StepBuffer::Origin::Intermediate && uses.is_used[b])
      placed[list.buffers[b].kind].push_back(b);
  }
  std::map<MemoryKind, int64_t> arena_bytes;
  std::vector<int64_t> offsets(list.buffers.size(), 0);
  for (const auto& [kind, buffers] : placed) {
    std::vector<ArenaItem> items;
    for (const size_t b : buffers) items.push_back(uses.items[b]);
    const ArenaLayout layout = layOut(items);
    for (size_t i = 0; i < buffers.size(); ++i) offsets[buffers[i]] = layout.offsets[i];
    arena_bytes[kind] = layout.bytes;
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
