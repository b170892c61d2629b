#include "lower/value_writer.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/require.h"
#include "symbolic/interval_analysis.h"
#include "symbolic/scalar_simplifier.h"

namespace tokamak {

using kir::ValueRef;

ValueWriter::ValueWriter(Fusion& fusion, IntervalAnalysis& analysis, RuleTable& rules, IsStored is_stored, Load load)
    : fusion_(&fusion),
      analysis_(&analysis),
      rules_(&rules),
      is_stored_(std::move(is_stored)),
      load_(std::move(load)) {}

ValueRef ValueWriter::write(const Element& element, Substitution& coordinates, Scalar* condition) {
  const auto operand = [&](size_t i) { return write(*element.operands[i], coordinates, condition); };
  switch (element.kind) {
    case ElementKind::Load: {
      std::vector<Scalar*> index;
      for (Scalar* scalar : element.index) index.push_back(simplify(coordinates(scalar), *analysis_));
      return read(*element.tensor, std::move(index), condition);
    }
    case ElementKind::Value: return kir::number(simplify(coordinates(element.scalar), *analysis_), element.dtype);
    case ElementKind::Apply: {
      std::vector<ValueRef> operands;
      for (size_t i = 0; i < element.operands.size(); ++i) operands.push_back(operand(i));
      return kir::apply(element.function, element.dtype, std::move(operands));
    }
    case ElementKind::Cast: return kir::cast(element.dtype, operand(0));
    case ElementKind::Choose: {
      Scalar* predicate = simplify(coordinates(element.scalar), *analysis_);
      Scalar* opposite = fusion_->scalar(ScalarOp::Not, predicate);
      if (isProved(*predicate, *analysis_) || std::ranges::find(assumed_, predicate) != assumed_.end())
        return operand(0);
      if (isProved(*opposite, *analysis_)) return operand(1);
      const auto both = [&](Scalar* p) {
        return condition == nullptr ? p : simplify(fusion_->scalar(ScalarOp::And, condition, p), *analysis_);
      };
      ValueRef a = write(*element.operands[0], coordinates, both(predicate));
      ValueRef b = write(*element.operands[1], coordinates, both(opposite));
      return kir::choose(predicate, std::move(a), std::move(b));
    }
    case ElementKind::Indexed: return writeIndexed(element, coordinates, condition);
    case ElementKind::Reduce: return writeReduction(element, coordinates, condition);
  }
  TK_CHECK(false, "no such element");
}

ValueRef ValueWriter::read(const TensorView& tensor, std::vector<Scalar*> index, Scalar* condition) {
  Key key{&tensor, index};
  key.second.push_back(condition);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  ValueRef value;
  if (is_stored_(tensor)) {
    value = load_(tensor, index);
    if (condition != nullptr) value = kir::choose(condition, value, kir::number(fusion_->constant(0), tensor.dtype()));
  } else {
    const ElementRule& rule = rules_->of(*tensor.definition());
    Substitution coordinates(*fusion_);
    for (size_t i = 0; i < index.size(); ++i) coordinates.set(*rule.coordinates[i], index[i]);
    value = kir::cast(tensor.dtype(), write(*rule.value, coordinates, condition));
  }
  value = named(tensor, std::move(value));
  known_.emplace(std::move(key), value);
  return value;
}

ValueRef ValueWriter::keep(const TensorView& tensor, Substitution& coordinates, ValueRef value) {
  Key key{&tensor, {}};
  for (Scalar* coordinate : rules_->of(*tensor.definition()).coordinates)
    key.second.push_back(simplify(coordinates(coordinate), *analysis_));
  key.second.push_back(nullptr);  // without a condition
  value = named(tensor, kir::cast(tensor.dtype(), std::move(value)));
  known_.insert_or_assign(std::move(key), value);
  return value;
}

// Combines the elements one by one.
ValueRef ValueWriter::writeReduction(const Element& element, Substitution& coordinates, Scalar* condition) {
  constexpr int64_t kMostTerms = 64;
  std::vector<int64_t> extents;
  int64_t terms = 1;
  for (const ReducedAxis& axis : element.axes) {
    const auto extent = simplify(coordinates(axis.extent), *analysis_)->constantInt();
    const bool is_few = extent && *extent * terms <= kMostTerms;
    TK_REQUIRE(is_few, Schedule,
               "a kernel cannot compute {} as part of another op: only reductions over at most {} elements, a constant "
               "number, "
               "have no loops of their own",
               toString(element), kMostTerms);
    extents.push_back(*extent);
    terms *= *extent;
  }
  const DataType dtype = element.dtype;
  if (terms == 0) return kir::number(fusion_->constant(reductionIdentity(element.reduction, dtype), dtype), dtype);
  ValueRef result;
  for (int64_t term = 0; term < terms; ++term) {
    int64_t rest = term;
    Substitution here = coordinates;
    for (size_t i = extents.size(); i-- > 0; rest /= extents[i])
      here.set(*element.axes[i].coordinate, fusion_->constant(rest % extents[i]));
    ValueRef value = kir::cast(dtype, write(*element.operands[0], here, condition));
    result = result == nullptr
                 ? std::move(value)
                 : kir::apply(kir::combiningFunction(element.reduction), dtype, {result, std::move(value)});
  }
  return result;
}

// The loaded index becomes a named integer, which later indices mention.
ValueRef ValueWriter::writeIndexed(const Element& element, Substitution& coordinates, Scalar* condition) {
  ValueRef position = write(*element.operands[0], coordinates, condition);
  auto variable = std::make_shared<const kir::Variable>(kir::Variable{freshName("at"), DataType::I64, nullptr});
  Scalar* index = fusion_->symbol(variable->name);
  Scalar* extent = simplify(coordinates(element.extent), *analysis_);
  analysis_->assumeIndex(*index, *extent);
  statements_.push_back(kir::statement(kir::Let{std::move(variable), std::move(position), index, extent}));
  coordinates.set(*element.scalar, index);
  return write(*element.operands[1], coordinates, condition);
}

std::string ValueWriter::freshName(std::string base) {
  const int count = ++names_[base];
  return count == 1 ? base : fmt::format("{}_{}", base, count);
}

ValueRef ValueWriter::named(const TensorView& tensor, ValueRef value) {
  if (value->kind == kir::ValueKind::Variable || value->kind == kir::ValueKind::Number) return value;
  auto variable = std::make_shared<const kir::Variable>(
      kir::Variable{freshName(fmt::format("t{}", tensor.label())), tensor.dtype(), &tensor});
  statements_.push_back(kir::statement(kir::Let{variable, std::move(value)}));
  return kir::use(std::move(variable));
}

}  // namespace tokamak
