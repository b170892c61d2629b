// LocalTensors: the tensors and scalars of a program in a copy of it for one rank, with the sizes that this rank has.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "analysis/shards.h"
#include "analysis/substitute.h"
#include "ir/clone.h"

namespace tokamak {

/// What the extents of parts are in the copy.
enum class PartExtents : uint8_t {
  Computed,  ///< of the whole extents, which the program knows
  Symbols,   ///< symbols of their own, which the sizes of tensors bind, unless they are constants: of a segment
};

/// What the rank has of an axis, and over which dimension of which mesh it is dealt out.
struct LocalPart {
  ScalarRange range;        ///< in scalars of the copy
  Scalar* chunk = nullptr;  ///< of all ranks but the last ones, in scalars of the copy
  const DeviceMesh* mesh = nullptr;
  size_t dimension = 0;
};

/// Whether each rank that is in both meshes has the same part by the one as by the other; null: all of the axis.
bool isSamePart(const LocalPart* a, const LocalPart* b);

/// Copies are made on first sight. Axes that the rank has a part of get its extent; everything else that is computed of
/// extents stays whole. Copies have neither meshes nor device marks: of a chunk, the loop over devices is gone, and
/// what was inside of it is the axis.
/// Thread safety: one thread at a time. It makes scalars in both fusions.
class LocalTensors {
 public:
  LocalTensors(Fusion& target, int64_t rank, PartExtents extents)
      : target_(&target), rank_(rank), extents_(extents), cloner_(target), substitution_(target) {}

  Fusion& target() const { return *target_; }
  int64_t rank() const { return rank_; }

  /// Whether the rank has (a part of) the tensor: its mesh has the rank, or it has no mesh.
  bool has(const TensorView& tensor) const;

  /// What the rank has of a logical axis of a tensor that it has; null: all of it. Errors: those of shardsOf().
  const LocalPart* partOf(const TensorView& tensor, const IterDomain& logical);
  /// The same for an axis of the tensor's visible shape.
  const LocalPart* partOf(const TensorView& tensor, int64_t axis);
  /// Whether the rank may have less than the whole tensor.
  bool isSharded(const TensorView& tensor);
  /// The range of the chunk of an axis of extent n, all in scalars of the source.
  ScalarRange rangeOf(Scalar& n, Scalar& chunk, int64_t coordinate);

  /// The copies; null for null. Of a tensor that the rank has.
  TensorView* tensor(TensorView* whole);
  Scalar* scalar(Scalar* whole);
  Val* val(Val* whole);
  /// The copy of an axis of a tensor that was copied; of one that the rank has a part of, a new axis of the whole
  /// extent, as it is of one whose tensor the rank does not have.
  IterDomain* wholeAxis(IterDomain* whole);

  /// The copies of the source's value are this one from now on.
  void substitute(Val* whole, Val* copy) { cloner_.substitute(whole, copy); }
  /// The source's symbol is d times `local` in the copy: the extent of this rank's chunk, of which the shard's mesh has
  /// d. To be said before anything is copied.
  void substituteWhole(Scalar& symbol, const Shard& shard, int64_t coordinate, Scalar* local);
  /// The rank has a part of a reduction axis, which has no mark: that of the operand's axis.
  void setReducedPart(const IterDomain& reduction, const LocalPart& part) { parts_[&reduction] = part; }

  /// Of Symbols: the symbols, and whole extent, chunk and coordinate (in scalars of the source) that they stand for.
  struct PartSymbol {
    Scalar* symbol = nullptr;
    Scalar* n = nullptr;
    Scalar* chunk = nullptr;
    int64_t coordinate = 0;
  };
  const std::vector<PartSymbol>& partSymbols() const { return part_symbols_; }

 private:
  void findParts(const TensorView& tensor);
  Scalar* partSymbol(Scalar* extent, const PartSymbol& meaning);
  IterDomain* localAxis(IterDomain* whole);
  IterDomain* copyAxis(const IterDomain& whole);
  bool isOfPart(const IterDomain& axis) const;
  void doStep(const DomainExpr& step);
  void copyStep(const DomainExpr& step);
  Axes localAxes(const Axes& axes);

  Fusion* target_;
  int64_t rank_;
  PartExtents extents_;
  Cloner cloner_;
  Substitution substitution_;
  std::set<const TensorView*> searched_;
  std::unordered_map<const IterDomain*, LocalPart> parts_;
  std::map<std::tuple<const Scalar*, const Scalar*, int64_t>, ScalarRange> ranges_;
  std::map<const Scalar*, Scalar*> symbols_;  // computed extent -> its symbol
  std::vector<PartSymbol> part_symbols_;
  std::unordered_map<const IterDomain*, IterDomain*> axes_;
  std::unordered_map<const IterDomain*, IterDomain*> whole_axes_;  // those that are not in axes_ or differ from it
  std::set<const IterDomain*> device_loops_;                       // of chunks: they are no loops of the copy
  std::set<const IterDomain*> device_chains_;                      // these, and the parts that they are parts of
};

}  // namespace tokamak
