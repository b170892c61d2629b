#include "host/plan/plan_cache.h"

#include <algorithm>
#include <iterator>

#include "host/plan/plan_key.h"

namespace tokamak {

std::optional<PlanCache::Entries::iterator> PlanCache::entryOf(std::span<const int64_t> key) const {
  const auto [first, last] = by_hash_.equal_range(hashOfKey(key));
  for (auto it = first; it != last; ++it) {
    const auto& [entry, number] = it->second;
    if (std::ranges::equal(entry->keys[number], key)) return entry;
  }
  return std::nullopt;
}

PlanCache::Found PlanCache::find(std::span<const int64_t> key) {
  const std::optional<Entries::iterator> found = entryOf(key);
  if (!found) return {};
  ++statistics_.hits;
  entries_.splice(entries_.begin(), entries_, *found);
  return {.plan = (*found)->plan, .number = (*found)->number};
}

std::shared_ptr<Plan> PlanCache::findLastUsed(uint64_t number) {
  if (entries_.empty() || entries_.front().number != number) return nullptr;
  ++statistics_.hits;
  return entries_.front().plan;
}

void PlanCache::addKey(Entries::iterator entry, std::span<const int64_t> key) {
  entry->keys.emplace_back(key.begin(), key.end());
  by_hash_.emplace(hashOfKey(key), std::pair(entry, entry->keys.size() - 1));
}

std::shared_ptr<Plan> PlanCache::peek(std::span<const int64_t> key) const {
  const std::optional<Entries::iterator> found = entryOf(key);
  return found ? (*found)->plan : nullptr;
}

void PlanCache::alias(std::span<const int64_t> key, std::span<const int64_t> known) {
  const Entries::iterator entry = entryOf(known).value();
  ++statistics_.hits;
  addKey(entry, key);
  entries_.splice(entries_.begin(), entries_, entry);
}

std::vector<std::shared_ptr<Plan>> PlanCache::insert(std::span<const int64_t> key, std::shared_ptr<Plan> plan) {
  ++statistics_.misses;  // whoever finds none records one
  entries_.push_front({.keys = {}, .plan = std::move(plan), .number = ++last_number_});
  addKey(entries_.begin(), key);
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

std::vector<std::shared_ptr<Plan>> PlanCache::takeAll() {
  std::vector<std::shared_ptr<Plan>> gone;
  while (!entries_.empty()) gone.push_back(takeOldest());
  statistics_.plans = 0;
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
  for (const std::vector<int64_t>& key : oldest->keys) {
    const auto [first, last] = by_hash_.equal_range(hashOfKey(key));
    const auto its = std::find_if(first, last, [&](const auto& known) { return known.second.first == oldest; });
    by_hash_.erase(its);
  }
  std::shared_ptr<Plan> plan = std::move(oldest->plan);
  entries_.erase(oldest);
  ++statistics_.evictions;
  return plan;
}

}  // namespace tokamak
