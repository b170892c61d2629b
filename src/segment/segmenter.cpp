#include "segment/segmenter.h"

#include <algorithm>
#include <deque>
#include <queue>
#include <set>
#include <unordered_map>

#include "segment/group_graph.h"
#include "segment/group_inputs_outputs.h"

namespace tokamak {

namespace {

std::vector<std::vector<size_t>> operandsOf(const std::vector<Expr*>& exprs) {
  std::unordered_map<const Expr*, size_t> number;
  std::vector<std::vector<size_t>> operands;
  for (const Expr* expr : exprs) {
    std::vector<size_t> mine;
    for (const Val* input : expr->inputs()) {
      const auto producer = input->definition() == nullptr ? number.end() : number.find(input->definition());
      if (producer == number.end() || std::ranges::find(mine, producer->second) != mine.end()) continue;
      mine.push_back(producer->second);
    }
    number[expr] = operands.size();
    operands.push_back(std::move(mine));
  }
  return operands;
}

// A call of may_be_group costs as much as the group is large. So a group may double before the rules are called. If
// they refuse it, bisection finds the longest accepted prefix of its ops; the others leave, and look for a group again.
class Segmenter {
 public:
  Segmenter(const Fusion& fusion, const MergeRules& rules)
      : fusion_(fusion), rules_(rules), exprs_(fusion.exprs()), graph_(operandsOf(exprs_)) {
    for (const Expr* expr : exprs_) {
      stays_alone_.push_back(rules.stays_alone(*expr));
      is_rarely_refused_.push_back(rules.is_rarely_refused && rules.is_rarely_refused(*expr));
    }
    for (const std::vector<Expr*>& whole : rules.fixed_groups)
      for (const Expr* expr : whole) first_of_fixed_group_[expr] = whole.front();
  }

  std::vector<SegmentedGroup> run() {
    for (size_t op = 0; op < exprs_.size(); ++op) {
      growth_.push_back({.is_rarely_refused = is_rarely_refused_[op]});
      const size_t group = graph_.addNextOp();
      if (joinFixedGroup(group)) continue;
      waiting_.push_back(group);
      joinWaiting();
    }
    while (!areAllAccepted() || growGroups()) joinWaiting();
    return inOrder();
  }

 private:
  // The parts that joined a group since the rules last accepted it.
  struct Growth {
    std::vector<size_t> starts = {};  // the index of each part's first op
    bool is_rarely_refused = false;   // all ops are rarely refused
  };

  // Merges the group into the fixed group that its op belongs to. Returns whether there is one.
  bool joinFixedGroup(size_t group) {
    const size_t op = graph_.opsOf(group).front();
    const auto found = first_of_fixed_group_.find(exprs_[op]);
    if (found == first_of_fixed_group_.end() || found->second == exprs_[op]) return false;
    graph_.merge(graph_.groupOf(graph_.operandsOf(op).front()), group);
    return true;
  }

  void joinWaiting() {
    while (!waiting_.empty()) {
      const size_t group = waiting_.front();
      waiting_.pop_front();
      if (!graph_.opsOf(group).empty()) join(group);
    }
  }

  bool areAllAccepted() {
    bool are_accepted = true;
    for (size_t group = 0; group < graph_.groupCount(); ++group) {
      if (!verify(group)) are_accepted = false;
    }
    return are_accepted;
  }

  // Merges groups with their producers where possible. Returns whether any group grew.
  bool growGroups() {
    bool has_joined = false;
    for (size_t group = 0; group < graph_.groupCount(); ++group) {
      if (!graph_.opsOf(group).empty() && join(group)) has_joined = true;
    }
    return has_joined;
  }

  // Merges the group with groups that it reads, where possible. Returns whether it did.
  bool join(size_t group) {
    const size_t first = graph_.opsOf(group).front();
    bool has_joined = false;
    for (const size_t candidate : graph_.producersOf(group)) {
      // (Merging changes groups.)
      const size_t consumer = graph_.groupOf(first);
      const std::vector<size_t> producers = graph_.producersOf(consumer);
      const bool is_producer = std::ranges::find(producers, candidate) != producers.end();
      if (is_producer && mayMerge(candidate, consumer) && tryMerge(candidate, consumer)) has_joined = true;
    }
    return has_joined;
  }

  bool mayMerge(size_t producer, size_t consumer) {
    if (stays_alone_[graph_.opsOf(producer).front()] || stays_alone_[graph_.opsOf(consumer).front()]) return false;
    return !isRefused(producer, consumer) && !graph_.hasOtherPath(producer, consumer);
  }

  bool isRefused(size_t a, size_t b) const {
    const bool is_a_smaller = graph_.opsOf(a).size() < graph_.opsOf(b).size();
    const size_t large = is_a_smaller ? b : a;
    return std::ranges::any_of(graph_.opsOf(is_a_smaller ? a : b), [&](size_t op) {
      const auto known = refused_.find(op);
      return known != refused_.end() &&
             std::ranges::any_of(known->second, [&](size_t other) { return graph_.groupOf(other) == large; });
    });
  }

  void refuse(size_t a, size_t b) {
    refused_[a].push_back(b);
    refused_[b].push_back(a);
  }

