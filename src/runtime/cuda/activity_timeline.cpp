#include "runtime/cuda/activity_timeline.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "device/work.h"

namespace tokamak {

namespace {

// The activities with the entry's label, in order of beginning.
std::span<const GpuActivity> partsOf(const StreamEntry& entry, std::span<const GpuActivity> sorted) {
  const auto [first, last] = std::ranges::equal_range(sorted, entry.label, {}, &GpuActivity::label);
  return {first, last};
}

// Per entry: the beginning of the first later work of its track.
std::vector<int64_t> nextBegins(std::span<const StreamEntry> entries, std::span<const GpuActivity> sorted) {
  std::vector<int64_t> result(entries.size(), std::numeric_limits<int64_t>::max());
  std::map<int64_t, int64_t> next;  // per track
  for (size_t i = entries.size(); i-- > 0;) {
    const StreamEntry& entry = entries[i];
    if (const auto known = next.find(entry.track); known != next.end()) result[i] = known->second;
    if (entry.kind != StreamEntry::Kind::Work) continue;
    const std::span<const GpuActivity> parts = partsOf(entry, sorted);
    if (!parts.empty()) next[entry.track] = parts.front().begin_ns;
  }
  return result;
}

}  // namespace

void ActivityTimeline::tell(std::span<const StreamEntry> entries, std::vector<GpuActivity> activities,
                            TraceObserver& observer) {
  std::ranges::sort(activities, {},
                    [](const GpuActivity& activity) { return std::pair(activity.label, activity.begin_ns); });
  const std::vector<int64_t> next_begins = nextBegins(entries, activities);
  for (size_t i = 0; i < entries.size(); ++i) {
    const StreamEntry& entry = entries[i];
    switch (entry.kind) {
      case StreamEntry::Kind::Work: tellWork(entry, partsOf(entry, activities), observer); break;
      case StreamEntry::Kind::Point: tellPoint(entry, observer); break;
      case StreamEntry::Kind::Wait: tellWait(entry, next_begins[i], observer); break;
    }
  }
}

void ActivityTimeline::tellWork(const StreamEntry& entry, std::span<const GpuActivity> parts, TraceObserver& observer) {
  for (const GpuActivity& part : parts) {
    const auto [last_end, is_first] = last_end_.try_emplace(entry.track, part.begin_ns);
    const int64_t begin = std::max(part.begin_ns, last_end->second);
    const int64_t end = std::max(part.end_ns, begin);
    observer.span(entry.track, entry.name, begin, end);
    last_end->second = end;
  }
}

// (A point without work before it has no arrow.)
void ActivityTimeline::tellPoint(const StreamEntry& entry, TraceObserver& observer) {
  const auto last_end = last_end_.find(entry.track);
  if (last_end == last_end_.end()) return;
  reached_[entry.flow] = last_end->second;
  observer.flowBegin(entry.track, entry.flow, last_end->second);
}

void ActivityTimeline::tellWait(const StreamEntry& entry, int64_t next_begin, TraceObserver& observer) {
  const auto reached = reached_.find(entry.flow);
  if (reached == reached_.end()) return;
  int64_t begin = std::min(entry.issued_ns, next_begin);
  if (const auto last_end = last_end_.find(entry.track); last_end != last_end_.end())
    begin = std::max(begin, last_end->second);
  const int64_t end = std::max(begin, reached->second);
  observer.span(entry.track, entry.name, begin, end);
  observer.flowEnd(entry.track, entry.flow, end);
  last_end_[entry.track] = end;
}

}  // namespace tokamak
