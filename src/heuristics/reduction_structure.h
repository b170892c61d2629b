// ReductionStructure: which tensors of a kernel are stored, which are reduced, and which axes ("rows") reductions share
// with the tensors that read them.
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

/// A partial sum over some of the rows, for each column and each of `count` parts. graph/two_stage_outer_reduction
/// makes it. Iteration i of part p adds row i * count + p.
struct PartialOuterReduction {
  Scalar* count = nullptr;
  std::vector<Scalar*> rows;     ///< the indices of the row axes at which it reads, in the coordinates of its rule
  std::vector<Scalar*> extents;  ///< of these axes
  std::vector<Scalar*> columns;  ///< the extents of the other axes
};

/// What to do where something reads a whole reduction, which is complete only after all blocks. (A single element that
/// is read for a single element is not meant: the last block computes that.)
enum class WholeReductions : uint8_t {
  Refused,      ///< such a fusion is no kernel
  SingleBlock,  ///< the kernel has one block
};

/// Whether partial outer reductions are made by the blocks that go over the rows for something else, or apart from
/// these.
enum class PartialOuterReductions : uint8_t { Beside, Apart };

/// A row is what a block computes for itself. A stored tensor that reads a reduction needs all of it at one index along
/// the axes that are not reduced, so both share the loops over these axes.
class ReductionStructure {
 public:
  explicit ReductionStructure(Fusion& fusion);

  /// Why the fusion cannot be one kernel, or nothing. The functions below are valid once it has given nothing.
  std::optional<std::string> find(WholeReductions whole, PartialOuterReductions parts = PartialOuterReductions::Beside);

  Fusion& fusion() const { return *fusion_; }
  /// Outputs and reductions, producers first.
  const std::vector<TensorView*>& stored() const { return stored_; }
  /// The axes (of the visible shape) that are the rows of a stored tensor. For a reduction: all that are longer than 1
  /// and not reduced.
  /// For a tensor that follows reductions: the axes along which it does; for others: none. For a partial outer
  /// reduction: the axis of the parts.
  const AxisNumbers& rowsOf(const TensorView& tensor) const;
  /// Outer sums made in parts by the blocks that go over the rows for something else.
  const std::map<const TensorView*, PartialOuterReduction>& partialOuterReductions() const { return partial_outer_; }
  bool isPartialOuterReduction(const TensorView& tensor) const { return partial_outer_.contains(&tensor); }
  /// Whether the tensor is a reduction or reads one.
  bool hasRows(const TensorView& tensor) const { return rows_.contains(&tensor); }
  /// Whether it is a reduction that stored tensors read, row by row.
  bool isFollowed(const TensorView& tensor) const { return followed_.contains(&tensor); }
  bool isFollowing(const TensorView& tensor) const { return following_.contains(&tensor); }
  /// Whether something needs a reduction over everything, so that the kernel has one block.
  bool isSingleBlock() const { return is_single_block_; }
  /// Whether it is a reduction over a few elements that is not read row by row: it is recomputed wherever it is read.
  bool isExpression(const TensorView& tensor) const { return expressions_.contains(&tensor); }
  bool hasExpressions() const { return !expressions_.empty(); }
  /// Remembers what `find` says of the reduction, so that it is computed once. For one question only: isInnerReduction
  /// (heuristics/outer_reductions).
  bool remembered(const TensorView& reduction, const std::function<bool()>& find) const {
    const auto [known, is_new] = remembered_.try_emplace(&reduction);
    if (is_new) known->second = find();
    return known->second;
  }

 private:
  std::optional<std::string> findAll(WholeReductions whole);
  std::optional<std::string> findStored();
  std::optional<std::string> findRowsOf(const TensorView& tensor, WholeReductions whole);
  void findPartialOuterReductions();
  std::optional<PartialOuterReduction> partialOuterReductionOf(const TensorView& tensor);
  std::optional<std::string> findRowsOfPart(const TensorView& tensor, const PartialOuterReduction& part);
  bool areBesideOneAnother() const;
  void joinRows();
  std::optional<std::string> problemWith(const TensorView& read, std::string problem);
  int64_t termsOfNestedExpressions() const;
  bool computesNothing(const ElementRule& rule);

  Fusion* fusion_;
  IntervalAnalysis analysis_;
  RuleTable rules_;
  std::vector<TensorView*> stored_;
  std::map<const TensorView*, AxisNumbers> rows_;
  std::map<const TensorView*, PartialOuterReduction> partial_outer_;
  std::set<const TensorView*> followed_;
  std::set<const TensorView*> following_;
  std::set<const TensorView*> expressions_;
  mutable std::map<const TensorView*, bool> remembered_;
  bool is_changed_ = false;  // something became an expression
  bool is_single_block_ = false;
  bool may_have_parts_ = true;
};

/// Whether an op of the fusion computes the tensor as a reduction.
bool isReduced(const TensorView& tensor);
/// Whether an axis may have more than one element.
bool mayBeRow(const IterDomain& axis);
/// How many elements one result of a reduction combines, if that is known; an axis without elements counts as 1.
std::optional<int64_t> termsOf(const TensorView& reduction);
/// Positions among the loops of axes of the visible shape.
AxisNumbers loopsOf(const TensorView& tensor, const AxisNumbers& axes);
/// Merges the loops [first, last) into one, which is then loop `first`.
void mergeRange(TensorView& tensor, int64_t first, int64_t last);
AxisNumbers axisRange(int64_t first, int64_t last);

}  // namespace tokamak
