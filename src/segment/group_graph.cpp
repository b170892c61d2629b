#include "segment/group_graph.h"

#include <algorithm>
#include <utility>

#include "base/require.h"

namespace tokamak {

GroupGraph::GroupGraph(std::vector<std::vector<size_t>> operands) : operands_(std::move(operands)) {}

size_t GroupGraph::addNextOp() {
  const size_t op = group_of_.size();
  const size_t group = groups_.size();
  group_of_.push_back(group);
  groups_.push_back({.ops = {op}, .producers = operands_[op], .consumers = {}});
  for (const size_t operand : operands_[op]) groups_[group_of_[operand]].consumers.push_back(op);
  groups_[group].level = levelAbove(operands_[op]);
  return group;
}

std::vector<size_t> GroupGraph::producersOf(size_t group) {
  clean(group, groups_[group].producers);
  std::vector<size_t> producers;
  for (const size_t op : groups_[group].producers) producers.push_back(group_of_[op]);
  return producers;
}

// Whether the traversal meets the group for the first time.
bool GroupGraph::Visit::meets(size_t group) {
  if (group >= last_.size()) last_.resize(group + 1, 0);
  return std::exchange(last_[group], number_) != number_;
}

// Keeps one op of each neighbour.
void GroupGraph::clean(size_t group, std::vector<size_t>& list) {
  cleaning_.start();
  cleaning_.meets(group);
  std::erase_if(list, [&](size_t op) { return !cleaning_.meets(group_of_[op]); });
}

int64_t GroupGraph::levelAbove(const std::vector<size_t>& producers) const {
  int64_t level = 0;
  for (const size_t op : producers) level = std::max(level, groups_[group_of_[op]].level + 1);
  return level;
}

void GroupGraph::raise(size_t group, int64_t level) {
  std::vector<std::pair<size_t, int64_t>> pending = {{group, level}};
  while (!pending.empty()) {
    const auto [next, at_least] = pending.back();
    pending.pop_back();
    if (groups_[next].level >= at_least) continue;
    groups_[next].level = at_least;
    clean(next, groups_[next].consumers);
    for (const size_t op : groups_[next].consumers) pending.emplace_back(group_of_[op], at_least + 1);
  }
}

bool GroupGraph::hasOtherPath(size_t producer, size_t consumer) {
  std::vector<size_t> pending = producersOf(consumer);
  std::erase(pending, producer);
  search_.start();
  while (!pending.empty()) {
    const size_t group = pending.back();
    pending.pop_back();
    if (group == producer) return true;
    if (groups_[group].level <= groups_[producer].level || !search_.meets(group)) continue;
    clean(group, groups_[group].producers);
    for (const size_t op : groups_[group].producers) pending.push_back(group_of_[op]);
  }
  return false;
}

size_t GroupGraph::merge(size_t producer, size_t consumer) {
  std::vector<size_t> others = producersOf(consumer);
  std::erase(others, producer);
  int64_t level = groups_[producer].level;
  for (const size_t other : others) level = std::max(level, groups_[other].level + 1);

  const bool keeps_producer = groups_[producer].ops.size() >= groups_[consumer].ops.size();
  const size_t kept = keeps_producer ? producer : consumer;
  Group gone = std::exchange(groups_[keeps_producer ? consumer : producer], {});
  Group& whole = groups_[kept];
  for (const size_t op : gone.ops) group_of_[op] = kept;
  whole.ops.insert(whole.ops.end(), gone.ops.begin(), gone.ops.end());
  whole.producers.insert(whole.producers.end(), gone.producers.begin(), gone.producers.end());
  whole.consumers.insert(whole.consumers.end(), gone.consumers.begin(), gone.consumers.end());
  // Readers of the consumer have higher levels already; readers of the producer may need higher ones.
  whole.level = -1;
  raise(kept, level);
  return kept;
}

std::vector<size_t> GroupGraph::split(size_t group, const std::vector<size_t>& starts) {
  std::vector<size_t> parts;
  const std::vector<size_t> ops = groups_[group].ops;
  groups_[group].ops.resize(starts.front());
  for (size_t i = 0; i < starts.size(); ++i) {
    const size_t end = i + 1 < starts.size() ? starts[i + 1] : ops.size();
    parts.push_back(groups_.size());
    groups_.push_back(
        {.ops = {ops.begin() + static_cast<ptrdiff_t>(starts[i]), ops.begin() + static_cast<ptrdiff_t>(end)},
         .producers = {},
         .consumers = {}});
    std::ranges::sort(groups_.back().ops);  // (the ops before a start read none of the rest)
    for (const size_t op : groups_.back().ops) group_of_[op] = parts.back();
  }
  recompute();
  return parts;
}

// Computes neighbours and levels anew, as cleaned lists do not tell which part of a split group is meant.
void GroupGraph::recompute() {
  for (Group& group : groups_) {
    group.producers.clear();
    group.consumers.clear();
    group.level = 0;
  }
  for (size_t op = 0; op < group_of_.size(); ++op) {
    for (const size_t operand : operands_[op]) {
      if (group_of_[operand] == group_of_[op]) continue;
      groups_[group_of_[op]].producers.push_back(operand);
      groups_[group_of_[operand]].consumers.push_back(op);
    }
  }
  std::vector<size_t> missing(groups_.size());
  std::vector<size_t> ready;
  for (size_t g = 0; g < groups_.size(); ++g) {
    missing[g] = groups_[g].producers.size();
    if (missing[g] == 0) ready.push_back(g);
  }
  size_t done = 0;
  for (; !ready.empty(); ++done) {
    const Group& group = groups_[ready.back()];
    ready.pop_back();
    for (const size_t op : group.consumers) {
      const size_t consumer = group_of_[op];
      groups_[consumer].level = std::max(groups_[consumer].level, group.level + 1);
      if (--missing[consumer] == 0) ready.push_back(consumer);
    }
  }
  TK_CHECK(done == groups_.size(), "groups that read one another in a circle");
}

}  // namespace tokamak
