#include "heuristics/reduction_structure.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "base/immortal.h"
#include "device_code/device_code.h"
#include "ir/extent_assumptions.h"
#include "ir/ops/math/pad_op.h"
#include "ir/ops/math/pointwise_op.h"
#include "ir/ops/math/reduction_op.h"
#include "ir/ops/math/reshape_op.h"
#include "schedule/transforms.h"

namespace tokamak {

namespace {

bool isOneElement(const TensorView& tensor) {
  return std::ranges::all_of(shapeOf(tensor), [](const IterDomain* axis) {
    return axis->expandedExtent() == nullptr && !mayBeLongerThanOne(*axis);
  });
}

bool hasNoElements(const TensorView& tensor) {
  return std::ranges::any_of(shapeOf(tensor),
                             [](const IterDomain* axis) { return axis->visibleExtent()->isConstantInt(0); });
}

bool isInDeviceCode(const PointwiseOp& op) {
  const auto types = functionTypes(op.function, op.ins.back()->dtype());
  return types && hasFunction(op.function, types->operand);
}

}  // namespace

bool isReduced(const TensorView& tensor) {
  return tensor.definition() != nullptr && tensor.definition()->is<ReductionOp>();
}

bool mayBeLongerThanOne(const IterDomain& axis) { return !axis.isBroadcast() && !axis.extent()->isConstantInt(1); }

std::optional<int64_t> termsOf(const TensorView& reduction) {
  int64_t terms = 1;
  for (const IterDomain* axis : reduction.logical()) {
    if (!axis->isReduction()) continue;
    const auto extent = axis->extent()->constantInt();
    if (!extent) return std::nullopt;
    terms *= std::max<int64_t>(*extent, 1);
  }
  return terms;
}

AxisNumbers loopsOf(const TensorView& tensor, const AxisNumbers& axes) {
  const Axes shape = shapeOf(tensor);
  AxisNumbers loops;
  for (const int64_t axis : axes)
    loops.push_back(std::ranges::find(tensor.loop(), shape[static_cast<size_t>(axis)]) - tensor.loop().begin());
  return loops;
}

void mergeRange(TensorView& tensor, int64_t first, int64_t last) {
  for (int64_t i = first + 1; i < last; ++i) merge(&tensor, first);
}

AxisNumbers axisRange(int64_t first, int64_t last) {
  AxisNumbers numbers;
  for (int64_t i = first; i < last; ++i) numbers.push_back(i);
  return numbers;
}

ReductionStructure::ReductionStructure(Fusion& fusion) : fusion_(&fusion) { assumeExtents(analysis_, fusion); }

const AxisNumbers& ReductionStructure::rowsOf(const TensorView& tensor) const {
  static const auto& none = *immortal(AxisNumbers());
  const auto found = rows_.find(&tensor);
  return found == rows_.end() ? none : found->second;
}

// Partial outer reductions whose rows differ from the rest's are treated as outer sums like others.
std::optional<std::string> ReductionStructure::find(WholeReductions whole, PartialOuterReductions parts) {
  may_be_partial_ = parts == PartialOuterReductions::WithRows;
  auto problem = findAll(whole);
  if (partial_outer_.empty() || (!problem && haveSameRows())) return problem;
  may_be_partial_ = false;
  return findAll(whole);
}

std::optional<std::string> ReductionStructure::findAll(WholeReductions whole) {
  do {
    is_changed_ = false;
    is_single_block_ = false;
    stored_.clear();
    rows_.clear();
    followed_.clear();
    following_.clear();
    if (auto problem = findStored()) return problem;
    findPartialOuterReductions();
    for (const TensorView* tensor : stored_) {
      auto problem = findRowsOf(*tensor, whole);
      if (is_changed_) break;
      if (problem) return problem;
    }
  } while (is_changed_);
  addRowsOfSameShape();
  return std::nullopt;
}

// Matches sum(reshape(pad(in))), where the reshape splits the outermost axis into [iterations, count]. `in` may have
// several row axes, which another reshape merges.
std::optional<PartialOuterReduction> ReductionStructure::partialOuterReductionOf(const TensorView& tensor) {
  const auto definedBy = [&]<class Op>(const TensorView* result, const Op*& op) {
    op = result->definition() == nullptr ? nullptr : result->definition()->as<Op>();
    return op != nullptr;
  };
  const ReductionOp* sum = nullptr;
  const ReshapeOp* turned = nullptr;
  const PadOp* padded = nullptr;
  if (!definedBy(&tensor, sum) || sum->op != ReductionKind::Sum || sum->axes != AxisNumbers{0}) return std::nullopt;
  if (!definedBy(sum->in, turned) || !definedBy(turned->in, padded)) return std::nullopt;
  const TensorView* in = padded->in;
  const Axes from = shapeOf(*turned->in);
  const Axes to = shapeOf(*turned->out);
  if (to.size() != from.size() + 1) return std::nullopt;
  if (!padded->value->isConstant() || asDouble(padded->value->value()) != 0) return std::nullopt;
  for (size_t i = 1; i < from.size(); ++i) {
    if (from[i]->visibleExtent() != to[i + 1]->visibleExtent()) return std::nullopt;
  }
  for (size_t i = 0; i < padded->widths.size(); ++i) {
    if (i != 1 && !padded->widths[i]->isConstantInt(0)) return std::nullopt;
  }
  const ReshapeOp* merged = nullptr;
  if (definedBy(in, merged) && shapeOf(*merged->in).size() >= from.size()) in = merged->in;
  const Axes source = shapeOf(*in);
  const size_t row_axes = source.size() + 1 - from.size();
  PartialOuterReduction part{.count = to[1]->visibleExtent()};
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i]->isBroadcast()) return std::nullopt;
    (i < row_axes ? part.extents : part.columns).push_back(source[i]->visibleExtent());
  }
  for (size_t i = 0; i < part.columns.size(); ++i) {
    if (part.columns[i] != from[i + 1]->visibleExtent()) return std::nullopt;
  }
  const ElementRule& rule = rules_.of(*tensor.definition());
  Substitution same(*fusion_);
  TensorReads reads(*fusion_, analysis_, rules_, [&](const TensorView& read) { return &read == in; });
  for (const TensorRead& read : reads.of(*rule.value->operands[0], same)) {
    if (read.tensor == in && part.rows.empty())
      part.rows.assign(read.index.begin(), read.index.begin() + static_cast<std::ptrdiff_t>(row_axes));
  }
  return part.rows.empty() ? std::nullopt : std::optional(part);
}

