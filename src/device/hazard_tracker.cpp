#include "device/hazard_tracker.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "device/in_flight_calls.h"
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
  TrackedAccess made{.buffer = tensor.buffer().get(),
                     .access = access == MemoryAccess::Read ? MemoryAccess::Read : MemoryAccess::Write};
  // Of what lies between its elements nothing is written.
  made.relies = access != MemoryAccess::Write || !tensor.isContiguous();
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

void HazardTracker::Waits::add(Conflict conflict) {
  const auto known = std::ranges::find(conflicts, conflict.point, &Conflict::point);
  if (known == conflicts.end()) return conflicts.push_back(std::move(conflict));
  known->is_write = known->is_write || conflict.is_write;
  known->relies = known->relies || conflict.relies;
  known->is_in_order = known->is_in_order && conflict.is_in_order;
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
    forgetFailures(*at->second);
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
  if (buffer.isOfAddress()) ++memory->of_addresses;
  buffer.tracked_ = memory;
  ranges_[memory->begin] = std::move(memory);
}

void HazardTracker::absorb(TrackedMemory& into, TrackedMemory& other) {
  into.begin = std::min(into.begin, other.begin);
  into.end = std::max(into.end, other.end);
  into.buffers += other.buffers;
  into.of_addresses += other.of_addresses;
  into.is_shared_with_host = into.is_shared_with_host || other.is_shared_with_host;
  std::ranges::move(other.entries, std::back_inserter(into.entries));
  other.entries.clear();
}

// Memory belongs to the stream that it was allocated on: a first use elsewhere comes after what is there now. Where no
// call has written it that may be what the caller gave the stream to write it.
void HazardTracker::settleAllocation(const Buffer& buffer, TrackedMemory& memory, const Stream* stream, Waits& waits) {
  if (buffer.is_settled_ || buffer.stream_.get() == stream) return;
  if (buffer.is_written_by_calls_ && !device_.isOfThisProcess()) return;  // those are waited for themselves
  buffer.is_settled_ = true;
  const std::shared_ptr<CallPoint> point = takePoint(buffer.stream_.get());
  const auto begin = reinterpret_cast<uintptr_t>(buffer.address());
  waits.allocations.emplace_back(point, buffer.stream_);
  memory.entries.push_back({.begin = begin,
                            .end = begin + static_cast<uintptr_t>(buffer.bytes()),
                            .number = ++calls_,
                            .access = MemoryAccess::Write,
                            .is_hull = true,  // it has waited for nothing
                            .is_order_only = buffer.is_written_by_calls_,
                            .point = point});
}

// What an earlier access on the stream has waited for need not be waited for again. `number` of the latest such access
// that covers
// this one, for writes and for reads.
void HazardTracker::collect(const TrackedMemory& memory, const TrackedAccess& access, const Stream* stream,
                            const CallPoint* own, Waits& waits) {
  const auto isWrite = [](const TrackedMemory::Entry& entry) { return entry.access == MemoryAccess::Write; };
  if (access.access == MemoryAccess::Read && std::ranges::none_of(memory.entries, isWrite)) return;
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
    const bool is_write = entry.access == MemoryAccess::Write;
    const bool relies = is_write && access.relies && !entry.is_order_only;
    const bool is_in_order = (is_known || entry.point->stream() == stream) && entry.point->isIssued();
    if (relies || !is_in_order)
      waits.add({.point = entry.point, .is_write = is_write, .relies = relies, .is_in_order = is_in_order});
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
  if (access.access == MemoryAccess::Write) access.buffer->is_written_by_calls_ = true;
  TrackedMemory::Entry entry = {
      .begin = access.begin, .end = access.end, .number = number, .access = access.access, .point = point};
  if (memory.entries.size() == 1 && isStoodFor(memory.entries.front())) {  // as in call after call
    memory.entries.front() = std::move(entry);
    return;
  }
  std::erase_if(memory.entries, isStoodFor);
  if (memory.entries.size() >= memory.limit) compact(memory);
  memory.entries.push_back(std::move(entry));
}

