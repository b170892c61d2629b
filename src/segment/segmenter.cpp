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

// Asking about a group costs as much as the group is large. So a group may grow by as much again as is known to be
// accepted (the *kernel* of the group, its first ops) before it is asked about. Is it refused then, the longest
// accepted beginning is found by halving, and what joined after it is taken out and looks for a group again.
class Segmenter {
 public:
  Segmenter(const Fusion& fusion, const MergeRules& rules)
      : fusion_(fusion), rules_(rules), exprs_(fusion.exprs()), graph_(operandsOf(exprs_)) {
    for (const Expr* expr : exprs_) {
      stays_alone_.push_back(rules.stays_alone(*expr));
      joins_freely_.push_back(rules.joins_freely && rules.joins_freely(*expr));
    }
    for (const std::vector<Expr*>& whole : rules.wholes)
      for (const Expr* expr : whole) first_of_whole_[expr] = whole.front();
  }

  std::vector<SegmentedGroup> run() {
    for (size_t op = 0; op < exprs_.size(); ++op) {
      growth_.push_back({.is_free = joins_freely_[op]});
      const size_t group = graph_.addNextOp();
      if (joinWhole(group)) continue;
      waiting_.push_back(group);
      joinWaiting();
    }
    while (!areAllAccepted() || offersMore()) joinWaiting();
    return inOrder();
  }

 private:
  // What has joined a group since it was last asked about.
  struct Growth {
    std::vector<size_t> starts = {};  // where in its ops each part starts
    bool is_free = false;             // all ops join freely
  };

  // Whether the group is an op of a whole that has begun; it is one group with that then.
  bool joinWhole(size_t group) {
    const size_t op = graph_.opsOf(group).front();
    const auto found = first_of_whole_.find(exprs_[op]);
    if (found == first_of_whole_.end() || found->second == exprs_[op]) return false;
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

  // Whether groups could still grow.
  bool offersMore() {
    bool has_joined = false;
    for (size_t group = 0; group < graph_.groupCount(); ++group) {
      if (!graph_.opsOf(group).empty() && join(group)) has_joined = true;
    }
    return has_joined;
  }

  // Lets the group join groups that it reads.
  bool join(size_t group) {
    const size_t first = graph_.opsOf(group).front();
    bool has_joined = false;
    for (const size_t candidate : graph_.producersOf(group)) {
      // Groups change on the way.
      const size_t consumer = graph_.groupOf(first);
      const std::vector<size_t> producers = graph_.producersOf(consumer);
      const bool is_producer = std::ranges::find(producers, candidate) != producers.end();
      if (is_producer && mayTry(candidate, consumer) && tryMerge(candidate, consumer)) has_joined = true;
    }
    return has_joined;
  }

  bool mayTry(size_t producer, size_t consumer) {
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
    if (!growth_[small].is_free && !verify(small)) return false;
    growth_[large].starts.push_back(graph_.opsOf(large).size());
    growth_[large].is_free = growth_[large].is_free && growth_[small].is_free;
    growth_[small] = {};
    graph_.merge(producer, consumer);
    if (growth_[large].is_free) return true;
    const auto& ops = graph_.opsOf(large);
    if (ops.size() == 2 && !(joins_freely_[ops[0]] && joins_freely_[ops[1]]))
      growth_[large].starts.clear();  // mayReadAll has asked
    else if (ops.size() >= 2 * growth_[large].starts.front())
      verify(large);
    return true;
  }

  // Most refusals show in an op and one that it reads; these are found out without asking about a large group.
  bool mayReadAll(size_t op, size_t group) {
    for (const size_t operand : graph_.operandsOf(op)) {
      if (graph_.groupOf(operand) != group || (joins_freely_[op] && joins_freely_[operand])) continue;
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

  // Asks about the group if it has grown, and takes out what is too much. Whether it could stay as it is.
  bool verify(size_t group) {
    const std::vector<size_t> starts = std::move(growth_[group].starts);
    growth_[group].starts.clear();
    if (starts.empty() || isAccepted(graph_.opsOf(group))) return true;
    size_t accepted = 0;  // as many parts may stay
    for (size_t refused = starts.size(); accepted + 1 < refused;) {
      const size_t middle = (accepted + refused) / 2;
      const auto& ops = graph_.opsOf(group);
      const bool is_accepted = isAccepted({ops.begin(), ops.begin() + static_cast<ptrdiff_t>(starts[middle])});
      (is_accepted ? accepted : refused) = middle;
    }
    const std::vector<size_t> parts =
        graph_.split(group, {starts.begin() + static_cast<ptrdiff_t>(accepted), starts.end()});
    growth_.resize(graph_.groupCount());
    const auto isFree = [&](size_t op) { return joins_freely_[op]; };
    growth_[group].is_free = std::ranges::all_of(graph_.opsOf(group), isFree);
    // Here groups have an end: parts are asked about whenever they have doubled, so that not all that follows is asked
    // about each time.
    for (const size_t part : parts) {
      const bool joined_freely = std::ranges::all_of(graph_.opsOf(part), isFree);
      for (size_t i = 1; joined_freely && i < graph_.opsOf(part).size(); ++i) growth_[part].starts.push_back(i);
      waiting_.push_back(part);
    }
    refuse(graph_.opsOf(group).front(), graph_.opsOf(parts.front()).front());
    return false;
  }

  // Of the groups whose producers are there the one whose last op is first.
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
  std::vector<bool> joins_freely_;
  std::unordered_map<const Expr*, const Expr*> first_of_whole_;
  GroupGraph graph_;
  std::vector<Growth> growth_;  // per group
  std::deque<size_t> waiting_;  // groups that have not looked for others to join since they were made
  std::unordered_map<size_t, std::vector<size_t>> refused_;  // per op: ops that cannot be in its group
  std::map<std::pair<size_t, size_t>, bool> may_read_;       // known answers about an op and one that it reads
};

}  // namespace

std::vector<SegmentedGroup> segment(const Fusion& fusion, const MergeRules& rules) {
  return Segmenter(fusion, rules).run();
}

}  // namespace tokamak
