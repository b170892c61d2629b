// StatementBuilder: stored tensors as statements in loops.
#pragma once

#include <map>
#include <vector>

#include "analysis/addresses.h"
#include "lower/loop_nests.h"
#include "lower/value_writer.h"

namespace tokamak {

/// The loops and statements of a kernel, from the nests of its tensors. What a tensor needs is a few parts (its buffer,
/// a reduction's identity, the computation, combining across threads, writing an output), each inside some loops; parts
/// that share a loop come together, ordered by what they depend on.
class StatementBuilder {
 public:
  StatementBuilder(Fusion& fusion, LoopNests& nests, const Strides& strides);

  /// Errors: Schedule when a tensor would be needed before it is complete.
  kir::Statements build();

 private:
  enum class PartKind : uint8_t { Allocate, Identity, Compute, BlockReduce, GridReduce, Write };
  struct Part {
    PartKind kind;
    const LoopNest* nest;
    std::vector<LoopNode*> path;
    std::vector<Scalar*> indices;  ///< of the tensor's loops
    std::vector<size_t> after;     ///< parts that come before it
    bool is_last = false;          ///< done by the last block only
  };
  using Order = std::vector<size_t>;

  void findLastParts();
  void makeParts(const LoopNest& nest);
  size_t addPart(PartKind kind, const LoopNest& nest, std::vector<LoopNode*> path, std::vector<Scalar*> indices,
                 std::vector<size_t> after);
  Part outsideOfReduction(PartKind kind, const LoopNest& nest);

  kir::Statements emit(const Order& parts, size_t depth);
  kir::GridReduce gridReduce(const Order& combined, const Order& last);
  kir::Statements withOwnIndices(const kir::Statements& body, const kir::Statements& before);
  std::vector<Order> groups(const Order& parts, size_t depth) const;
  void emitLeaf(const Part& part);
  void flush(kir::Statements& into);

  bool isCombinedOverBlocks(ParallelType type) const;
  kir::ValueRef valueOf(const LoopNest& nest);
  kir::ValueRef load(const TensorView& tensor, std::span<Scalar* const> index);
  Scalar* guard(const Part& part);

  Fusion* fusion_;
  LoopNests* nests_;
  const Strides* strides_;
  std::vector<Part> parts_;
  std::map<const TensorView*, size_t> complete_;  // the part after which a tensor can be read
  const LoopNest* reader_ = nullptr;              // whose value is written
  // Neighbouring leaves with one guard share it, and their Lets.
  ValueWriter writer_;
  Scalar* open_guard_ = nullptr;
  kir::Statements open_;
};

}  // namespace tokamak