  bool tryMerge(size_t producer, size_t consumer) {
    const bool is_single = graph_.opsOf(consumer).size() == 1;
    if (is_single && !mayReadAll(graph_.opsOf(consumer).front(), producer)) return false;
    const bool keeps_producer = graph_.opsOf(producer).size() >= graph_.opsOf(consumer).size();
    const size_t large = keeps_producer ? producer : consumer;
    const size_t small = keeps_producer ? consumer : producer;
    if (!growth_[small].is_rarely_refused && !verify(small)) return false;
    growth_[large].starts.push_back(graph_.opsOf(large).size());
    growth_[large].is_rarely_refused = growth_[large].is_rarely_refused && growth_[small].is_rarely_refused;
    growth_[small] = {};
    graph_.merge(producer, consumer);
    if (growth_[large].is_rarely_refused) return true;
    const auto& ops = graph_.opsOf(large);
    if (ops.size() == 2 && !(is_rarely_refused_[ops[0]] && is_rarely_refused_[ops[1]]))
      growth_[large].starts.clear();  // mayReadAll has called the rules
    else if (ops.size() >= 2 * growth_[large].starts.front())
      verify(large);
    return true;
  }

  // Most refusals are of an op and one that it reads: a cheap test before that of a large group.
  bool mayReadAll(size_t op, size_t group) {
    for (const size_t operand : graph_.operandsOf(op)) {
      if (graph_.groupOf(operand) != group || (is_rarely_refused_[op] && is_rarely_refused_[operand])) continue;
      const auto [known, is_new] = may_read_.try_emplace({operand, op});
      if (is_new) known->second = isAccepted({operand, op});
      if (known->second) continue;
      refuse(operand, op);
      return false;
    }
    return true;
  }

  bool isAccepted(std::vector<size_t> ops) const { return rules_.may_be_group(describe(std::move(ops))); }

  SegmentedGroup describe(std::vector<size_t> ops) const {
    std::ranges::sort(ops);
    std::vector<Expr*> exprs;
    for (const size_t op : ops) exprs.push_back(exprs_[op]);
    return groupOf(fusion_, std::move(exprs));
  }

  // Calls the rules if the group has grown, and splits off what they refuse. Returns whether they accepted all of it.
  bool verify(size_t group) {
    const std::vector<size_t> starts = std::move(growth_[group].starts);
    growth_[group].starts.clear();
    if (starts.empty() || isAccepted(graph_.opsOf(group))) return true;
    size_t accepted = 0;  // the number of accepted parts
    for (size_t refused = starts.size(); accepted + 1 < refused;) {
      const size_t middle = (accepted + refused) / 2;
      const auto& ops = graph_.opsOf(group);
      const bool is_accepted = isAccepted({ops.begin(), ops.begin() + static_cast<ptrdiff_t>(starts[middle])});
      (is_accepted ? accepted : refused) = middle;
    }
    const std::vector<size_t> parts =
        graph_.split(group, {starts.begin() + static_cast<ptrdiff_t>(accepted), starts.end()});
    growth_.resize(graph_.groupCount());
    const auto isRarelyRefused = [&](size_t op) { return is_rarely_refused_[op]; };
    growth_[group].is_rarely_refused = std::ranges::all_of(graph_.opsOf(group), isRarelyRefused);
    // The parts are tested whenever they double again, so that not all later ops are in each test.
    for (const size_t part : parts) {
      const bool joined_freely = std::ranges::all_of(graph_.opsOf(part), isRarelyRefused);
      for (size_t i = 1; joined_freely && i < graph_.opsOf(part).size(); ++i) growth_[part].starts.push_back(i);
      waiting_.push_back(part);
    }
    refuse(graph_.opsOf(group).front(), graph_.opsOf(parts.front()).front());
    return false;
  }

  // In topological order: of the ready groups the one whose last op is first.
  std::vector<SegmentedGroup> inOrder() {
    std::vector<size_t> missing(graph_.groupCount(), 0);
    std::vector<std::vector<size_t>> consumers(graph_.groupCount());
    using Place = std::pair<size_t, size_t>;
    std::priority_queue<Place, std::vector<Place>, std::greater<>> ready;
    const auto place = [&](size_t group) { return Place(*std::ranges::max_element(graph_.opsOf(group)), group); };
    for (size_t group = 0; group < graph_.groupCount(); ++group) {
      if (graph_.opsOf(group).empty()) continue;
      for (const size_t producer : graph_.producersOf(group)) {
        consumers[producer].push_back(group);
        ++missing[group];
      }
      if (missing[group] == 0) ready.push(place(group));
    }
    std::vector<SegmentedGroup> ordered;
    while (!ready.empty()) {
      const size_t group = ready.top().second;
      ready.pop();
      ordered.push_back(describe(graph_.opsOf(group)));
      for (const size_t consumer : consumers[group]) {
        if (--missing[consumer] == 0) ready.push(place(consumer));
      }
    }
    return ordered;
  }

  const Fusion& fusion_;
  const MergeRules& rules_;
  std::vector<Expr*> exprs_;
  std::vector<bool> stays_alone_;
  std::vector<bool> is_rarely_refused_;
  std::unordered_map<const Expr*, const Expr*> first_of_fixed_group_;
  GroupGraph graph_;
  std::vector<Growth> growth_;  // per group
  std::deque<size_t> waiting_;  // new groups, which have not been merged with producers yet
  std::unordered_map<size_t, std::vector<size_t>> refused_;  // per op: ops that cannot be in its group
  std::map<std::pair<size_t, size_t>, bool> may_read_;       // answers of the rules for an op and one that it reads
};

}  // namespace

std::vector<SegmentedGroup> segment(const Fusion& fusion, const MergeRules& rules) {
  return Segmenter(fusion, rules).run();
}

}  // namespace tokamak
