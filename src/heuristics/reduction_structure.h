// ReductionStructure: which tensors of a kernel are stored, which are reductions, and which axes ("rows") a reduction
// shares with the tensors that read it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/tensor_reads.h"
#include "ir/fields.h"  // before AxisNumbers, which an enumerator there is called, too
#include "ir/fusion.h"

namespace tokamak {

/// Axis numbers.
using AxisNumbers = std::vector<int64_t>;

/// The first stage of a two-stage outer reduction (graph/two_stage_outer_reduction.h): `count` partial sums per column.
/// Iteration i of partial sum p adds row i * count + p.
struct PartialOuterReduction {
  Scalar* count = nullptr;
  std::vector<Scalar*> rows;     ///< its indices along the row axes, in terms of its rule's coordinates
  std::vector<Scalar*> extents;  ///< of the row axes
  std::vector<Scalar*> columns;  ///< the extents of the other axes
};

/// What to do where every element of a tensor needs one reduction over everything, which is complete only after all
/// blocks. (A single element that reads it is no such case: the last block computes that.)
enum class WholeReductions : uint8_t {
  Refused,      ///< such a fusion is no kernel
  SingleBlock,  ///< the kernel has one block
};

/// Whether partial outer reductions are recognised as such, and computed by the blocks that compute rows, or are outer
/// sums like others.
enum class PartialOuterReductions : uint8_t { WithRows, Separate };

/// A row is what a block computes without others. A stored tensor that reads a reduction at its own index along the
/// axes that are not reduced (the rows) follows it: both share the loops over these axes.
class ReductionStructure {
 public:
  explicit ReductionStructure(Fusion& fusion);

  /// Why the fusion cannot be one kernel, or nothing. The functions below are valid after it returned nothing.
  std::optional<std::string> find(WholeReductions whole,
                                  PartialOuterReductions parts = PartialOuterReductions::WithRows);

  Fusion& fusion() const { return *fusion_; }
  /// Outputs and reductions, producers first.
  const std::vector<TensorView*>& stored() const { return stored_; }
  /// The axes (of the visible shape) that are the rows of a stored tensor. Of a reduction that follows none: all that
  /// are longer than 1 and not reduced. Of a partial outer reduction: the axis of the partial sums.
  /// Of a tensor that follows reductions: the axes along which it does; of others: none, or those of a tensor of the
  /// same shape that has rows.
  const AxisNumbers& rowsOf(const TensorView& tensor) const;
  /// Partial outer reductions that the blocks compute beside their rows.
  const std::map<const TensorView*, PartialOuterReduction>& partialOuterReductions() const { return partial_outer_; }
  bool isPartialOuterReduction(const TensorView& tensor) const { return partial_outer_.contains(&tensor); }
  /// Whether the tensor is a reduction or reads one.
  bool hasRows(const TensorView& tensor) const { return rows_.contains(&tensor); }
  /// Whether the tensor is a reduction that stored tensors follow.
  bool isFollowed(const TensorView& tensor) const { return followed_.contains(&tensor); }
  bool isFollowing(const TensorView& tensor) const { return following_.contains(&tensor); }
  /// Whether something needs a reduction over everything, so that the kernel has one block.
  bool isSingleBlock() const { return is_single_block_; }
  /// Whether the tensor is a reduction of a few elements that is not read row by row: each reader recomputes it.
  bool isRecomputed(const TensorView& tensor) const { return recomputed_.contains(&tensor); }
  bool hasRecomputed() const { return !recomputed_.empty(); }
  /// The cache of isInnerReduction (heuristics/outer_reductions): the answer for this reduction, computed by `find` at
  /// the first call.
  bool memoised(const TensorView& reduction, const std::function<bool()>& find) const {
    const auto [known, is_new] = inner_reductions_.try_emplace(&reduction);
    if (is_new) known->second = find();
    return known->second;
  }

 private:
  std::optional<std::string> findAll(WholeReductions whole);
  std::optional<std::string> findStored();
  std::optional<std::string> findRowsOf(const TensorView& tensor, WholeReductions whole);
  void findPartialOuterReductions();
  std::optional<PartialOuterReduction> partialOuterReductionOf(const TensorView& tensor);
  std::optional<std::string> findRowsOfPartial(const TensorView& tensor, const PartialOuterReduction& part);
  bool haveSameRows() const;
  void addRowsOfSameShape();
  std::optional<std::string> problemWith(const TensorView& read, std::string problem);
  int64_t termsOfNestedRecomputed() const;
  bool computesNothing(const ElementRule& rule);

  Fusion* fusion_;
  IntervalAnalysis analysis_;
  RuleTable rules_;
  std::vector<TensorView*> stored_;
  std::map<const TensorView*, AxisNumbers> rows_;
  std::map<const TensorView*, PartialOuterReduction> partial_outer_;
  std::set<const TensorView*> followed_;
  std::set<const TensorView*> following_;
  std::set<const TensorView*> recomputed_;
  mutable std::map<const TensorView*, bool> inner_reductions_;
  bool is_changed_ = false;  // another reduction is recomputed
  bool is_single_block_ = false;
  bool may_be_partial_ = true;
};

/// Whether an op of the fusion computes the tensor as a reduction.
bool isReduced(const TensorView& tensor);
/// Whether an axis may have more than one element.
bool mayBeLongerThanOne(const IterDomain& axis);
/// How many elements one result of a reduction combines, if that is constant; an axis without elements counts as 1.
std::optional<int64_t> termsOf(const TensorView& reduction);
/// Positions among the loops of axes of the visible shape.
AxisNumbers loopsOf(const TensorView& tensor, const AxisNumbers& axes);
/// Merges the loops [first, last) into one, which is then loop `first`.
void mergeRange(TensorView& tensor, int64_t first, int64_t last);
AxisNumbers axisRange(int64_t first, int64_t last);

}  // namespace tokamak
