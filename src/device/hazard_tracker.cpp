#include "device/hazard_tracker.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "device/tensor.h"

namespace tokamak {

namespace {

constexpr size_t kFewEntries = 16;

bool isOverlapping(uintptr_t begin, uintptr_t end, const TrackedMemory::Entry& entry) {
  return begin < entry.end && entry.begin < end;
}

bool covers(uintptr_t begin, uintptr_t end, const TrackedMemory::Entry& entry) {
  return begin <= entry.begin && entry.end <= end;
}

// From the first to the last byte; empty without elements.
TrackedAccess accessOf(const Tensor& tensor, MemoryAccess access) {
  TrackedAccess made{.buffer = tensor.buffer().get(), .access = access};
  made.begin = reinterpret_cast<uintptr_t>(tensor.data());
  made.end = made.begin;
  if (tensor.numel() == 0) return made;
  const int64_t bytes = sizeOf(tensor.dtype());
  int64_t first = 0;
  int64_t last = bytes;
  for (size_t axis = 0; axis < tensor.sizes().size(); ++axis) {
    const int64_t reach = (tensor.sizes()[axis] - 1) * tensor.strides()[axis] * bytes;
    (reach < 0 ? first : last) += reach;
  }
  made.end = made.begin + static_cast<uintptr_t>(last);
  made.begin += static_cast<uintptr_t>(first);
  return made;
}

}  // namespace

void CallPoint::waitUntilIssued() const {
  if (isIssued()) return;
  waiters_.fetch_add(1);
  while (state_.load() != kIssued) state_.wait(kIssuing);
  waiters_.fetch_sub(1);
}

// The store and the look at the waiters must not change places, nor must the other side's pair.
void CallPoint::markIssued(uint64_t number) {
  issued_as_.store(number, std::memory_order_relaxed);
  state_.store(kIssued);
  if (waiters_.load() != 0) state_.notify_all();
}

void HazardTracker::Waits::clear() {
  conflicts.clear();
  allocations.clear();
}

void HazardTracker::Waits::add(const std::shared_ptr<CallPoint>& point, MemoryAccess access) {
  const auto known = std::ranges::find(conflicts, point, &Conflict::point);
  if (known == conflicts.end())
    conflicts.push_back({point, access});
  else if (access == MemoryAccess::Write)
    known->access = access;
}

HazardTracker::~HazardTracker() = default;

void HazardTracker::forgetAll() {
  const std::lock_guard lock(lock_);
  ranges_.clear();
  points_.clear();
}

// The pool is looked through in a circle, a few points at a time, so that many which others still hold cost nothing.
std::shared_ptr<CallPoint> HazardTracker::takePoint(const Stream* stream) {
  constexpr int kTries = 4;
  std::shared_ptr<CallPoint> taken;
  for (int i = 0; i < kTries && taken == nullptr && !points_.empty(); ++i) {
    next_point_ = (next_point_ + 1) % points_.size();
    if (points_[next_point_].use_count() == 1) taken = points_[next_point_];
  }
  if (taken == nullptr) {
    taken = std::make_shared<CallPoint>(device_.createEvent());
    points_.push_back(taken);
  }
  taken->stream_.store(stream, std::memory_order_relaxed);
  taken->state_.store(CallPoint::kIssuing, std::memory_order_relaxed);
  return taken;
}

TrackedMemory& HazardTracker::memoryOf(const Buffer& buffer) {
  if (buffer.tracked_ == nullptr) attach(buffer);
  while (buffer.tracked_->merged_into != nullptr) buffer.tracked_ = buffer.tracked_->merged_into;
  return *buffer.tracked_;
}

// Ranges that overlap become one: what two of them overlap with is ordered by both.
void HazardTracker::attach(const Buffer& buffer) {
  const auto begin = reinterpret_cast<uintptr_t>(buffer.address());
  const uintptr_t end = begin + static_cast<uintptr_t>(std::max<int64_t>(buffer.bytes(), 1));
  if (orphans_ > orphan_limit_) sweep();
  auto at = ranges_.upper_bound(begin);
  if (at != ranges_.begin() && std::prev(at)->second->end > begin) --at;
  std::shared_ptr<TrackedMemory> memory;
  while (at != ranges_.end() && at->first < end) {
    if (at->second->buffers == 0) --orphans_;
    if (memory == nullptr) {
      memory = at->second;
    } else {
      absorb(*memory, *at->second);
      at->second->merged_into = memory;
    }
    at = ranges_.erase(at);
  }
  if (memory == nullptr) {
    memory = std::make_shared<TrackedMemory>();
    memory->begin = begin;
    memory->end = end;
    memory->limit = kFewEntries;
  }
  memory->begin = std::min(memory->begin, begin);
  memory->end = std::max(memory->end, end);
  memory->is_shared_with_host = memory->is_shared_with_host || buffer.isCallers();
  ++memory->buffers;
  buffer.tracked_ = memory;
  ranges_[memory->begin] = std::move(memory);
}

void HazardTracker::absorb(TrackedMemory& into, TrackedMemory& other) {
  into.begin = std::min(into.begin, other.begin);
  into.end = std::max(into.end, other.end);
  into.buffers += other.buffers;
  into.is_shared_with_host = into.is_shared_with_host || other.is_shared_with_host;
  std::ranges::move(other.entries, std::back_inserter(into.entries));
  other.entries.clear();
}

// Memory belongs to the stream that it was allocated on: a first use elsewhere comes after what is there now.
void HazardTracker::settleAllocation(const Buffer& buffer, TrackedMemory& memory, const Stream* stream, Waits& waits) {
  if (buffer.is_settled_ || buffer.stream_.get() == stream) return;
  buffer.is_settled_ = true;
  const std::shared_ptr<CallPoint> point = takePoint(buffer.stream_.get());
  const auto begin = reinterpret_cast<uintptr_t>(buffer.address());
  waits.allocations.emplace_back(point, buffer.stream_);
  memory.entries.push_back({.begin = begin,
                            .end = begin + static_cast<uintptr_t>(buffer.bytes()),
                            .number = ++calls_,
                            .access = MemoryAccess::Write,
                            .is_hull = true,  // it has waited for nothing
                            .point = point});
}

// What an earlier access on the stream has waited for need not be waited for again. `number` of the latest such access
// that covers
// this one, for writes and for reads.
void HazardTracker::collect(const TrackedMemory& memory, const TrackedAccess& access, const Stream* stream,
                            const CallPoint* own, Waits& waits) {
  uint64_t after_write = 0;
  uint64_t after_read = 0;
  for (const TrackedMemory::Entry& entry : memory.entries) {
    const bool is_ours = entry.point->stream() == stream && entry.point->isIssued() && !entry.is_hull;
    if (!is_ours || access.begin < entry.begin || entry.end < access.end) continue;
    uint64_t& after = entry.access == MemoryAccess::Write ? after_write : after_read;
    after = std::max(after, entry.number);
  }
  for (const TrackedMemory::Entry& entry : memory.entries) {
    const bool has_write = entry.access == MemoryAccess::Write || access.access == MemoryAccess::Write;
    if (!has_write || entry.point.get() == own || !isOverlapping(access.begin, access.end, entry)) continue;
    const bool is_known =
        entry.number < after_write || (entry.access == MemoryAccess::Write && entry.number < after_read);
    const bool is_in_order = is_known || entry.point->stream() == stream;
    if (!is_in_order || !entry.point->isIssued()) waits.add(entry.point, entry.access);
  }
}

// A write stands for what it covers: it came after that. A read stands for its stream's earlier reads.
void HazardTracker::insert(TrackedMemory& memory, const TrackedAccess& access, uint64_t number,
                           const std::shared_ptr<CallPoint>& point) {
  const auto isStoodFor = [&](const TrackedMemory::Entry& entry) {
    if (!covers(access.begin, access.end, entry)) return false;
    if (access.access == MemoryAccess::Write) return true;
    return entry.access == MemoryAccess::Read && entry.point->stream() == point->stream() && entry.point->isIssued();
  };
  const bool is_written_here = std::ranges::any_of(memory.entries, [&](const TrackedMemory::Entry& entry) {
    return entry.point == point && entry.access == MemoryAccess::Write && entry.begin <= access.begin &&
           access.end <= entry.end;
  });
  if (is_written_here) return;  // the same call writes it
  std::erase_if(memory.entries, isStoodFor);
  if (memory.entries.size() >= memory.limit) compact(memory);
  memory.entries.push_back(
      {.begin = access.begin, .end = access.end, .number = number, .access = access.access, .point = point});
}

// On one stream a later point stands for an earlier one, over the bytes of both.
void HazardTracker::compact(TrackedMemory& memory) {
  std::vector<TrackedMemory::Entry> kept;
  std::ranges::sort(memory.entries, {}, &TrackedMemory::Entry::number);
  for (TrackedMemory::Entry& entry : memory.entries) {
    const bool is_over =
        entry.access == MemoryAccess::Read && entry.point->isIssued() && device_.isDone(entry.point->event());
    if (is_over) continue;
    const auto found = std::ranges::find_if(kept, [&](const TrackedMemory::Entry& other) {
      return other.access == entry.access && other.point->stream() == entry.point->stream() &&
             other.point->isIssued() && other.point->issued_as_.load(std::memory_order_relaxed) < entry.number;
    });
    if (found == kept.end()) {
      kept.push_back(std::move(entry));
      continue;
    }
    found->begin = std::min(found->begin, entry.begin);
    found->end = std::max(found->end, entry.end);
    found->number = entry.number;
    found->is_hull = true;
    found->point = std::move(entry.point);
  }
  memory.entries = std::move(kept);
  memory.limit = std::max(kFewEntries, 2 * memory.entries.size());
}

// What a lost device says of its events is no answer.
bool HazardTracker::isOver(const TrackedMemory& memory) const try {
  return std::ranges::all_of(memory.entries, [&](const TrackedMemory::Entry& entry) {
    return entry.point->isIssued() && device_.isDone(entry.point->event());
  });
} catch (const Error&) {
  return false;
}

void HazardTracker::sweep() {
  orphans_ -=
      std::erase_if(ranges_, [&](const auto& range) { return range.second->buffers == 0 && isOver(*range.second); });
  constexpr size_t kFewOrphans = 64;
  orphan_limit_ = std::max(kFewOrphans, 2 * orphans_);
}

void HazardTracker::letGo(Buffer& buffer) {
  const std::lock_guard lock(lock_);
  if (buffer.tracked_ == nullptr) return;
  TrackedMemory& memory = memoryOf(buffer);
  const auto begin = reinterpret_cast<uintptr_t>(buffer.address());
  const uintptr_t end = begin + static_cast<uintptr_t>(buffer.bytes());
  if (buffer.isOwned()) std::erase_if(memory.entries, [&](const auto& entry) { return covers(begin, end, entry); });
  buffer.tracked_ = nullptr;
  if (--memory.buffers > 0) return;
  if (isOver(memory))
    ranges_.erase(memory.begin);
  else
    ++orphans_;
}

std::shared_ptr<CallPoint> HazardTracker::begin(const std::vector<TrackedAccess>& accesses, const Stream& stream,
                                                Waits& waits, bool& is_shared_with_host) {
  const std::lock_guard lock(lock_);
  std::shared_ptr<CallPoint> point = takePoint(&stream);
  try {
    for (const TrackedAccess& access : accesses) {
      if (access.begin == access.end) continue;
      TrackedMemory& memory = memoryOf(*access.buffer);
      is_shared_with_host = is_shared_with_host || (memory.is_shared_with_host && access.buffer->isHostReadable());
      settleAllocation(*access.buffer, memory, &stream, waits);
      collect(memory, access, &stream, point.get(), waits);
    }
    const uint64_t number = ++calls_;
    for (const TrackedAccess& access : accesses) {
      if (access.begin != access.end) insert(memoryOf(*access.buffer), access, number, point);
    }
  } catch (...) {  // no memory for a list
    giveUp(waits);
    markIssued(*point);
    throw;
  }
  return point;
}

// Nobody may wait for ever: what is not recorded stands for nothing.
void HazardTracker::giveUp(Waits& waits) {
  for (auto& [point, owner] : waits.allocations) markIssued(*point);
}

void HazardTracker::enterFresh(const TrackedAccess& access, const std::shared_ptr<CallPoint>& point) {
  const std::lock_guard lock(lock_);
  if (access.begin != access.end) insert(memoryOf(*access.buffer), access, ++calls_, point);
}

// Points of earlier calls only, whose threads wait for still earlier ones: nobody waits in a circle.
void HazardTracker::issueWaits(Waits& waits, Stream* stream) {
  std::exception_ptr failure;
  for (auto& [point, owner] : waits.allocations) {
    try {
      device_.record(point->event(), *owner);
    } catch (const Error&) {
      failure = std::current_exception();
    }
    markIssued(*point);
  }
  if (failure != nullptr) std::rethrow_exception(failure);
  for (const auto& [point, access] : waits.conflicts) {
    point->waitUntilIssued();
    if (stream != nullptr && point->stream() != stream) device_.wait(*stream, point->event());
  }
}

void HazardTracker::waitOnHost(const Tensor& tensor, MemoryAccess access) {
  const TrackedAccess wanted = accessOf(tensor, access);
  if (wanted.begin == wanted.end) return;
  Waits waits;
  {
    const std::lock_guard lock(lock_);
    TrackedMemory& memory = memoryOf(*wanted.buffer);
    try {
      settleAllocation(*wanted.buffer, memory, nullptr, waits);
      collect(memory, wanted, nullptr, nullptr, waits);
    } catch (...) {
      giveUp(waits);
      throw;
    }
  }
  issueWaits(waits, nullptr);
  if (waits.conflicts.empty()) return;
  // A reader's failure belongs to those who wait for what it made.
  for (const auto& [point, kind] : waits.conflicts) {
    if (kind == MemoryAccess::Write)
      device_.synchronize(point->event());
    else
      device_.waitDone(point->event());
  }
  const std::lock_guard lock(lock_);
  std::erase_if(memoryOf(*wanted.buffer).entries, [&](const TrackedMemory::Entry& entry) {
    return std::ranges::find(waits.conflicts, entry.point, &Waits::Conflict::point) != waits.conflicts.end();
  });
}

void HazardTracker::shareWithHost(const Tensor& tensor) {
  const std::lock_guard lock(lock_);
  memoryOf(*tensor.buffer()).is_shared_with_host = true;
}

void HazardTracker::accessOn(Stream& stream, const Tensor& tensor, MemoryAccess access) {
  OrderedCall call(device_);
  call.add(tensor, access);
  call.run(stream, [] {});
}

OrderedCall::OrderedCall(Device& device) : tracker_(device.hazards()) {}

void OrderedCall::clear() {
  accesses_.clear();
  given_events_.clear();
  waits_.clear();
  is_shared_with_host_ = false;
}

void OrderedCall::add(const Tensor& tensor, MemoryAccess access) {
  accesses_.push_back(accessOf(tensor, access));
  if (tensor.hasGivenEvent()) given_events_.push_back(tensor.readyEvent().get());
}

void OrderedCall::add(const Buffer& buffer, MemoryAccess access) {
  const auto begin = reinterpret_cast<uintptr_t>(buffer.address());
  accesses_.push_back({&buffer, begin, begin + static_cast<uintptr_t>(buffer.bytes()), access});
}

bool OrderedCall::waitsForNothing() const {
  const auto isOver = [&](const HazardTracker::Waits::Conflict& conflict) {
    return conflict.point->isIssued() && tracker_.device_.hasSucceeded(conflict.point->event());
  };
  return waits_.allocations.empty() && std::ranges::all_of(waits_.conflicts, isOver) &&
         std::ranges::all_of(given_events_, [&](const Event* event) { return tracker_.device_.hasSucceeded(*event); });
}

RunPlace OrderedCall::begin(Stream& stream, RunPlace wanted) {
  point_ = nullptr;  // so that it may be taken again
  point_ = tracker_.begin(accesses_, stream, waits_, is_shared_with_host_);
  is_under_way_ = true;
  if (wanted == RunPlace::Here && waitsForNothing() && tracker_.device_.tryEnterStream(stream)) {
    entered_ = &stream;
    return RunPlace::Here;
  }
  try {
    tracker_.issueWaits(waits_, &stream);
    for (const Event* event : given_events_) tracker_.device_.wait(stream, *event);
  } catch (...) {
    abandon(stream);
    throw;
  }
  return RunPlace::OnStream;
}

void OrderedCall::addFresh(const Tensor& tensor) { tracker_.enterFresh(accessOf(tensor, MemoryAccess::Write), point_); }

void OrderedCall::record(Stream& stream) {
  try {
    tracker_.device_.record(point_->event(), stream);
  } catch (...) {
    finish();
    throw;
  }
}

void OrderedCall::abandon(Stream& stream) noexcept {
  try {
    tracker_.device_.record(point_->event(), stream);
  } catch (...) {
    return finish();  // the device is lost: there is nothing to wait for
  }
  finish();
}

void OrderedCall::finish() {
  if (Stream* const entered = std::exchange(entered_, nullptr)) tracker_.device_.leaveStream(*entered);
  tracker_.markIssued(*point_);
  is_under_way_ = false;
  waits_.clear();
}

}  // namespace tokamak
