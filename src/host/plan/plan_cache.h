// PlanCache: an evaluator's plans by key, with limits of count and bytes; the least recently used is evicted.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/plan/plan.h"

namespace tokamak {

struct PlanCacheLimits {
  int64_t plans = 128;
  int64_t bytes = int64_t{64} << 20;  ///< of the host's memory, as Plan::hostBytes() estimates them
};

struct PlanCacheStatistics {
  int64_t plans = 0;
  int64_t bytes = 0;
  int64_t hits = 0;    ///< calls whose plan was there
  int64_t misses = 0;  ///< calls that recorded theirs
  int64_t evictions = 0;
};

/// Plans by key.
/// Thread safety: one thread at a time; the evaluator's lock guards it.
class PlanCache {
 public:
  explicit PlanCache(const PlanCacheLimits& limits) : limits_(limits) {}

  struct Found {
    std::shared_ptr<Plan> plan;
    uint64_t number = 0;  ///< of the plan: no other one has had it or will, and it is never 0
  };
  /// Null when there is none. Takes nothing from the heap.
  Found find(std::span<const int64_t> key);
  /// The plan of this number, if it is the one that was used last; else null.
  std::shared_ptr<Plan> findLastUsed(uint64_t number);
  /// Returns the evicted plans; the new one always stays.
  std::vector<std::shared_ptr<Plan>> insert(std::span<const int64_t> key, std::shared_ptr<Plan> plan);
  /// find() for somebody who may not call it: it counts as no hit, and as no use.
  std::shared_ptr<Plan> peek(std::span<const int64_t> key) const;
  /// The plan of `known`, which is there, is found by `key`, too, from now on.
  void alias(std::span<const int64_t> key, std::span<const int64_t> known);
  /// Forgets all plans, and returns them.
  std::vector<std::shared_ptr<Plan>> takeAll();
  PlanCacheStatistics statistics() const;

  template <class Visit>
  void forEach(const Visit& visit) const {
    for (const Entry& entry : entries_) visit(*entry.plan);
  }

 private:
  struct Entry {
    std::vector<std::vector<int64_t>> keys;
    std::shared_ptr<Plan> plan;
    uint64_t number = 0;
  };
  using Entries = std::list<Entry>;

  std::optional<Entries::iterator> entryOf(std::span<const int64_t> key) const;
  void addKey(Entries::iterator entry, std::span<const int64_t> key);
  std::shared_ptr<Plan> takeOldest();
  int64_t bytes() const;  // plans grow with the contexts that call them

  const PlanCacheLimits limits_;
  Entries entries_;                                                                  ///< the one used last comes first
  std::unordered_multimap<uint64_t, std::pair<Entries::iterator, size_t>> by_hash_;  ///< and which of its keys
  PlanCacheStatistics statistics_;
  uint64_t last_number_ = 0;
};

}  // namespace tokamak
