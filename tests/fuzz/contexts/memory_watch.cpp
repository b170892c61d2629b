#include "contexts/memory_watch.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace tokamak::contexts {

namespace {

bool isSame(const Progress& a, const Progress& b) { return a.block == b.block && a.thread == b.thread; }

}  // namespace

std::string toString(const Progress& progress) {
  return fmt::format("thread {} of block {} after {} barriers", progress.thread, progress.block, progress.barriers);
}

void MemoryWatch::add(Region region) {
  Cell cell;
  cell.is_written = region.is_written;
  std::vector<Cell> cells(static_cast<size_t>(region.bytes), cell);
  const std::byte* begin = region.begin;
  regions_[begin] = {std::move(region), std::move(cells)};
}

void MemoryWatch::forgetShared() {
  std::erase_if(regions_, [](const auto& each) { return each.second.region.is_shared; });
}

const MemoryWatch::Watched* MemoryWatch::find(const void* place) const {
  const auto* at = static_cast<const std::byte*>(place);
  auto found = regions_.upper_bound(at);
  if (found == regions_.begin()) return nullptr;
  --found;
  return at < found->first + found->second.region.bytes ? &found->second : nullptr;
}

std::optional<std::string> MemoryWatch::access(const void* place, int64_t bytes, bool is_write, const Progress& now) {
  const char* const kind = is_write ? "writes" : "reads";
  auto* watched = const_cast<Watched*>(find(place));
  if (watched == nullptr) return fmt::format("{} {} {} bytes outside of every buffer", toString(now), kind, bytes);
  const int64_t offset = static_cast<const std::byte*>(place) - watched->region.begin;
  const auto describe = [&] {
    return fmt::format("bytes {} to {} of {}", offset, offset + bytes, watched->region.name);
  };
  if (offset + bytes > watched->region.bytes)
    return fmt::format("{} {} {}, which has {}", toString(now), kind, describe(), watched->region.bytes);
  if (reinterpret_cast<uintptr_t>(place) % static_cast<uintptr_t>(std::min<int64_t>(bytes, 16)) != 0)
    return fmt::format("{} {} {}: not aligned", toString(now), kind, describe());
  for (int64_t i = offset; i < offset + bytes; ++i) {
    const auto problem = touch(watched->cells[static_cast<size_t>(i)], is_write, now);
    if (problem) return fmt::format("{} {} {}: {}", toString(now), kind, describe(), *problem);
  }
  return std::nullopt;
}

std::optional<std::string> MemoryWatch::touch(Cell& cell, bool is_write, const Progress& now) const {
  if (cell.is_under_way) return "an asynchronous copy to it is under way";
  if (!is_write && !cell.is_written) return "nobody has written it";
  if (cell.has_write && !isOrdered(cell.write, now))
    return fmt::format("race with the write by {}", toString(cell.write));
  if (is_write) {
    for (int i = 0; i < cell.read_count; ++i) {
      if (!isOrdered(cell.reads[i], now)) return fmt::format("race with the read by {}", toString(cell.reads[i]));
    }
    cell.write = now;
    cell.has_write = true;
    cell.is_written = true;
    cell.read_count = 0;
    return std::nullopt;
  }
  if (cell.read_count > 0 && !isSame(cell.reads[0], now)) {
    cell.reads[1] = cell.reads[0];
    cell.read_count = 2;
  }
  cell.reads[0] = now;
  cell.read_count = std::max<uint8_t>(cell.read_count, 1);
  return std::nullopt;
}

std::optional<std::string> MemoryWatch::launch(const void* place, int64_t bytes, const Progress& now) {
  if (auto problem = access(place, bytes, /*is_write=*/true, now)) return problem;
  auto* watched = const_cast<Watched*>(find(place));
  const auto offset = static_cast<size_t>(static_cast<const std::byte*>(place) - watched->region.begin);
  for (size_t i = 0; i < static_cast<size_t>(bytes); ++i) watched->cells[offset + i].is_under_way = true;
  return std::nullopt;
}

std::optional<std::string> MemoryWatch::land(const void* place, int64_t bytes, const Progress& now) {
  auto* watched = const_cast<Watched*>(find(place));
  const auto offset = static_cast<size_t>(static_cast<const std::byte*>(place) - watched->region.begin);
  for (size_t i = 0; i < static_cast<size_t>(bytes); ++i) watched->cells[offset + i].is_under_way = false;
  return access(place, bytes, /*is_write=*/true, now);
}

void MemoryWatch::synchronize(const void* place, const Progress& now, std::vector<uint32_t> fences) {
  std::deque<Release>& releases = releases_[place];
  acquires_[now.block].push_back({place, releases.size(), {now, fences}});
  releases.push_back({now, std::move(fences)});
}

// Barriers order the accesses of a block and of a cluster; those of different clusters are ordered by fences around
// atomic operations.
bool MemoryWatch::isOrdered(const Progress& earlier, const Progress& now) const {
  if (isSame(earlier, now)) return true;
  if (earlier.block == now.block && earlier.barriers < now.barriers) return true;
  if (earlier.cluster == now.cluster) return now.waits > earlier.arrivals;
  const auto acquires = acquires_.find(now.block);
  if (acquires == acquires_.end()) return false;
  return std::ranges::any_of(acquires->second, [&](const Acquire& acquire) {
    const Progress& by = acquire.at.by;
    const bool is_after = isSame(by, now) || now.barriers > by.barriers;
    if (!is_after || now.fences <= acquire.at.fences[now.thread]) return false;
    const std::deque<Release>& releases = releases_.at(acquire.place);
    return std::any_of(
        releases.begin(), releases.begin() + static_cast<int64_t>(acquire.after), [&](const Release& each) {
          const bool is_before = isSame(each.by, earlier) || earlier.barriers < each.by.barriers;
          return each.by.block == earlier.block && is_before && each.fences[earlier.thread] > earlier.fences;
        });
  });
}

}  // namespace tokamak::contexts
