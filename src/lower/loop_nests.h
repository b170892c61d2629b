// LoopNests: the loops of every stored tensor of a kernel, and which of them are shared.
//
// Only stored tensors have loops: outputs, reductions, and tensors whose schedule keeps loops of their own (inline
// position below the number of loops). All others are expressions inside the values of their readers.
//
// Loop j of a stored tensor P, j below its inline position, is the readers' loop whose index is the one at which they
// read P along j: sharing follows from indices. The other loops are P's own.
// Two tensors that do not depend on one another share own loops of the same type and extent.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/tensor_reads.h"
#include "ir/fusion.h"
#include "kernel/kernel.h"
#include "lower/axis_indices.h"
#include "symbolic/interval_analysis.h"

namespace tokamak {

/// A loop of the kernel. Axes that are distributed over blocks or threads have none.
struct LoopNode {
  Scalar* index = nullptr;
  Scalar* extent = nullptr;
  ParallelType type = ParallelType::Serial;
  LoopNode* parent = nullptr;
};

/// A stored tensor with its loops.
struct LoopNest {
  TensorView* tensor = nullptr;
  const Expr* expr = nullptr;
  /// The tensor that holds the elements: itself, or a local accumulator if it is a reduction and an output. Null for
  /// other outputs, which nobody reads.
  TensorView* buffer = nullptr;
  /// The input that it is a copy of, or null. Elements that the thread (in shared memory: the block) has not copied are
  /// read from there.
  const TensorView* source = nullptr;
  bool is_reduction = false;

  std::vector<Scalar*> indices;    ///< per loop axis
  std::vector<LoopNode*> nodes;    ///< per loop axis; null for axes over blocks or threads and of extent 1
  std::vector<LoopNode*> path;     ///< the loops around its computation, from the outside
  size_t shared = 0;               ///< the number of loops in the path that are its readers' loops
  std::vector<IndexBound> bounds;  ///< that guard its computation, reductions included
  /// Of a reduction: predicates; where one is false, the identity would be combined, so nothing is done.
  std::vector<Scalar*> identity_predicates;
  /// The coordinates of its element rule: along the root or logical domain without reductions, then along reductions.
  std::vector<Scalar*> coordinates;
  std::vector<Scalar*> reduced;

  /// The loop axes along which its buffer has elements.
  std::vector<size_t> stored_axes;
};

class LoopNests {
 public:
  /// Errors: Schedule.
  explicit LoopNests(Fusion& fusion);

  /// Of stored tensors, producers first.
  const std::vector<std::unique_ptr<LoopNest>>& nests() const { return nests_; }
  const std::vector<kir::LaunchDimension>& dimensions() const { return dimensions_; }
  IntervalAnalysis& analysis() { return analysis_; }
  RuleTable& rules() { return rules_; }

  /// The nest that a tensor is read from. Null for an input, and for a tensor that is inlined.
  const LoopNest* storageOf(const TensorView& tensor) const;
  bool isStored(const TensorView& tensor) const;
  /// The index in its buffer of the element at `index` (of the visible shape), which the threads of `reader` read.
  /// Errors: Schedule, if other threads have it.
  Scalar* bufferIndexOf(const LoopNest& nest, std::span<Scalar* const> index, const LoopNest& reader);
  /// Whether the threads of `reader` have the element at `index` themselves.
  bool isInOwnThread(const LoopNest& nest, std::span<Scalar* const> index, const LoopNest& reader);
  /// The index in its buffer from its loops' indices.
  Scalar* ownIndex(const LoopNest& nest, const std::vector<Scalar*>& loop_indices);
  /// The indices of all axes of its tensor from its loops' indices.
  AxisIndices indicesOf(const LoopNest& nest, const std::vector<Scalar*>& loop_indices);
  /// The value of one element (of a reduction: the value that it combines), and the coordinates in terms of loops.
  struct Computation {
    const Element* value;
    Substitution coordinates;
  };
  Computation computationOf(const LoopNest& nest);
  /// The number of elements of its buffer.
  Scalar* sizeOf(const LoopNest& nest);
  LoopNode* makeNode(Scalar* extent, ParallelType type, LoopNode* parent);
  /// The launch dimension's index. (A tensor whose axis is shorter than the dimension has an index of its own, which
  /// its guards keep below the axis' extent.) Any other scalar is returned as it is.
  Scalar* launchedIndex(Scalar* index) const;
  /// The statements with launched indices only.
  kir::Statements withLaunchedIndices(const kir::Statements& statements);

 private:
  struct Read {
    const LoopNest* reader;
    std::vector<Scalar*> index;
  };

  void makeDimensions();
  Scalar* indexOf(const kir::LaunchDimension& dimension, Scalar* extent);
  void makeLoops(LoopNest& nest);
  void shareLoops(LoopNest& nest, const std::vector<Read>& reads);
  bool isComputedByReader(const LoopNest& nest, size_t j, Scalar& index, const LoopNest& reader);
  LoopNode* nodeOf(const LoopNest& reader, const Scalar* index) const;
  bool isOnlyIteration(const IterDomain& axis, const Scalar& index);
  LoopNode* ownLoop(const LoopNest& nest, Scalar* extent, ParallelType type, LoopNode* parent);
  bool makesCycle(const LoopNest& nest, const LoopNode& node);
  void setCoordinates(LoopNest& nest);
  void findIdentityPredicates(LoopNest& nest);
  void findReads(const LoopNest& nest);
  void addDependencies(const Expr& expr);
  bool dependsOn(const Expr& reader, const TensorView& tensor);
  bool feeds(const LoopNest& nest, const LoopNest& reader);
  static std::pair<std::span<const size_t>, std::span<const size_t>> storedParts(const LoopNest& nest);
  Scalar* countOf(const LoopNest& nest, std::span<const size_t> axes);
  Scalar* pitchOf(const LoopNest& nest, std::span<const size_t> inner);
  Scalar* simplified(Scalar* scalar);

  Fusion* fusion_;
  IntervalAnalysis analysis_;
  RuleTable rules_;
  std::vector<std::unique_ptr<LoopNest>> nests_;
  std::map<const TensorView*, LoopNest*> by_tensor_;
  std::vector<std::unique_ptr<LoopNode>> nodes_;
  std::vector<kir::LaunchDimension> dimensions_;
  std::map<std::pair<Scalar*, Scalar*>, Scalar*> indices_;  // of dimensions, for axes of an extent
  std::map<Scalar*, Scalar*> launched_;                     // the dimension's index for each of these
  std::map<const TensorView*, std::vector<Read>> reads_;
  std::unordered_map<const TensorView*, size_t> numbers_;  // of tensors that are read
  std::unordered_map<const Expr*, std::vector<uint64_t>>
      dependencies_;  // the numbers of what it needs, directly or not
};

}  // namespace tokamak
