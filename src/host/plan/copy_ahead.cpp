#include "host/plan/copy_ahead.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "host/check/step_order.h"
#include "host/check/step_uses.h"
#include "host/check/use_index.h"

namespace tokamak {

namespace {

bool isOrdered(const Step& step) { return step.kind == StepKind::Work || step.kind == StepKind::Fill; }

// Kernels reach no memory of the host's: what has it for an operand is a copy.
bool isCopyIn(const StepList& list, const Step& step) {
  if (step.kind != StepKind::Work || step.stream == 0 || step.accesses.empty()) return false;
  bool reads = false;
  bool writes = false;
  for (const Access& access : step.accesses) {
    const bool is_on_device = list.buffers[static_cast<size_t>(access.buffer)].kind == MemoryKind::Device;
    if (access.is_write != is_on_device) return false;
    (access.is_write ? writes : reads) = true;
  }
  return reads && writes;
}

// Per buffer the one whose place it takes, or -1.
std::vector<int32_t> findPlaces(const StepList& list) {
  std::vector<int32_t> places(list.buffers.size(), -1);
  std::map<std::pair<int32_t, std::string>, int32_t> last;  // by the stream and the name
  for (const Step& step : list.steps) {
    if (step.kind != StepKind::Allocate) continue;
    const int32_t buffer = step.accesses[0].buffer;
    const auto [found, is_first] =
        last.try_emplace({step.stream, list.buffers[static_cast<size_t>(buffer)].name}, buffer);
    if (!is_first) places[static_cast<size_t>(buffer)] = std::exchange(found->second, buffer);
  }
  return places;
}

// Walks the list with its copies on their stream, and adds the waits that the workers' order stood for.
class CopiesAhead {
 public:
  explicit CopiesAhead(StepList moved, const std::vector<bool>& is_copy)
      : list_(std::move(moved)),
        is_copy_(is_copy),
        places_(findPlaces(list_)),
        uses_(list_),
        past_(list_, uses_),
        order_(withEventPerStep()),
        points_(list_.steps.size()),
        uses_of_buffer_(list_.buffers.size()),
        waits_(list_.steps.size() + 1) {
    findTouched();
  }

  StepList run() {
    order_.take({.kind = StepKind::Record, .stream = 0, .event = eventOf(kEntryStep)});
    for (const StepUse& use : uses_.entry()) {
      const bool is_callers = bufferOf(use).origin != StepBuffer::Origin::Intermediate;
      if (is_callers && isTouched(use)) past_.add(use, StepOrder::entry());
    }
    for (size_t i = 0; i < list_.steps.size(); ++i) {
      const Step& step = list_.steps[i];
      if (isOrdered(step))
        takeStep(i);
      else if (!isMemoryKind(step.kind))
        order_.take(step);
    }
    order_.takeExit();
    orderUses(list_.steps.size(), 0, uses_.exit());
    for (const int64_t copy : lastCopies()) waitFor(list_.steps.size(), 0, copy);
    return rebuild();
  }

 private:
  const StepBuffer& bufferOf(const StepUse& use) const { return list_.buffers[static_cast<size_t>(use.buffer)]; }
  bool isTouched(const StepUse& use) const {
    return is_touched_[static_cast<size_t>(use.buffer)] && !use.box.isEmpty();
  }
  // Of the list behind a step; kEntryStep is the first.
  int32_t eventOf(int64_t step) const { return list_.event_count + static_cast<int32_t>(step) + 1; }

  StepList withEventPerStep() const {
    StepList sizes;
    sizes.stream_count = list_.stream_count;
    sizes.event_count = eventOf(static_cast<int64_t>(list_.steps.size()));
    return sizes;
  }

  // Of each stream of copies.
  std::vector<int64_t> lastCopies() const {
    std::map<int32_t, int64_t> last;
    for (size_t i = 0; i < list_.steps.size(); ++i)
      if (is_copy_[i]) last[list_.steps[i].stream] = static_cast<int64_t>(i);
    std::vector<int64_t> copies;
    for (const auto& [stream, copy] : last) copies.push_back(copy);
    return copies;
  }

  // Buffers that copies use: others are used in the order of their streams, as before.
  void findTouched() {
    is_touched_.resize(list_.buffers.size(), false);
    for (size_t i = 0; i < list_.steps.size(); ++i)
      for (const Access& access : list_.steps[i].accesses)
        if (is_copy_[i]) is_touched_[static_cast<size_t>(access.buffer)] = true;
  }

