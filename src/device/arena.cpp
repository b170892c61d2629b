#include "device/arena.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/require.h"

namespace tokamak {

namespace {

constexpr int64_t kGranule = 256;
// A block of the next two classes is good enough: at most a quarter more than the right one.
constexpr int kClassesSearched = 3;

// Classes 0-7 are 1-8 granules; from there on, eight equal steps per doubling.
int sizeClassOf(int64_t bytes) {
  const auto granules = static_cast<uint64_t>(std::max<int64_t>((bytes + kGranule - 1) / kGranule, 1));
  if (granules <= 8) return static_cast<int>(granules) - 1;
  const int shift = std::bit_width(granules - 1) - 4;  // the leading bit and three more remain
  return 8 * shift + static_cast<int>((granules - 1) >> shift);
}

int64_t bytesOfClass(int size_class) {
  if (size_class < 8) return (size_class + 1) * kGranule;
  const int shift = size_class / 8 - 1;
  return static_cast<int64_t>(8 + size_class % 8 + 1) * kGranule << shift;
}

size_t indexOf(MemoryKind kind) { return static_cast<size_t>(kind); }

}  // namespace

Arena::~Arena() {
  for (const MemoryKind kind : kAllMemoryKinds) {
    for (const auto& [address, block] : kinds_[indexOf(kind)].blocks) source_.release(address, block->bytes, kind);
  }
}

ArenaBlock Arena::allocate(int64_t bytes, MemoryKind kind, StreamClock& stream) {
  TK_REQUIRE(bytes >= 0, Usage, "allocate: {} bytes of {} memory were asked for; a size is not negative", bytes,
             memoryKindName(kind));
  TK_REQUIRE(bytes <= limit_, OutOfMemory, "allocate: {} bytes of {} memory were asked for; the device has {}", bytes,
             memoryKindName(kind), limit_);
  std::unique_lock lock(lock_);
  const bool must_fail = fail_in_ > 0 && --fail_in_ == 0;
  TK_REQUIRE(!must_fail, OutOfMemory, "allocate: {} bytes of {} memory were refused, as a test asked for", bytes,
             memoryKindName(kind));
  Kind& cache = kinds_[indexOf(kind)];
  const int size_class = sizeClassOf(bytes);
  Block* block = takeCached(cache, size_class, stream);
  if (block == nullptr) block = takeFromSource(lock, kind, size_class);
  if (block == nullptr) {
    const int64_t held = reserved_;
    const std::string use = describeUse();
    lock.unlock();
    TK_RAISE(OutOfMemory,
             "allocate: {} bytes of {} memory were asked for while {} are held; the device may hold {}; {}", bytes,
             memoryKindName(kind), held, limit_, use);
  }
  block->in_use = true;
  block->requested = bytes;
  cache.statistics.bytes_in_use += bytes;
  cache.statistics.peak_bytes_in_use = std::max(cache.statistics.peak_bytes_in_use, cache.statistics.bytes_in_use);
  StreamClock* const other = block->freed_on == &stream ? nullptr : block->freed_on;
  return {block->address, other, block->freed_at};
}

void Arena::release(void* address, int64_t bytes, MemoryKind kind, StreamClock& stream, uint64_t point) {
  const std::lock_guard lock(lock_);
  Kind& cache = kinds_[indexOf(kind)];
  const auto found = cache.blocks.find(address);
  TK_REQUIRE(found != cache.blocks.end() && found->second->in_use && found->second->requested == bytes, Usage,
             "release: {} with {} bytes is not an allocation of {} memory that is in use", address, bytes,
             memoryKindName(kind));
  Block& block = *found->second;
  auto& lists = cache.free[static_cast<size_t>(block.size_class)];
  const auto stream_index = static_cast<size_t>(stream.index());
  if (stream_index >= lists.size()) lists.resize(stream_index + 1);  // before any change: it may find no memory
  block.in_use = false;
  block.freed_on = &stream;
  block.freed_at = point;
  cache.statistics.bytes_in_use -= bytes;
  append(cache, block);
}

void Arena::trim() {
  const std::lock_guard lock(lock_);
  trimLocked();
}

MemoryStatistics Arena::statistics(MemoryKind kind) const {
  const std::lock_guard lock(lock_);
  return kinds_[indexOf(kind)].statistics;
}

void Arena::failAllocation(int64_t n) {
  const std::lock_guard lock(lock_);
  fail_in_ = n;
}

// The stream's own blocks need no waiting, the newest is still in the processor's cache; of other streams' blocks the
// oldest is the likeliest to be done.
Arena::Block* Arena::takeCached(Kind& kind, int size_class, const StreamClock& stream) {
  const int last = std::min(size_class + kClassesSearched, kClassCount);
  const auto own = static_cast<size_t>(stream.index());
  for (int candidate = size_class; candidate < last; ++candidate) {
    const auto& lists = kind.free[static_cast<size_t>(candidate)];
    if (own >= lists.size() || lists[own].newest == nullptr) continue;
    Block* const block = lists[own].newest;
    unlink(kind, *block);
    return block;
  }
  for (int candidate = size_class; candidate < last; ++candidate) {
    for (const FreeList& list : kind.free[static_cast<size_t>(candidate)]) {
      Block* const block = list.oldest;
      if (block == nullptr || !block->freed_on->isDone(block->freed_at)) continue;
      unlink(kind, *block);
      return block;
    }
  }
  return nullptr;
}

Arena::Block* Arena::takeFromSource(std::unique_lock<SpinLock>& lock, MemoryKind kind, int size_class) {
  const int64_t bytes = bytesOfClass(size_class);
  // The limit counts whole blocks, but a request within the limit must not fail for its rounding alone.
  const int64_t counted = std::min(bytes, limit_);
  if (unused_.empty()) {
    unused_.reserve(storage_.size() + 1);  // so that giving blocks back needs no memory
    unused_.push_back(&storage_.emplace_back());
  }
  void* address = nullptr;
  while (true) {
    if (reserved_ + counted <= limit_) address = source_.allocate(bytes, kind);
    if (address != nullptr) break;
    if (!makeRoom(lock)) return nullptr;
  }
  Kind& cache = kinds_[indexOf(kind)];
  Block* const block = unused_.back();
  *block = Block{.address = address, .bytes = bytes, .size_class = size_class};
  try {
    cache.blocks.emplace(address, block);
  } catch (...) {
    source_.release(address, bytes, kind);
    throw;
  }
  unused_.pop_back();
  reserved_ += bytes;
  cache.statistics.bytes_reserved += bytes;
  ++cache.statistics.system_allocations;
  return block;
}

// Gives back what is cached and done; if nothing is, waits for one cached block that is not. False when nothing is
// left.
bool Arena::makeRoom(std::unique_lock<SpinLock>& lock) {
  if (trimLocked() > 0) return true;
  for (Kind& kind : kinds_) {
    for (const auto& lists : kind.free) {
      for (const FreeList& list : lists) {
        if (list.oldest == nullptr) continue;
        StreamClock* const clock = list.oldest->freed_on;
        const uint64_t point = list.oldest->freed_at;
        lock.unlock();  // the work waited for may itself release memory
        const bool waited = clock->waitDone(point);
        lock.lock();
        if (waited) return true;
      }
    }
  }
  return false;
}

int64_t Arena::trimLocked() {
  int64_t given_back = 0;
  for (const MemoryKind memory_kind : kAllMemoryKinds) {
    Kind& kind = kinds_[indexOf(memory_kind)];
    for (const auto& lists : kind.free) {
      for (const FreeList& list : lists) {
        while (list.oldest != nullptr && list.oldest->freed_on->isDone(list.oldest->freed_at)) {
          Block& block = *list.oldest;
          unlink(kind, block);
          kind.blocks.erase(block.address);
          source_.release(block.address, block.bytes, memory_kind);
          reserved_ -= block.bytes;
          kind.statistics.bytes_reserved -= block.bytes;
          given_back += block.bytes;
          unused_.push_back(&block);
        }
      }
    }
  }
  return given_back;
}

// "4 blocks are in use, the largest of [600000 (device), 4096 (device)] bytes"
std::string Arena::describeUse() const {
  constexpr size_t kMost = 4;
  std::vector<std::pair<int64_t, MemoryKind>> blocks;
  for (const MemoryKind kind : kAllMemoryKinds) {
    for (const auto& [address, block] : kinds_[indexOf(kind)].blocks)
      if (block->in_use) blocks.emplace_back(block->requested, kind);
  }
  if (blocks.empty()) return "nothing is in use";
  std::ranges::sort(blocks, std::greater<>());
  std::string text;
  for (const auto& [bytes, kind] : std::span(blocks).first(std::min(kMost, blocks.size())))
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", bytes, memoryKindName(kind));
  return fmt::format("{} blocks are in use, the largest of [{}] bytes", blocks.size(), text);
}

void Arena::append(Kind& kind, Block& block) {
  FreeList& list = kind.free[static_cast<size_t>(block.size_class)][static_cast<size_t>(block.freed_on->index())];
  block.older = list.newest;
  block.newer = nullptr;
  (list.newest == nullptr ? list.oldest : list.newest->newer) = &block;
  list.newest = &block;
}

void Arena::unlink(Kind& kind, Block& block) {
  FreeList& list = kind.free[static_cast<size_t>(block.size_class)][static_cast<size_t>(block.freed_on->index())];
  (block.older == nullptr ? list.oldest : block.older->newer) = block.newer;
  (block.newer == nullptr ? list.newest : block.newer->older) = block.older;
  block.older = block.newer = nullptr;
}

}  // namespace tokamak
