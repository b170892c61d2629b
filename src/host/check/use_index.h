// UseIndex: a search tree of the past uses of each buffer, by bytes.
//
// Uses of one buffer, mode and executor whose boxes have the same strides are one bounding-volume tree. Coordinates are
// the range of bytes and, for each stride s, the bytes modulo s: ranges of columns overlap, but not modulo the row's
// stride.
// Trees are built once, from all uses of a program; a node has the clock of its latest use so far.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "host/check/step_order.h"
#include "host/check/step_uses.h"

namespace tokamak {

class UseIndex {
 public:
  /// For the uses of a program, which must outlive the index.
  UseIndex(const StepList& list, const StepUses& uses);

  /// Records that `use`, one of the program's, happens at `at`.
  void add(const StepUse& use, StepPoint at);

  /// Calls `visit` with each recorded use of the same buffer that has the mode, shares a byte with `use`, and does not
  /// happen before the latest step of `order`. Logarithmic time for boxes that range or residues separate: returns the
  /// number of nodes that it looked at.
  template <class Visit>
  size_t forEachUnordered(const StepOrder& order, const StepUse& use, AccessMode mode, const Visit& visit) const {
    const size_t key = keyOf(use.buffer, mode);
    if (first_tree_[key] == first_tree_[key + 1]) return 0;
    size_t looked_at = 0;
    const std::vector<Residues> own = residuesOf(use.box);
    for (size_t number = first_tree_[key]; number < first_tree_[key + 1]; ++number) {
      const Tree& tree = trees_[number];
      const std::vector<Interval> wanted = intervalsOf(use.box, tree.moduli);
      std::array<uint32_t, kMostDepth> waiting = {tree.root};
      for (size_t count = 1; count > 0;) {
        const Node& node = nodes_[waiting[--count]];
        ++looked_at;
        const bool is_over = node.latest == 0 || (tree.is_stream && order.isBeforeLatest({tree.executor, node.latest}));
        if (is_over || !mayMeet(node, tree, use.box, wanted, own)) continue;
        if (node.right != 0) {
          waiting[count++] = node.right;
          waiting[count++] = node.left;
          continue;
        }
        for (uint32_t i = node.first; i < node.last; ++i) {
          const Entry& entry = entries_[i];
          if (entry.at.clock == 0 || order.isBeforeLatest(entry.at) || !overlaps(entry.use->box, use.box)) continue;
          visit(*entry.use);
        }
      }
    }
    return looked_at;
  }

 private:
  static constexpr size_t kMostModuli = 4;
  static constexpr size_t kMostDepth = 64;
  static constexpr uint32_t kLeafUses = 8;

  // Half open; of residues modulo m the lower end is below m, the upper end may be above.
  struct Interval {
    int64_t begin = std::numeric_limits<int64_t>::max();
    int64_t end = std::numeric_limits<int64_t>::min();
  };
  using Coordinates = std::array<Interval, kMostModuli + 1>;  // the range, then residues
  struct Entry {
    const StepUse* use = nullptr;
    StepPoint at = {0, 0};  // clock 0: has not happened
    uint32_t leaf = 0;
    Coordinates coordinates;
  };
  struct Node {
    Coordinates bounds;
    uint32_t latest = 0;  // clock of the latest use so far
    uint32_t parent = 0;  // itself for the root
    uint32_t left = 0;
    uint32_t right = 0;  // 0: a leaf
    uint32_t first = 0;  // its entries
    uint32_t last = 0;
  };
  struct Tree {
    std::vector<int64_t> moduli;
    int32_t executor = 0;
    bool is_stream = true;  // else uses of communications, each an executor of its own
    uint32_t root = 0;
  };
  struct Residues {
    int64_t modulus;
    Interval interval;
  };

  static size_t keyOf(int32_t buffer, AccessMode mode) {
    return 2 * static_cast<size_t>(buffer) + (mode == AccessMode::Write ? 1 : 0);
  }
  static Interval residuesModulo(const ByteBox& box, int64_t modulus);
  static std::vector<Residues> residuesOf(const ByteBox& box);
  static std::vector<Interval> intervalsOf(const ByteBox& box, std::span<const int64_t> moduli);
  static bool mayMeet(const Node& node, const Tree& tree, const ByteBox& box, std::span<const Interval> wanted,
                      std::span<const Residues> own);
  void addTree(std::span<Entry> entries, int32_t executor, int32_t stream_count);
  uint32_t build(std::span<Entry> entries, uint32_t first, uint32_t parent, size_t dimensions);

  std::vector<Entry> entries_;  // tree after tree, each in the order of its leaves
  std::vector<Node> nodes_;
  std::vector<Tree> trees_;
  std::vector<size_t> first_tree_;      // per buffer and mode, then the end
  std::vector<uint32_t> entry_of_use_;  // by the use's number
  const StepUse* first_use_ = nullptr;
};

}  // namespace tokamak