// Partial outer reductions are recognised only if the kernel stores something else, too.
void ReductionStructure::findPartialOuterReductions() {
  partial_outer_.clear();
  if (!may_be_partial_) return;
  for (const TensorView* tensor : stored_) {
    if (auto part = partialOuterReductionOf(*tensor)) partial_outer_.emplace(tensor, *std::move(part));
  }
  if (partial_outer_.size() == stored_.size()) partial_outer_.clear();
}

// A partial outer reduction has to read other reductions at the row that it adds.
std::optional<std::string> ReductionStructure::findRowsOfPartial(const TensorView& tensor,
                                                                 const PartialOuterReduction& part) {
  const ElementRule& rule = rules_.of(*tensor.definition());
  Substitution same(*fusion_);
  TensorReads reads(*fusion_, analysis_, rules_,
                    [&](const TensorView& read) { return isReduced(read) && !isRecomputed(read); });
  for (const TensorRead& read : reads.of(*rule.value, same)) {
    if (!isReduced(*read.tensor)) continue;
    const AxisNumbers& rows = rows_[read.tensor];
    bool is_whole = rows.size() == part.rows.size();
    for (size_t i = 0; is_whole && i < rows.size(); ++i) {
      const auto row = static_cast<size_t>(rows[i]);
      is_whole = read.index[row] == part.rows[i] && shapeOf(*read.tensor)[row]->visibleExtent() == part.extents[i];
    }
    if (!is_whole)
      return problemWith(*read.tensor,
                         fmt::format("{} reads {} otherwise than row by row", nameOf(tensor), nameOf(*read.tensor)));
    followed_.insert(read.tensor);
    following_.insert(&tensor);
  }
  rows_[&tensor] = {0};
  return std::nullopt;
}

