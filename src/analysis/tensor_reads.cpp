#include "analysis/tensor_reads.h"

#include "symbolic/scalar_simplifier.h"

namespace tokamak {

namespace {

// Each index that depends on data, or belongs to a reduction within the element, is a symbol of its own. Their numbers
// start beyond those of any rule's coordinates.
constexpr size_t kFirstDataIndex = 64;

}  // namespace

bool isProved(Scalar& predicate, IntervalAnalysis& analysis) {
  switch (predicate.op()) {
    case ScalarOp::Constant: return asInt(predicate.value()) != 0;
    case ScalarOp::And: return isProved(*predicate.operand(0), analysis) && isProved(*predicate.operand(1), analysis);
    case ScalarOp::Less: return analysis.isProvablyLess(*predicate.operand(0), *predicate.operand(1));
    case ScalarOp::LessEqual: return analysis.isProvablyLessOrEqual(*predicate.operand(0), *predicate.operand(1));
    case ScalarOp::Equal: return analysis.isProvablyEqual(*predicate.operand(0), *predicate.operand(1));
    default: return false;
  }
}

bool TensorRead::operator<(const TensorRead& other) const {
  if (tensor != other.tensor) return tensor->id() < other.tensor->id();
  return index < other.index;
}

TensorReads::TensorReads(Fusion& fusion, IntervalAnalysis& analysis, RuleTable& rules,
                         std::function<bool(const TensorView&)> is_stored)
    : fusion_(&fusion), analysis_(&analysis), rules_(&rules), is_stored_(std::move(is_stored)) {}

std::vector<TensorRead> TensorReads::of(const Element& element, Substitution& coordinates) {
  start(element, coordinates);
  return std::move(reads_);
}

std::vector<TensorRead> TensorReads::withInlined(const Element& element, Substitution& coordinates) {
  start(element, coordinates);
  return {seen_.begin(), seen_.end()};
}

void TensorReads::start(const Element& element, Substitution& coordinates) {
  seen_.clear();
  reads_.clear();
  indices_ = 0;
  visit(element, coordinates);
}

void TensorReads::visit(const Element& element, Substitution& coordinates) {
  if (element.kind == ElementKind::Indexed)
    coordinates.set(*element.scalar, fusion_->coordinate(kFirstDataIndex + indices_++));
  for (const ElementRef& operand : element.operands) visit(*operand, coordinates);
  if (element.kind != ElementKind::Load) return;
  TensorRead read{element.tensor, {}};
  for (Scalar* scalar : element.index) read.index.push_back(simplify(coordinates(scalar), *analysis_));
  if (!seen_.insert(read).second) return;
  const Expr* definition = element.tensor->definition();
  if (definition == nullptr || is_stored_(*element.tensor)) {
    reads_.push_back(std::move(read));
    return;
  }
  const ElementRule& rule = rules_->of(*definition);
  Substitution inner(*fusion_);
  for (size_t i = 0; i < read.index.size(); ++i) inner.set(*rule.coordinates[i], read.index[i]);
  // Coordinates of an inner reduction are renamed, as the element has coordinates of the same numbers.
  for (const ReducedAxis& axis : rule.value->axes)
    inner.set(*axis.coordinate, fusion_->coordinate(kFirstDataIndex + indices_++));
  visit(*rule.value, inner);
}

}  // namespace tokamak
