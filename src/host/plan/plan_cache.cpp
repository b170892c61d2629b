#include "host/plan/plan_cache.h"

#include <algorithm>
#include <iterator>

#include "host/plan/plan_key.h"

namespace tokamak {

PlanCache::Entries::iterator PlanCache::entryOf(std::span<const int64_t> key, uint64_t hash) {
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (std::ranges::equal(it->second->key, key)) return it->second;
  }
  return entries_.end();
}

std::shared_ptr<Plan> PlanCache::find(std::span<const int64_t> key) {
  const auto found = entryOf(key, hashOfKey(key));
  if (found == entries_.end()) return nullptr;
  ++statistics_.hits;
  entries_.splice(entries_.begin(), entries_, found);
  return found->plan;
}

std::vector<std::shared_ptr<Plan>> PlanCache::insert(std::span<const int64_t> key, std::shared_ptr<Plan> plan) {
  ++statistics_.misses;  // whoever finds none records one
  const uint64_t hash = hashOfKey(key);
  entries_.push_front({{key.begin(), key.end()}, hash, std::move(plan)});
  by_hash_.emplace(hash, entries_.begin());
  std::vector<std::shared_ptr<Plan>> gone;
  int64_t held = bytes();
  const auto isFull = [&] { return static_cast<int64_t>(entries_.size()) > limits_.plans || held > limits_.bytes; };
  while (entries_.size() > 1 && isFull()) {
    gone.push_back(takeOldest());
    held -= gone.back()->hostBytes();
  }
  statistics_.plans = static_cast<int64_t>(entries_.size());
  return gone;
}

int64_t PlanCache::bytes() const {
  int64_t bytes = 0;
  for (const Entry& entry : entries_) bytes += entry.plan->hostBytes();
  return bytes;
}

PlanCacheStatistics PlanCache::statistics() const {
  PlanCacheStatistics now = statistics_;
  now.bytes = bytes();
  return now;
}

std::shared_ptr<Plan> PlanCache::takeOldest() {
  const auto oldest = std::prev(entries_.end());
  const auto [first, last] = by_hash_.equal_range(oldest->hash);
  by_hash_.erase(std::find_if(first, last, [&](const auto& known) { return known.second == oldest; }));
  std::shared_ptr<Plan> plan = std::move(oldest->plan);
  entries_.erase(oldest);
  ++statistics_.evictions;
  return plan;
}

}  // namespace tokamak
