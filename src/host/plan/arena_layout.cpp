#include "host/plan/arena_layout.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace tokamak {

namespace {

constexpr int64_t kArenaAlignment = 256;
// The most buffers of which all pairs are compared.
constexpr size_t kMostPairwise = 1024;

bool isDoneBefore(const ArenaItem& first, const ArenaItem& second) {
  for (size_t s = 0; s < first.last.size(); ++s) {
    if (first.last[s] > second.start[s]) return false;
  }
  return true;
}

struct Place {
  int64_t offset;
  int64_t end;
  size_t item;
};

// First fit by decreasing size: the lowest offset at which no item with an overlapping lifetime is.
ArenaLayout firstFit(std::span<const ArenaItem> items) {
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) { return std::pair(-items[i].bytes, i); });
  ArenaLayout layout{.offsets = std::vector<int64_t>(items.size(), 0)};
  std::vector<Place> placed;
  std::vector<Place> conflicts;
  for (const size_t i : order) {
    conflicts.clear();
    for (const Place& place : placed) {
      if (!isDoneBefore(items[place.item], items[i]) && !isDoneBefore(items[i], items[place.item]))
        conflicts.push_back(place);
    }
    std::ranges::sort(conflicts, {}, &Place::offset);
    int64_t offset = 0;
    for (const Place& place : conflicts) {
      if (offset + items[i].bytes <= place.offset) break;
      offset = std::max(offset, place.end);
    }
    layout.offsets[i] = offset;
    placed.push_back({offset, offset + items[i].bytes, i});
    layout.bytes = std::max(layout.bytes, offset + items[i].bytes);
  }
  return layout;
}

// Items with fixed offsets to each other, which are placed as one.
struct ItemBlock {
  ArenaItem item;
  std::vector<size_t> members;
  std::vector<int64_t> offsets;
};

// The only stream that uses the item, if there is one.
std::optional<size_t> onlyStream(const ArenaItem& item) {
  std::optional<size_t> only;
  for (size_t s = 0; s < item.last.size(); ++s) {
    if (item.last[s] == 0) continue;
    if (only) return std::nullopt;
    only = s;
  }
  return only;
}

// Whether the same steps of other streams are done at the start of both.
bool haveSameStart(const ArenaItem& a, const ArenaItem& b, size_t own_stream) {
  for (size_t s = 0; s < a.start.size(); ++s) {
    if (s != own_stream && a.start[s] != b.start[s]) return false;
  }
  return true;
}

// Blocks of the items that one stream alone uses. After a moment without live items, later items may reuse all bytes,
// so that iterations of a loop share one block.
class StreamBlocks {
 public:
  StreamBlocks(std::span<const ArenaItem> items, size_t stream) : items_(items), stream_(stream) {}

  std::vector<ItemBlock> make(std::vector<size_t> members) {
    std::ranges::sort(members, {}, [&](size_t i) { return std::pair(items_[i].start[stream_], i); });
    std::vector<size_t> span;
    int32_t end = 0;
    for (const size_t i : members) {
      if (!span.empty() && items_[i].start[stream_] >= end) {
        close(span);
        span.clear();
      }
      span.push_back(i);
      end = std::max(end, items_[i].last[stream_]);
    }
    if (!span.empty()) close(span);
    return std::move(blocks_);
  }

 private:
  // `span`: items whose lifetimes overlap, and those of no others on the stream.
  void close(const std::vector<size_t>& span) {
    std::vector<ArenaItem> inner;
    for (const size_t i : span) inner.push_back(items_[i]);
    const ArenaLayout layout = firstFit(inner);
    ArenaItem whole = inner[0];
    whole.bytes = layout.bytes;
    for (const ArenaItem& item : inner) whole.last[stream_] = std::max(whole.last[stream_], item.last[stream_]);
    if (blocks_.empty() || !haveSameStart(blocks_.back().item, whole, stream_)) blocks_.push_back({.item = whole});
    ItemBlock& block = blocks_.back();
    block.item.bytes = std::max(block.item.bytes, whole.bytes);
    block.item.last[stream_] = whole.last[stream_];
    block.members.insert(block.members.end(), span.begin(), span.end());
    block.offsets.insert(block.offsets.end(), layout.offsets.begin(), layout.offsets.end());
  }

  std::span<const ArenaItem> items_;
  size_t stream_;
  std::vector<ItemBlock> blocks_;
};

ArenaLayout layOutInBlocks(std::span<const ArenaItem> items) {
  const size_t stream_count = items.empty() ? 0 : items[0].last.size();
  std::vector<std::vector<size_t>> of_stream(stream_count);
  std::vector<ItemBlock> blocks;
  for (size_t i = 0; i < items.size(); ++i) {
    if (const auto stream = onlyStream(items[i]))
      of_stream[*stream].push_back(i);
    else
      blocks.push_back({.item = items[i], .members = {i}, .offsets = {0}});
  }
  for (size_t s = 0; s < stream_count; ++s) {
    std::ranges::move(StreamBlocks(items, s).make(std::move(of_stream[s])), std::back_inserter(blocks));
  }
  std::vector<ArenaItem> outer;
  for (const ItemBlock& block : blocks) outer.push_back(block.item);
  const ArenaLayout outer_layout = firstFit(outer);
  ArenaLayout layout{.offsets = std::vector<int64_t>(items.size(), 0), .bytes = outer_layout.bytes};
  for (size_t b = 0; b < blocks.size(); ++b) {
    for (size_t m = 0; m < blocks[b].members.size(); ++m)
      layout.offsets[blocks[b].members[m]] = outer_layout.offsets[b] + blocks[b].offsets[m];
  }
  return layout;
}

}  // namespace

ArenaLayout layOut(std::span<const ArenaItem> items) {
  std::vector<ArenaItem> aligned(items.begin(), items.end());
  for (ArenaItem& item : aligned)
    item.bytes = (std::max<int64_t>(item.bytes, 1) + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
  ArenaLayout layout = layOutInBlocks(aligned);
  // (Blocks are rigid: other items cannot use their free bytes.)
  if (items.size() <= kMostPairwise) {
    if (ArenaLayout loose = firstFit(aligned); loose.bytes < layout.bytes) layout = std::move(loose);
  }
  return layout;
}

}  // namespace tokamak
