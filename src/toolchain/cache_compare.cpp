#include "toolchain/cache_compare.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace tokamak {

namespace {

std::string lineAt(const std::vector<std::string_view>& lines, size_t at) {
  return at < lines.size() ? std::string(lines[at]) : std::string();
}

int64_t commonLines(std::string_view a, std::string_view b) {
  const std::vector<std::string_view> one = linesOf(a);
  const std::vector<std::string_view> other = linesOf(b);
  const auto start = std::ranges::mismatch(one, other).in1 - one.begin();
  const auto end = std::mismatch(one.rbegin(), one.rend(), other.rbegin(), other.rend()).first - one.rbegin();
  return std::min<int64_t>(start + end, static_cast<int64_t>(std::min(one.size(), other.size())));
}

}  // namespace

std::vector<KeyDifference> differencesOf(const CacheKey& kept, const CacheKey& asked) {
  std::vector<KeyDifference> result;
  for (const CacheKey::Part& part : asked.parts()) {
    const std::string_view other = kept.part(part.name);
    if (other == part.text) continue;
    const std::vector<std::string_view> kept_lines = linesOf(other);
    const std::vector<std::string_view> asked_lines = linesOf(part.text);
    const auto at = static_cast<size_t>(std::ranges::mismatch(kept_lines, asked_lines).in1 - kept_lines.begin());
    result.push_back({.part = part.name,
                      .line = static_cast<int64_t>(at) + 1,
                      .kept_line = lineAt(kept_lines, at),
                      .asked_line = lineAt(asked_lines, at)});
  }
  return result;
}

const CacheListing* nearestEntry(std::span<const CacheListing> entries, const CacheKey& asked) {
  const CacheListing* nearest = nullptr;
  std::pair<int64_t, int64_t> best;
  for (const CacheListing& entry : entries) {
    if (!entry.fault.empty() || entry.key.part("kind") != asked.part("kind")) continue;
    const std::pair likeness(-static_cast<int64_t>(differencesOf(entry.key, asked).size()),
                             commonLines(entry.key.part("source"), asked.part("source")));
    if (nearest != nullptr && likeness <= best) continue;
    nearest = &entry;
    best = likeness;
  }
  return nearest;
}

}  // namespace tokamak
