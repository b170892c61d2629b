// StatementBuilder: the statements and loops that compute stored tensors.
#pragma once

#include <map>
#include <vector>

#include "analysis/addresses.h"
#include "lower/loop_nests.h"
#include "lower/value_writer.h"

namespace tokamak {

/// Makes the statements of a kernel from the loop nests of its tensors. A tensor has a few parts: its allocation, a
/// reduction's identity, the computation, a block or grid reduction, and the store of an output.
/// Each part is inside of some loops. Parts that share a loop are emitted together, in an order that keeps dependences.
class StatementBuilder {
 public:
  StatementBuilder(Fusion& fusion, LoopNests& nests, const Strides& strides);

  /// Errors: Schedule if a tensor would be read before it is complete.
  kir::Statements build();

 private:
  enum class PartKind : uint8_t { Allocate, Identity, Compute, BlockReduce, GridReduce, Write };
  struct Part {
    PartKind kind;
    const LoopNest* nest;
    std::vector<LoopNode*> path;
    std::vector<Scalar*> indices;   ///< of the tensor's loops
    std::vector<size_t> after;      ///< parts that have to come before it
    bool is_of_last_block = false;  ///< only the last block of a grid reduction does it
  };
  using Order = std::vector<size_t>;

  void findPartsOfLastBlock();
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

  bool isReducedOverBlocks(ParallelType type) const;
  kir::ValueRef valueOf(const LoopNest& nest);
  kir::ValueRef load(const TensorView& tensor, std::span<Scalar* const> index);
  Scalar* guard(const Part& part);

  Fusion* fusion_;
  LoopNests* nests_;
  const Strides* strides_;
  std::vector<Part> parts_;
  std::map<const TensorView*, size_t> complete_;  // the last part of each tensor
  const LoopNest* reader_ = nullptr;              // the nest whose value is being written
  // Consecutive parts with the same guard share it, and their Lets.
  ValueWriter writer_;
  Scalar* open_guard_ = nullptr;
  kir::Statements open_;
};

}  // namespace tokamak
