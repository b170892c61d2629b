#include "segment/segmenter.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace tokamak {

namespace {

class Segmenter {
 public:
  Segmenter(const Fusion& fusion, const MergePredicate& may_merge) : may_merge_(may_merge) {
    for (Expr* expr : fusion.exprs()) {
      group_of_[expr] = groups_.size();
      groups_.push_back({{expr}});
    }
    for (size_t g = 0; g < groups_.size(); ++g) {
      for (const Val* input : groups_[g].exprs[0]->inputs()) {
        const auto producer = input->definition() == nullptr ? group_of_.end() : group_of_.find(input->definition());
        if (producer == group_of_.end()) continue;
        if (std::ranges::find(producers_[g], producer->second) == producers_[g].end())
          producers_[g].push_back(producer->second);
      }
    }
  }

  std::vector<SegmentedGroup> run() {
    for (size_t consumer = 0; consumer < groups_.size(); ++consumer) {
      for (bool merged = true; merged;) {
        merged = false;
        const std::vector<size_t> candidates = producers_[consumer];
        for (const size_t producer : candidates) {
          if (!may_merge_(groups_[producer], groups_[consumer]) || hasIndirectPath(producer, consumer)) continue;
          merge(producer, consumer);
          merged = true;
          break;
        }
      }
    }
    return inOrder();
  }

 private:
  bool reaches(size_t from, size_t target) const {
    std::vector<size_t> pending = {from};
    std::unordered_set<size_t> seen = {from};
    while (!pending.empty()) {
      const size_t g = pending.back();
      pending.pop_back();
      if (g == target) return true;
      const auto producers = producers_.find(g);
      if (producers == producers_.end()) continue;
      for (const size_t p : producers->second) {
        if (seen.insert(p).second) pending.push_back(p);
      }
    }
    return false;
  }

  // Whether the consumer depends on the producer through another group.
  bool hasIndirectPath(size_t producer, size_t consumer) const {
    return std::ranges::any_of(producers_.at(consumer),
                               [&](size_t other) { return other != producer && reaches(other, producer); });
  }

  void merge(size_t producer, size_t consumer) {
    auto& into = groups_[consumer].exprs;
    into.insert(into.end(), groups_[producer].exprs.begin(), groups_[producer].exprs.end());
    std::ranges::sort(into, {}, &Expr::id);
    groups_[producer].exprs.clear();
    auto& mine = producers_[consumer];
    std::erase(mine, producer);
    for (const size_t p : producers_[producer]) {
      if (std::ranges::find(mine, p) == mine.end()) mine.push_back(p);
    }
    producers_.erase(producer);
    for (auto& [group, list] : producers_) {
      if (std::erase(list, producer) > 0 && group != consumer && std::ranges::find(list, consumer) == list.end())
        list.push_back(consumer);
    }
  }

  std::vector<SegmentedGroup> inOrder() {
    std::vector<SegmentedGroup> ordered;
    std::unordered_set<size_t> done;
    const auto emit = [&](const auto& self, size_t g) -> void {
      if (groups_[g].exprs.empty() || !done.insert(g).second) return;
      for (const size_t p : producers_[g]) self(self, p);
      ordered.push_back(groups_[g]);
    };
    for (size_t g = 0; g < groups_.size(); ++g) emit(emit, g);
    return ordered;
  }

  const MergePredicate& may_merge_;
  std::vector<SegmentedGroup> groups_;
  std::unordered_map<const Expr*, size_t> group_of_;
  std::unordered_map<size_t, std::vector<size_t>> producers_;
};

}  // namespace

std::vector<SegmentedGroup> segment(const Fusion& fusion, const MergePredicate& may_merge) {
  return Segmenter(fusion, may_merge).run();
}

}  // namespace tokamak