// On one stream a later read stands for an earlier one, over the bytes of both. A write's point tells whether its bytes
// are there, so it is kept until it has succeeded.
void HazardTracker::compact(TrackedMemory& memory) {
  std::vector<TrackedMemory::Entry> kept;
  std::ranges::sort(memory.entries, {}, &TrackedMemory::Entry::number);
  for (TrackedMemory::Entry& entry : memory.entries) {
    const bool is_over = entry.point->isIssued() && device_.isDone(entry.point->event()) &&
                         (entry.access == MemoryAccess::Read || device_.failureOf(entry.point->event()) == nullptr);
    if (is_over) continue;
    if (entry.access == MemoryAccess::Write) {
      kept.push_back(std::move(entry));
      continue;
    }
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

// What a lost device says of its events is no answer. A driver takes long to answer: what its stream has behind a call
// that was not done is not asked about before the next call.
bool HazardTracker::isOver(const TrackedMemory& memory) try {
  return std::ranges::all_of(memory.entries, [&](const TrackedMemory::Entry& entry) {
    const Stream* const stream = entry.point->stream();
    const bool is_behind_undone =
        undone_.asked_at == calls_ && undone_.stream == stream && undone_.number <= entry.number;
    if (!entry.point->isIssued() || is_behind_undone) return false;
    if (device_.isDone(entry.point->event())) return true;
    undone_ = {.asked_at = calls_, .stream = stream, .number = entry.number};
    return false;
  });
} catch (const Error&) {
  return false;
}

// Nobody holds what was there but for its address: an array that comes now is another one, whose bytes are there,
// whatever calls before it did not write, once they are over.
void HazardTracker::forgetFailures(TrackedMemory& memory) {
  if (memory.buffers > memory.of_addresses) return;
  const auto isDone = [&](const CallPoint& point) {
    try {
      return point.isIssued() && device_.isDone(point.event());
    } catch (const Error&) {  // of a lost device
      return false;
    }
  };
  for (TrackedMemory::Entry& entry : memory.entries)
    entry.is_order_only = entry.is_order_only || memory.buffers == 0 || isDone(*entry.point);
}

void HazardTracker::sweep() {
  orphans_ -=
      std::erase_if(ranges_, [&](const auto& range) { return range.second->buffers == 0 && isOver(*range.second); });
  constexpr size_t kFewOrphans = 64;
  orphan_limit_ = std::max(kFewOrphans, 2 * orphans_);
}

void HazardTracker::letGo(Buffer& buffer) {
  const std::lock_guard lock(lock_);
  detach(buffer);
}

void HazardTracker::move(Buffer& buffer, void* address) {
  const std::lock_guard lock(lock_);
  if (!tryMove(buffer, reinterpret_cast<uintptr_t>(address))) detach(buffer);
  buffer.address_ = address;
}

bool HazardTracker::isFree(uintptr_t begin, uintptr_t end) const {
  const auto after = ranges_.upper_bound(begin);
  if (after != ranges_.begin() && std::prev(after)->second->end > begin) return false;
  return after == ranges_.end() || after->first >= end;
}

// A range that only this buffer has, and whose calls are over, is used again: that takes nothing from the heap.
bool HazardTracker::tryMove(Buffer& buffer, uintptr_t begin) {
  if (buffer.tracked_ == nullptr) return true;
  TrackedMemory& memory = memoryOf(buffer);
  const auto bytes = static_cast<uintptr_t>(std::max<int64_t>(buffer.bytes(), 1));
  if (memory.buffers > 1 || memory.end - memory.begin != bytes || !isOver(memory)) return false;
  auto node = ranges_.extract(memory.begin);
  if (!isFree(begin, begin + bytes)) {
    ranges_.insert(std::move(node));
    return false;
  }
  memory.entries.clear();
  memory.limit = kFewEntries;
  memory.begin = begin;
  memory.end = begin + bytes;
  memory.is_shared_with_host = buffer.isCallers();
  node.key() = begin;
  ranges_.insert(std::move(node));
  return true;
}

void HazardTracker::detach(Buffer& buffer) {
  if (buffer.tracked_ == nullptr) return;
  TrackedMemory& memory = memoryOf(buffer);
  const auto begin = reinterpret_cast<uintptr_t>(buffer.address());
  const uintptr_t end = begin + static_cast<uintptr_t>(buffer.bytes());
  if (buffer.isOwned()) std::erase_if(memory.entries, [&](const auto& entry) { return covers(begin, end, entry); });
  buffer.tracked_ = nullptr;
  if (buffer.isOfAddress()) --memory.of_addresses;
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
  for (const Waits::Conflict& conflict : waits.conflicts) {
    conflict.point->waitUntilIssued();
    if (stream == nullptr) continue;
    Event& event = conflict.point->event();
    const bool is_in_order = conflict.is_in_order || conflict.point->stream() == stream;
    if (is_in_order && conflict.relies)
      device_.takeFailure(*stream, event);
    else if (!is_in_order && conflict.relies)
      device_.wait(*stream, event);
    else if (!is_in_order)
      device_.waitOver(*stream, event);
  }
}

HazardTracker::Waits HazardTracker::conflictsOnHost(const TrackedAccess& wanted) {
  Waits waits;
  const std::lock_guard lock(lock_);
  TrackedMemory& memory = memoryOf(*wanted.buffer);
  try {
    settleAllocation(*wanted.buffer, memory, nullptr, waits);
    collect(memory, wanted, nullptr, nullptr, waits);
  } catch (...) {
    giveUp(waits);
    throw;
  }
  return waits;
}

// Whether nobody was told yet why the call did not write these bytes.
bool HazardTracker::takeTelling(const TrackedAccess& wanted, const CallPoint& point) {
  const std::lock_guard lock(lock_);
  bool is_told = false;
  bool is_untold = false;
  for (TrackedMemory::Entry& entry : memoryOf(*wanted.buffer).entries) {
    const bool is_meant = entry.point.get() == &point && entry.access == MemoryAccess::Write &&
                          isOverlapping(wanted.begin, wanted.end, entry);
    if (!is_meant) continue;
    (entry.is_told ? is_told : is_untold) = true;
    entry.is_told = true;
  }
  return is_untold || !is_told;
}

void HazardTracker::raiseFailureOf(const TrackedAccess& wanted, const CallPoint& point) {
  const std::exception_ptr failure = device_.failureOf(point.event());
  if (failure == nullptr || !takeTelling(wanted, point)) return;
  device_.synchronize(point.event());  // the first who asks gets the cause
  std::rethrow_exception(skippedBecauseOf(failure));
}

// In a forked child what was not done never will be.
void HazardTracker::requireDone(const Waits& waits) {
  for (const Waits::Conflict& conflict : waits.conflicts) {
    if (!conflict.point->isIssued() || !device_.isDone(conflict.point->event())) device_.requireProcess();
  }
}

void HazardTracker::waitOnHost(const Tensor& tensor, MemoryAccess access) {
  const TrackedAccess wanted = accessOf(tensor, access);
  if (wanted.begin == wanted.end) return;
  Waits waits = conflictsOnHost(wanted);
  if (!device_.isOfThisProcess()) requireDone(waits);
  issueWaits(waits, nullptr);
  if (waits.conflicts.empty()) return;
  for (const Waits::Conflict& conflict : waits.conflicts) device_.waitDone(conflict.point->event());
  device_.inFlightCalls().letGoOfWhatIsDone();
  // A reader's failure belongs to those who wait for what it made.
  for (const Waits::Conflict& conflict : waits.conflicts) {
    if (conflict.relies) raiseFailureOf(wanted, *conflict.point);
  }
  const std::lock_guard lock(lock_);
  // Bytes that are not there stay so until somebody writes them.
  std::erase_if(memoryOf(*wanted.buffer).entries, [&](const TrackedMemory::Entry& entry) {
    const bool is_met =
        std::ranges::find(waits.conflicts, entry.point, &Waits::Conflict::point) != waits.conflicts.end();
    return is_met && (wanted.access == MemoryAccess::Write || device_.failureOf(entry.point->event()) == nullptr);
  });
}

void HazardTracker::shareWithHost(const Tensor& tensor) {
  const std::lock_guard lock(lock_);
  memoryOf(*tensor.buffer()).is_shared_with_host = true;
}

void HazardTracker::accessOn(Stream& stream, const Tensor& tensor, MemoryAccess access) {
  const TrackedAccess wanted = accessOf(tensor, access);
  if (wanted.begin != wanted.end) {
    Waits waits = conflictsOnHost(wanted);
    issueWaits(waits, nullptr);
    // Of what is not done it is not known whose failures the stream's are: a user before this one may have left them.
    for (const Waits::Conflict& conflict : waits.conflicts) {
      if (conflict.relies && device_.isDone(conflict.point->event())) raiseFailureOf(wanted, *conflict.point);
    }
  }
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
  accesses_.push_back({.buffer = &buffer,
                       .begin = begin,
                       .end = begin + static_cast<uintptr_t>(buffer.bytes()),
                       .access = access == MemoryAccess::Read ? MemoryAccess::Read : MemoryAccess::Write,
                       .relies = access != MemoryAccess::Write});
}

bool OrderedCall::waitsForNothing() const {
  Device& device = tracker_.device_;
  const auto isOver = [&](const HazardTracker::Waits::Conflict& conflict) {
    Event& event = conflict.point->event();
    return conflict.point->isIssued() && device.isDone(event) &&
           (!conflict.relies || device.failureOf(event) == nullptr);
  };
  return waits_.allocations.empty() && std::ranges::all_of(waits_.conflicts, isOver) &&
         std::ranges::all_of(given_events_, [&](const Event* event) {
           return device.isDone(*event) && device.failureOf(*event) == nullptr;
         });
}

RunPlace OrderedCall::begin(Stream& stream, RunPlace wanted) {
  pin_.emplace(tracker_.device_.raiseCount());
  point_ = nullptr;  // so that it may be taken again
  try {
    point_ = tracker_.begin(accesses_, stream, waits_, is_shared_with_host_);
  } catch (...) {
    pin_.reset();
    throw;
  }
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
  pin_.reset();
  waits_.clear();
}

}  // namespace tokamak
