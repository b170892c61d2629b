// GroupGraph: groups of ops and what they read of one another, while groups grow and are taken apart again; it has no
// cycles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tokamak {

/// Ops and groups are numbers. Ops are added in a topological order. Groups know levels: a group's is greater than
/// those of the groups it reads, so that a search for a path looks only at groups whose levels lie between those of its
/// ends.
class GroupGraph {
 public:
  /// `operands`: per op the ops that it reads, all with smaller numbers, each once.
  explicit GroupGraph(std::vector<std::vector<size_t>> operands);

  /// The next op becomes a group of its own. Gives the group.
  size_t addNextOp();
  size_t groupCount() const { return groups_.size(); }  ///< with those that are empty by now
  size_t groupOf(size_t op) const { return group_of_[op]; }
  /// The group's ops in the order in which they joined it; none when it has become a part of another.
  const std::vector<size_t>& opsOf(size_t group) const { return groups_[group].ops; }
  const std::vector<size_t>& operandsOf(size_t op) const { return operands_[op]; }
  /// The groups that the group reads, each once.
  std::vector<size_t> producersOf(size_t group);

  /// Whether `consumer` depends on `producer`, which it reads, through a third group as well: together they would be
  /// part of a cycle.
  bool hasOtherPath(size_t producer, size_t consumer);
  /// Puts the ops of the smaller group behind those of the larger one, whose number stays. Gives that number.
  size_t merge(size_t producer, size_t consumer);
  /// The group keeps its ops before starts[0]; those from each start to the next become groups of their own, whose
  /// numbers come back. Each beginning must have been a group before, or be the first ops of a part, which stand in the
  /// program's order.
  std::vector<size_t> split(size_t group, const std::vector<size_t>& starts);

 private:
  struct Group {
    std::vector<size_t> ops;
    // One op or more of each neighbour; also of the group itself, until the list is cleaned.
    std::vector<size_t> producers;
    std::vector<size_t> consumers;
    int64_t level = 0;
  };

  // Which groups one walk over the graph has met.
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
