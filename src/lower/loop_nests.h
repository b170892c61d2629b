// LoopNests: the loops of every tensor of a kernel that is stored somewhere, and which of them are one.
//
// Only stored tensors have loops: outputs, reductions, and tensors whose schedule keeps loops of their own (inline
// position below the number of loops). All others are expressions inside the values of their readers.
//
// Loop j of a stored tensor P below its inline position is the loop of its readers whose index is the index along loop
// j at which they read P; so which loops go together follows from the indices. Other loops are P's own; two tensors
// that do not depend on one another share loops of one type over one extent.
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

/// A loop of the kernel; those of a block's or thread's index are none.
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
  /// What it is computed in and read from: itself, a local accumulator of a reduction that is an output, or null for
  /// other outputs, which nobody reads.
  TensorView* buffer = nullptr;
  /// The input that it is a copy of, or null: elements that a thread (or, in shared memory, a block) does not have are
  /// read there.
  const TensorView* source = nullptr;
  bool is_reduction = false;

  std::vector<Scalar*> indices;    ///< per loop axis
  std::vector<LoopNode*> nodes;    ///< per loop axis; null for a block's or thread's index and for an axis of extent 1
  std::vector<LoopNode*> path;     ///< the loops around its computation, from the outside
  size_t shared = 0;               ///< the first so many of the path are its readers' loops
  std::vector<IndexBound> bounds;  ///< what has to hold where it is computed, reductions included
  std::vector<Scalar*> choices;    ///< and of a reduction: predicates without which it would combine the identity
  /// Per axis that an element rule has a coordinate for: those of the root or logical domain, without reductions; then
  /// the reductions.
  std::vector<Scalar*> coordinates;
  std::vector<Scalar*> reduced;

  /// Loop axes that its buffer has elements along.
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

  /// The nest a tensor is read from, or null: it is an input or an expression.
  const LoopNest* storageOf(const TensorView& tensor) const;
  bool isStored(const TensorView& tensor) const;
  /// The index in its buffer of the element at `index` (of the visible shape), which the threads of `reader` read.
  /// Errors: Schedule, when they are not those that have it.
  Scalar* bufferIndexOf(const LoopNest& nest, std::span<Scalar* const> index, const LoopNest& reader);
  /// Whether the threads of `reader` have the element at `index` themselves.
  bool isKept(const LoopNest& nest, std::span<Scalar* const> index, const LoopNest& reader);
  /// The same from its own loops' indices.
  Scalar* ownIndex(const LoopNest& nest, const std::vector<Scalar*>& loop_indices);
  /// The indices of all axes of its tensor from those of its loops.
  AxisIndices indicesOf(const LoopNest& nest, const std::vector<Scalar*>& loop_indices);
  /// What it computes for one element (of a reduction: combines), with the coordinates that stand for its loops.
  struct Computation {
    const Element* value;
    Substitution coordinates;
  };
  Computation computationOf(const LoopNest& nest);
  /// The number of elements of its buffer.
  Scalar* sizeOf(const LoopNest& nest);
  LoopNode* makeNode(Scalar* extent, ParallelType type, LoopNode* parent);
  /// A tensor whose axis is shorter than the launched dimension has an index of its own for it: it is less than the
  /// axis' extent, which the guards of the tensor see to. This is the dimension's index again; any other scalar as it
  /// is.
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
  void place(LoopNest& nest);
  void shareLoops(LoopNest& nest, const std::vector<Read>& reads);
  bool isItsOwn(const LoopNest& nest, size_t j, Scalar& index, const LoopNest& reader);
  LoopNode* nodeOf(const LoopNest& reader, const Scalar* index) const;
  LoopNode* ownLoop(const LoopNest& nest, Scalar* extent, ParallelType type, LoopNode* parent);
  bool makesCycle(const LoopNest& nest, const LoopNode& node);
  void setCoordinates(LoopNest& nest);
  void findChoices(LoopNest& nest);
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