// Whether all stored tensors have the same rows.
bool ReductionStructure::haveSameRows() const {
  if (is_single_block_) return false;
  const PartialOuterReduction& first = partial_outer_.begin()->second;
  return std::ranges::all_of(stored_, [&](const TensorView* tensor) {
    const auto part = partial_outer_.find(tensor);
    if (part != partial_outer_.end()) return part->second.count == first.count && part->second.extents == first.extents;
    std::vector<Scalar*> extents;
    for (const int64_t row : rowsOf(*tensor))
      extents.push_back(shapeOf(*tensor)[static_cast<size_t>(row)]->visibleExtent());
    return extents == first.extents;
  });
}

// An output that follows no reduction, but has the shape of a tensor with rows, gets the same rows: both probably read
// the same inputs.
void ReductionStructure::addRowsOfSameShape() {
  const auto extentsOf = [](const Axes& axes) {
    std::vector<const Scalar*> extents;
    for (const IterDomain* axis : axes) extents.push_back(axis->isBroadcast() ? nullptr : axis->visibleExtent());
    return extents;
  };
  for (const TensorView* tensor : stored_) {
    if (rows_.contains(tensor)) continue;
    for (const auto& [sum, part] : partial_outer_) {
      std::vector<const Scalar*> extents(part.extents.begin(), part.extents.end());
      extents.insert(extents.end(), part.columns.begin(), part.columns.end());
      if (extentsOf(shapeOf(*tensor)) == extents)
        rows_[tensor] = axisRange(0, static_cast<int64_t>(part.extents.size()));
    }
    for (const TensorView* other : stored_) {
      if (rows_.contains(tensor)) break;
      if (isPartialOuterReduction(*other)) continue;
      const auto rows = rows_.find(other);
      if (rows == rows_.end() || rows->second.empty() || !other->domain().root.empty()) continue;
      AxisNumbers numbers = rows->second;
      if (isReduced(*other)) {
        numbers.clear();
        for (size_t i = 0; i < other->logical().size(); ++i) {
          const IterDomain& axis = *other->logical()[i];
          if (!axis.isReduction() && mayBeLongerThanOne(axis)) numbers.push_back(static_cast<int64_t>(i));
        }
        if (numbers.size() != rows->second.size()) continue;
      }
      if (extentsOf(other->logical()) != extentsOf(shapeOf(*tensor))) continue;
      rows_[tensor] = numbers;
      break;
    }
  }
}

std::optional<std::string> ReductionStructure::findStored() {
  for (const Expr* expr : fusion_->exprs()) {
    if (expr->info().is_library) return fmt::format("{} is a library call", expr->name());
    const auto* pointwise = expr->as<PointwiseOp>();
    if (pointwise != nullptr && !isInDeviceCode(*pointwise))
      return fmt::format("{} has no device code", functionInfo(pointwise->function).name);
    for (TensorView* tensor : tensorsOf(expr->outputs())) {
      if (fusion_->isOutput(tensor) || (isReduced(*tensor) && !isRecomputed(*tensor))) stored_.push_back(tensor);
    }
  }
  return std::nullopt;
}

// Returns the problem. A reduction of few elements is marked as recomputed: then find() starts anew without it.
std::optional<std::string> ReductionStructure::problemWith(const TensorView& read, std::string problem) {
  constexpr int64_t kMostTerms = 8;
  if (termsOf(read).value_or(kMostTerms + 1) > kMostTerms) return problem;
  if (fusion_->isOutput(const_cast<TensorView*>(&read))) return problem;
  // The first stage of an outer sum is there to be added up by the blocks that have its rows.
  if (partialOuterReductionOf(read)) return problem;
  if (!recomputed_.insert(&read).second) return problem;
  // Nested ones are recomputed for each element that an outer one combines.
  is_changed_ = termsOfNestedRecomputed() <= kMostTerms * kMostTerms;
  if (!is_changed_) recomputed_.erase(&read);
  return problem;
}

// The most elements that nested recomputed reductions combine for one result.
int64_t ReductionStructure::termsOfNestedRecomputed() const {
  constexpr int64_t kMany = int64_t{1} << 40;
  std::unordered_map<const Val*, int64_t> terms;
  int64_t most = 1;
  for (const Expr* expr : fusion_->exprs()) {
    int64_t within = 1;
    for (const Val* operand : expr->inputs()) {
      const auto found = terms.find(operand);
      if (found != terms.end()) within = std::max(within, found->second);
    }
    for (const TensorView* result : tensorsOf(expr->outputs())) {
      if (isRecomputed(*result)) within = std::min(within * termsOf(*result).value_or(1), kMany);
      // What is stored is computed once.
      terms[result] = isReduced(*result) && !isRecomputed(*result) ? 1 : within;
    }
    most = std::max(most, within);
  }
  return most;
}