  void takeStep(size_t i) {
    const Step& step = list_.steps[i];
    const std::span<const StepUse> uses = uses_.of(i);
    points_[i] = order_.take(step);
    if (is_copy_[i]) takePlaces(i);
    orderUses(i, step.stream, uses);
    for (const StepUse& use : uses) {
      if (!isTouched(use)) continue;
      past_.add(use, points_[i]);
      uses_of_buffer_[static_cast<size_t>(use.buffer)].push_back(static_cast<int64_t>(i));
    }
    order_.take({.kind = StepKind::Record, .stream = step.stream, .event = eventOf(static_cast<int64_t>(i))});
  }

  // Copy i waits for what used the buffers before its own.
  void takePlaces(size_t i) {
    for (const Access& access : list_.steps[i].accesses) {
      const int32_t before = places_[static_cast<size_t>(access.buffer)];
      if (before < 0) continue;
      const std::vector<int64_t>& users = uses_of_buffer_[static_cast<size_t>(before)];
      for (auto user = users.rbegin(); user != users.rend(); ++user) waitFor(i, list_.steps[i].stream, *user);
    }
  }

  // Step i, the latest one, waits for uses of the same bytes that nothing orders before it.
  void orderUses(size_t i, int32_t stream, std::span<const StepUse> uses) {
    std::set<int64_t, std::greater<>> unordered;
    const auto note = [&](const StepUse& past) { unordered.insert(past.step); };
    for (const StepUse& use : uses) {
      if (!isTouched(use)) continue;
      past_.forEachUnordered(order_, use, AccessMode::Write, note);
      if (use.mode == AccessMode::Write) past_.forEachUnordered(order_, use, AccessMode::Read, note);
    }
    for (const int64_t earlier : unordered) waitFor(i, stream, earlier);
  }

  void waitFor(size_t i, int32_t stream, int64_t earlier) {
    const StepPoint point = earlier == kEntryStep ? StepOrder::entry() : points_[static_cast<size_t>(earlier)];
    if (order_.isBeforeLatest(point)) return;
    order_.take({.kind = StepKind::Wait, .stream = stream, .event = eventOf(earlier)});
    waits_[i].push_back(earlier);
    is_waited_for_.insert(earlier);
  }

  StepList rebuild() const {
    StepList result;
    result.buffers = list_.buffers;
    result.stream_count = list_.stream_count;
    result.event_count = eventOf(static_cast<int64_t>(list_.steps.size()));
    const auto recordBehind = [&](int64_t step, int32_t stream) {
      if (is_waited_for_.contains(step))
        result.steps.push_back({.kind = StepKind::Record, .stream = stream, .event = eventOf(step)});
    };
    recordBehind(kEntryStep, 0);
    for (size_t i = 0; i <= list_.steps.size(); ++i) {
      const int32_t stream = i < list_.steps.size() ? list_.steps[i].stream : 0;
      for (const int64_t earlier : waits_[i])
        result.steps.push_back({.kind = StepKind::Wait, .stream = stream, .event = eventOf(earlier)});
      if (i == list_.steps.size()) break;
      result.steps.push_back(list_.steps[i]);
      recordBehind(static_cast<int64_t>(i), stream);
    }
    return result;
  }

  const StepList list_;
  const std::vector<bool>& is_copy_;  // per step
  const std::vector<int32_t> places_;
  const StepUses uses_;
  UseIndex past_;
  StepOrder order_;
  std::vector<StepPoint> points_;                     // per step
  std::vector<std::vector<int64_t>> uses_of_buffer_;  // steps so far
  std::vector<bool> is_touched_;                      // per buffer
  std::vector<std::vector<int64_t>> waits_;           // per step, then at the exit: the steps that are waited for
  std::set<int64_t> is_waited_for_;
};

}  // namespace

StepList copyAhead(const StepList& list) {
  std::vector<bool> is_copy;
  std::vector<int32_t> copies(static_cast<size_t>(list.stream_count), 0);  // per stream
  for (const Step& step : list.steps) {
    if (step.kind == StepKind::Post || step.kind == StepKind::Join) return list;
    is_copy.push_back(isCopyIn(list, step));
    copies[static_cast<size_t>(step.stream)] += is_copy.back() ? 1 : 0;
  }
  StepList moved = list;
  std::vector<int32_t> streams_of_copies;
  for (const int32_t count : copies) streams_of_copies.push_back(count < 2 ? -1 : moved.stream_count++);
  if (moved.stream_count == list.stream_count) return list;
  for (size_t i = 0; i < is_copy.size(); ++i) {
    const int32_t stream = streams_of_copies[static_cast<size_t>(moved.steps[i].stream)];
    is_copy[i] = is_copy[i] && stream >= 0;
    if (is_copy[i]) moved.steps[i].stream = stream;
  }
  return CopiesAhead(std::move(moved), is_copy).run();
}

}  // namespace tokamak
