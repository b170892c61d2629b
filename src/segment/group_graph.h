// GroupGraph: an acyclic graph of groups of ops, while groups are merged and split.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tokamak {

/// Ops and groups are numbers; ops are added in a topological order. A group's level is greater than those of groups
/// that it reads, so that a search for a path visits only groups with levels between those of its ends.
class GroupGraph {
 public:
  /// `operands`: per op the ops that it reads, each once, with smaller numbers.
  explicit GroupGraph(std::vector<std::vector<size_t>> operands);

  /// Makes the next op a group, and returns it.
  size_t addNextOp();
  size_t groupCount() const { return groups_.size(); }  ///< empty ones included
  size_t groupOf(size_t op) const { return group_of_[op]; }
  /// The group's ops in the order in which they joined; empty if it was merged into another group.
  const std::vector<size_t>& opsOf(size_t group) const { return groups_[group].ops; }
  const std::vector<size_t>& operandsOf(size_t op) const { return operands_[op]; }
  /// The groups that the group reads, each once.
  std::vector<size_t> producersOf(size_t group);

  /// Whether `consumer` also depends on `producer` through a third group: merging them would make a cycle.
  bool hasOtherPath(size_t producer, size_t consumer);
  /// Appends the ops of the smaller group to those of the larger one, whose number is returned.
  size_t merge(size_t producer, size_t consumer);
  /// The group keeps its ops before starts[0]; those from each start to the next become groups, which are returned. The
  /// ops before each start must have been a group, or be first ops of a part in program order.
  std::vector<size_t> split(size_t group, const std::vector<size_t>& starts);

 private:
  struct Group {
    std::vector<size_t> ops;
    // At least one op of each neighbour. (Also ops of the group itself, until the list is cleaned.)
    std::vector<size_t> producers;
    std::vector<size_t> consumers;
    int64_t level = 0;
  };

  // The groups that one traversal has visited.
  class Visit {
   public:
    void start() { ++number_; }
    bool meets(size_t group);

   private:
    std::vector<size_t> last_;
    size_t number_ = 0;
  };

  void clean(size_t group, std::vector<size_t>& list);
  int64_t levelAbove(const std::vector<size_t>& producers) const;
  void raise(size_t group, int64_t level);
  void recompute();

  std::vector<std::vector<size_t>> operands_;
  std::vector<Group> groups_;
  std::vector<size_t> group_of_;  // per op that has been added
  Visit cleaning_;
  Visit search_;
};

}  // namespace tokamak