// Whether the tensor has no elements, or reduces none: then it reads nothing.
bool ReductionStructure::computesNothing(const ElementRule& rule) {
  const auto isNone = [&](Scalar* extent) { return analysis_.of(*extent).upper <= 0; };
  return std::ranges::any_of(rule.extents, isNone) ||
         std::ranges::any_of(rule.value->axes, isNone, &ReducedAxis::extent);
}

// The rows of a tensor are the axes along which it follows the reductions that it reads. A reduction that reads none
// has all its other axes as rows.
std::optional<std::string> ReductionStructure::findRowsOf(const TensorView& tensor, WholeReductions whole) {
  if (const auto part = partial_outer_.find(&tensor); part != partial_outer_.end())
    return findRowsOfPartial(tensor, part->second);
  const ElementRule& rule = rules_.of(*tensor.definition());
  Substitution same(*fusion_);
  TensorReads reads(*fusion_, analysis_, rules_,
                    [&](const TensorView& read) { return isReduced(read) && !isRecomputed(read); });
  std::optional<AxisNumbers> rows;
  const TensorView* followed = nullptr;
  for (const TensorRead& read : reads.of(*rule.value, same)) {
    if (!isReduced(*read.tensor)) continue;
    AxisNumbers follows;
    const Scalar* elsewhere = nullptr;
    for (const int64_t row : rows_[read.tensor]) {
      const auto found = std::ranges::find(rule.coordinates, read.index[static_cast<size_t>(row)]);
      const auto axis = static_cast<size_t>(found - rule.coordinates.begin());
      // (A reader's expanded axis is no row: it has one element, whatever it shows.)
      const bool is_whole = found != rule.coordinates.end() && !shapeOf(tensor)[axis]->isBroadcast() &&
                            rule.extents[axis] == shapeOf(*read.tensor)[static_cast<size_t>(row)]->visibleExtent();
      if (!is_whole) elsewhere = read.index[static_cast<size_t>(row)];
      if (!is_whole) break;
      follows.push_back(found - rule.coordinates.begin());
    }
    // A separate partial outer reduction over no rows may be read anywhere, as nothing is computed.
    const bool is_nothing = !may_be_partial_ && hasNoElements(*read.tensor) && computesNothing(rule);
    if (elsewhere != nullptr && !is_nothing)
      return problemWith(*read.tensor, fmt::format("{} reads the reduction {} at {}", nameOf(tensor),
                                                   nameOf(*read.tensor), toString(*elsewhere)));
    followed_.insert(read.tensor);
    following_.insert(&tensor);
    if (elsewhere != nullptr) continue;
    const bool is_for_last = !isReduced(tensor) && isOneElement(tensor);
    if (follows.empty() && !is_for_last && whole == WholeReductions::SingleBlock) {
      is_single_block_ = true;
      continue;
    }
    if (follows.empty() && !is_for_last)
      return fmt::format("{} reads {}, which is complete only after all blocks", nameOf(tensor), nameOf(*read.tensor));
    if (rows && *rows != follows)
      return problemWith(*read.tensor, fmt::format("{} reads reductions along different axes", nameOf(tensor)));
    const std::set<int64_t> different(follows.begin(), follows.end());
    if (different.size() != follows.size())
      return problemWith(*read.tensor,
                         fmt::format("{} reads {} along a diagonal", nameOf(tensor), nameOf(*read.tensor)));
    rows = follows;
    followed = read.tensor;
  }
  if (isReduced(tensor)) {
    AxisNumbers all;
    const Axes shape = shapeOf(tensor);
    for (size_t i = 0; i < shape.size(); ++i) {
      if (mayBeLongerThanOne(*shape[i])) all.push_back(static_cast<int64_t>(i));
    }
    if (rows && *rows != all)
      return problemWith(*followed,
                         fmt::format("{} is a reduction within a row that has further axes", nameOf(tensor)));
    rows = all;
  }
  if (rows) rows_[&tensor] = *rows;
  return std::nullopt;
}

}  // namespace tokamak
