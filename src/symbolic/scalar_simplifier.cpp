#include "symbolic/scalar_simplifier.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <unordered_map>

#include "symbolic/interval_analysis.h"
#include "symbolic/scalar_arena.h"
#include "symbolic/scalar_rules.h"
#include "symbolic/sum_form.h"

namespace tokamak {

class Simplifier {
 public:
  enum class Remainders : uint8_t { Stay, Leave };
  explicit Simplifier(ScalarArena& arena, IntervalAnalysis* given = nullptr, Remainders remainders = Remainders::Stay)
      : arena_(arena),
        remembers_in_nodes_(given == nullptr),
        remainders_(remainders),
        analysis_(given != nullptr ? *given : own_analysis_),
        simplified_(analysis_.simplified_[static_cast<size_t>(remainders)]) {}

  Scalar* simplify(Scalar* scalar);

 private:
  Scalar* remembered(Scalar* scalar) const;
  void remember(Scalar* scalar, Scalar* simplified);
  void rememberParts(Scalar* sum, size_t terms);
  Scalar* simplifyOperands(Scalar* scalar);

  // Each gives the same scalar when it has nothing to do, and otherwise one whose weight is not larger.
  Scalar* rewrite(Scalar* scalar);
  Scalar* fold(Scalar* scalar);
  Scalar* collectSum(Scalar* scalar);
  Scalar* orderOperands(Scalar* scalar);
  Scalar* balanceComparison(Scalar* scalar);
  Scalar* applyRules(Scalar* scalar);
  Scalar* splitDividend(Scalar* scalar);
  Scalar* splitRemainder(Scalar* scalar);
  Scalar* multipleAsWritten(Scalar* sum, int64_t unit);
  Scalar* lighterAsWritten(Scalar* sum, int64_t unit, Scalar* multiple);

  bool combineTerms(SumForm& form, Distribution distribution);
  bool combinePair(SumForm& form, size_t i, size_t j, Distribution distribution);
  Scalar* tryRules(ScalarOp op, std::span<Scalar* const> operands, int64_t limit);
  Scalar* raw(ScalarOp op, DataType dtype, Scalar* a, Scalar* b) {
    Scalar* operands[] = {a, b};
    return arena_.rawScalar(op, dtype, operands);
  }

  ScalarArena& arena_;
  bool remembers_in_nodes_;
  Remainders remainders_;
  IntervalAnalysis own_analysis_;
  IntervalAnalysis& analysis_;
  std::unordered_map<Scalar*, Scalar*>& simplified_;  // unless nodes remember
};

Scalar* Simplifier::remembered(Scalar* scalar) const {
  if (remembers_in_nodes_) return scalar->simplified_;
  const auto found = simplified_.find(scalar);
  return found == simplified_.end() ? nullptr : found->second;
}

void Simplifier::remember(Scalar* scalar, Scalar* simplified) {
  if (remembers_in_nodes_)
    scalar->simplified_ = simplified;
  else
    simplified_[scalar] = simplified;
}

Scalar* Simplifier::simplify(Scalar* scalar) {
  if (scalar->operands().empty()) return scalar;
  if (Scalar* known = remembered(scalar)) return known;
  // Weights never grow and there are finitely many scalars of one weight over the same leaves, so a chain ends or
  // returns to itself; its least scalar is then the result for all of them.
  std::vector<Scalar*> chain = {scalar};
  Scalar* result = nullptr;
  while (result == nullptr) {
    Scalar* next = rewrite(simplifyOperands(chain.back()));
    if (next == chain.back())
      result = next;
    else if (next->operands().empty())
      result = next;
    else if (Scalar* known = remembered(next))
      result = known;
    else if (const auto seen = std::ranges::find(chain, next); seen != chain.end()) {
      result = *std::min_element(seen, chain.end(),
                                 [](const Scalar* a, const Scalar* b) { return compareScalars(*a, *b) < 0; });
    } else
      chain.push_back(next);
  }
  for (Scalar* step : chain) remember(step, result);
  return result;
}

// A long sum is not looked at again in each of its beginnings, which would cost the cube of its length.
void Simplifier::rememberParts(Scalar* sum, size_t terms) {
  constexpr size_t kLongSum = 32;
  if (terms <= kLongSum) return;
  for (; (sum->op() == ScalarOp::Add || sum->op() == ScalarOp::Sub) && remembered(sum) == nullptr;
       sum = sum->operand(0)) {
    remember(sum, sum);
  }
}

Scalar* Simplifier::simplifyOperands(Scalar* scalar) {
  Scalar* operands[3] = {};
  bool is_same = true;
  const size_t count = scalar->operands().size();
  for (size_t i = 0; i < count; ++i) {
    operands[i] = simplify(scalar->operand(i));
    is_same = is_same && operands[i] == scalar->operand(i);
  }
  return is_same ? scalar : arena_.rawScalar(scalar->op(), scalar->dtype(), {operands, count}, scalar->function());
}

Scalar* Simplifier::rewrite(Scalar* scalar) {
  using Step = Scalar* (Simplifier::*)(Scalar*);
  constexpr Step kSteps[] = {
      &Simplifier::fold,       &Simplifier::collectSum,    &Simplifier::orderOperands, &Simplifier::balanceComparison,
      &Simplifier::applyRules, &Simplifier::splitDividend, &Simplifier::splitRemainder};
  for (const Step step : kSteps) {
    Scalar* rewritten = (this->*step)(scalar);
    if (rewritten != scalar) return rewritten;
  }
  return scalar;
}

// A value that the constant's type would change (f32 arithmetic is evaluated in double) stays an expression.
Scalar* Simplifier::fold(Scalar* scalar) {
  const auto isConstant = [](const Scalar* operand) { return operand->isConstant(); };
  if (scalar->op() == ScalarOp::Function || !std::ranges::all_of(scalar->operands(), isConstant)) return scalar;
  const auto isFloat = [](const Scalar* operand) { return std::holds_alternative<double>(operand->value()); };
  const bool is_binary_integer = scalar->operands().size() == 2 && std::ranges::none_of(scalar->operands(), isFloat);
  const auto value = is_binary_integer ? applyChecked(scalar->op(), asInt(scalar->operand(0)->value()),
                                                      asInt(scalar->operand(1)->value()))
                                       : evaluate(*scalar, {});
  return value && convertValue(*value, scalar->dtype()) == *value ? arena_.constant(*value, scalar->dtype()) : scalar;
}

namespace {

bool isComparison(ScalarOp op) {
  return op == ScalarOp::Equal || op == ScalarOp::NotEqual || op == ScalarOp::Less || op == ScalarOp::LessEqual;
}

bool isSum(const Scalar* scalar) { return scalar->op() == ScalarOp::Add || scalar->op() == ScalarOp::Sub; }

// Something that multiplying constants out would change.
bool hasSumFactor(const SumForm& form) {
  return std::ranges::any_of(form.terms, [](const SumTerm& term) { return std::ranges::any_of(term.factors, isSum); });
}

// Something that a rule about two terms of a sum can be about.
bool hasRuleFactor(const SumTerm& term) {
  return std::ranges::any_of(term.factors, [](const Scalar* factor) {
    return factor->op() == ScalarOp::FloorDiv || factor->op() == ScalarOp::Mod || factor->op() == ScalarOp::Min;
  });
}

}  // namespace

Scalar* Simplifier::collectSum(Scalar* scalar) {
  if (!isSumOrProduct(scalar->op()) || !isIndexArithmetic(*scalar)) return scalar;
  Scalar* best = nullptr;
  size_t term_count = 0;
  const auto offer = [&](Scalar* candidate) {
    if (best == nullptr || candidate->weight() < best->weight()) best = candidate;
  };
  for (const Distribution distribution : {Distribution::None, Distribution::Constants}) {
    auto form = SumForm::of(scalar, distribution);
    if (!form) return scalar;
    while (combineTerms(*form, distribution)) {
    }
    term_count = std::max(term_count, form->terms.size());
    offer(form->build(arena_));
    const int64_t content = form->content();
    if (content > 1 && form->terms.size() + static_cast<size_t>(form->constant != 0) > 1) {
      offer(raw(ScalarOp::Mul, DataType::I64, form->dividedBy(content).build(arena_), arena_.constant(content)));
    }
    if (!hasSumFactor(*form)) break;
  }
  if (best->weight() > scalar->weight()) return scalar;
  rememberParts(best, term_count);
  return best;
}

bool Simplifier::combineTerms(SumForm& form, Distribution distribution) {
  if (form.terms.size() < 2 || scalarRulesFor(ScalarOp::Add).empty()) return false;
  for (size_t i = 0; i < form.terms.size(); ++i) {
    if (!hasRuleFactor(form.terms[i])) continue;
    for (size_t j = 0; j < form.terms.size(); ++j) {
      if (i != j && combinePair(form, std::min(i, j), std::max(i, j), distribution)) return true;
    }
  }
  return false;
}

bool Simplifier::combinePair(SumForm& form, size_t i, size_t j, Distribution distribution) {
  Scalar* terms[] = {buildTerm(arena_, form.terms[i]), buildTerm(arena_, form.terms[j])};
  Scalar* combined = tryRules(ScalarOp::Add, terms, terms[0]->weight() + terms[1]->weight());
  if (combined == nullptr) return false;
  SumForm rest = form;
  rest.terms.erase(rest.terms.begin() + static_cast<std::ptrdiff_t>(j));
  rest.terms.erase(rest.terms.begin() + static_cast<std::ptrdiff_t>(i));
  const auto made = SumForm::of(combined, distribution);
  const auto sum = made ? rest.plus(*made, 1) : std::nullopt;
  if (!sum) return false;
  form = *sum;
  return true;
}

Scalar* Simplifier::orderOperands(Scalar* scalar) {
  if (!isCommutative(scalar->op()) || isSumOrProduct(scalar->op())) return scalar;
  Scalar* a = scalar->operand(0);
  Scalar* b = scalar->operand(1);
  const bool can_exchange = !isFloatingType(a->dtype()) && !isFloatingType(b->dtype());
  return can_exchange && compareScalars(*b, *a) < 0 ? raw(scalar->op(), scalar->dtype(), b, a) : scalar;
}

// Terms that stand on both sides cancel: a + 3 < b + 3 + c is a < b + c.
Scalar* Simplifier::balanceComparison(Scalar* scalar) {
  if (!isComparison(scalar->op()) || scalar->operand(0)->dtype() != DataType::I64 ||
      scalar->operand(1)->dtype() != DataType::I64)
    return scalar;
  const auto left = SumForm::of(scalar->operand(0), Distribution::Constants);
  const auto right = SumForm::of(scalar->operand(1), Distribution::Constants);
  const auto difference = left && right ? left->plus(*right, -1) : std::nullopt;
  if (!difference) return scalar;
  SumForm more, less;
  for (const SumTerm& term : difference->terms) {
    if (term.coefficient == std::numeric_limits<int64_t>::min()) return scalar;
    if (term.coefficient > 0)
      more.terms.push_back(term);
    else
      less.terms.push_back({-term.coefficient, term.factors});
  }
  if (difference->constant == std::numeric_limits<int64_t>::min()) return scalar;
  const bool constant_moves = less.terms.empty() || (difference->constant < 0 && !more.terms.empty());
  if (constant_moves)
    less.constant = -difference->constant;
  else
    more.constant = difference->constant;
  Scalar* balanced = raw(scalar->op(), DataType::Bool, more.build(arena_), less.build(arena_));
  return balanced->weight() < scalar->weight() ? balanced : scalar;
}

Scalar* Simplifier::tryRules(ScalarOp op, std::span<Scalar* const> operands, int64_t limit) {
  const ScalarMaker make = [this](ScalarOp made_op, DataType dtype, std::span<Scalar* const> made_operands) {
    return simplify(arena_.rawScalar(made_op, dtype, made_operands));
  };
  for (const ScalarRule* rule : scalarRulesFor(op)) {
    Scalar* result = applyRule(*rule, arena_, operands, analysis_, make);
    if (result != nullptr && result->weight() < limit) return result;
  }
  return nullptr;
}

Scalar* Simplifier::applyRules(Scalar* scalar) {
  if (isSumOrProduct(scalar->op()) || scalar->op() == ScalarOp::Cast || scalar->op() == ScalarOp::Function)
    return scalar;
  Scalar* result = tryRules(scalar->op(), scalar->operands(), scalar->weight());
  return result != nullptr && result->dtype() == scalar->dtype() ? result : scalar;
}

// The multiples of the divisor among a dividend's terms are put together, for the rules about (a * b + c) / b.
Scalar* Simplifier::splitDividend(Scalar* scalar) {
  const bool divides =
      scalar->op() == ScalarOp::FloorDiv || scalar->op() == ScalarOp::CeilDiv || scalar->op() == ScalarOp::Mod;
  if (!divides || !isIndexArithmetic(*scalar) || !isSum(scalar->operand(0))) return scalar;
  Scalar* divisor = scalar->operand(1);
  auto form = SumForm::of(scalar->operand(0), Distribution::Constants);
  if (!form) return scalar;
  const int64_t constant = divisor->constantInt().value_or(0);
  SumForm quotient, rest;
  for (SumTerm& term : form->terms) {
    const auto found = std::ranges::find(term.factors, divisor);
    if (constant > 0 && term.coefficient % constant == 0)
      quotient.terms.push_back({term.coefficient / constant, term.factors});
    else if (found == term.factors.end())
      rest.terms.push_back(term);
    else if (term.factors.size() == 1)
      quotient.constant = term.coefficient;
    else {
      term.factors.erase(found);
      quotient.terms.push_back(term);
    }
  }
  if (constant > 0 && form->constant % constant == 0)
    quotient.constant = form->constant / constant;
  else
    rest.constant = form->constant;
  if (quotient.terms.empty() && quotient.constant == 0) return scalar;
  std::ranges::sort(quotient.terms, [](const SumTerm& a, const SumTerm& b) {
    return std::ranges::lexicographical_compare(a.factors, b.factors,
                                                [](Scalar* x, Scalar* y) { return compareScalars(*x, *y) < 0; });
  });
  Scalar* whole = quotient.build(arena_);
  if (constant > 1) whole = lighterAsWritten(scalar->operand(0), constant, whole);
  Scalar* multiple = raw(ScalarOp::Mul, DataType::I64, whole, divisor);
  Scalar* dividend = rest.isConstant() && rest.constant == 0
                         ? multiple
                         : raw(ScalarOp::Add, DataType::I64, multiple, rest.build(arena_));
  Scalar* operands[] = {dividend, divisor};
  // Of two forms of the same weight the sum is better: more can cancel there, as in (a * 64 + b) / 8 * 8 + b % 8.
  Scalar* result = tryRules(scalar->op(), operands, scalar->weight() + 1);
  return result != nullptr ? result : scalar;
}

namespace {

// The sum as multiple * unit + rest, if there are terms of both kinds; the constant is divided.
struct UnitParts {
  SumForm multiple;
  SumForm rest;
};

std::optional<UnitParts> partsOf(const SumForm& form, int64_t unit) {
  UnitParts parts;
  for (const SumTerm& term : form.terms) {
    if (term.coefficient % unit == 0)
      parts.multiple.terms.push_back({term.coefficient / unit, term.factors});
    else
      parts.rest.terms.push_back(term);
  }
  parts.rest.constant = ((form.constant % unit) + unit) % unit;
  parts.multiple.constant = form.constant / unit - (form.constant % unit < 0 ? 1 : 0);
  if (parts.multiple.terms.empty() || parts.rest.terms.empty()) return std::nullopt;
  return parts;
}

}  // namespace

// (a + b) * 8 + c is a + b times 8, and c: what is written with fewer constants than the sum of all terms is. Null when
// it is not written so.
Scalar* Simplifier::multipleAsWritten(Scalar* sum, int64_t unit) {
  if (sum->op() == ScalarOp::Mul) {
    const int64_t factor = sum->operand(1)->constantInt().value_or(0);
    if (factor <= 0 || factor % unit != 0) return nullptr;
    if (factor == unit) return sum->operand(0);
    return raw(ScalarOp::Mul, DataType::I64, sum->operand(0), arena_.constant(factor / unit));
  }
  if (sum->op() != ScalarOp::Add) return nullptr;
  Scalar* a = multipleAsWritten(sum->operand(0), unit);
  Scalar* b = multipleAsWritten(sum->operand(1), unit);
  if (a == nullptr || b == nullptr) return a == nullptr ? b : a;
  return raw(ScalarOp::Add, DataType::I64, a, b);
}

// `multiple`, canonical, or what is written in the sum as that times the unit, if it is lighter.
Scalar* Simplifier::lighterAsWritten(Scalar* sum, int64_t unit, Scalar* multiple) {
  Scalar* written = multipleAsWritten(sum, unit);
  if (written == nullptr || written->weight() >= multiple->weight()) return multiple;
  const auto form = SumForm::of(written, Distribution::Constants);
  return form && compareScalars(*form->build(arena_), *multiple) == 0 ? written : multiple;
}

// With 0 <= r < g: (a * g + r) / (b * g) is a / b, (a * g + r) % (b * g) is a % b * g + r, and a * g + r < 0 is a < 0.
Scalar* Simplifier::splitRemainder(Scalar* scalar) {
  if (remainders_ == Remainders::Stay) return scalar;
  const bool divides = scalar->op() == ScalarOp::FloorDiv || scalar->op() == ScalarOp::Mod;
  const bool compares = (scalar->op() == ScalarOp::Less || scalar->op() == ScalarOp::LessEqual) &&
                        scalar->operand(0)->dtype() == DataType::I64 && scalar->operand(1)->dtype() == DataType::I64;
  if ((!divides || !isIndexArithmetic(*scalar)) && !compares) return scalar;
  const int64_t divisor = divides ? scalar->operand(1)->constantInt().value_or(0) : 0;
  if (divides && divisor <= 1) return scalar;
  auto form = SumForm::of(scalar->operand(0), Distribution::Constants);
  if (compares) {
    const auto right = SumForm::of(scalar->operand(1), Distribution::Constants);
    const bool is_less = scalar->op() == ScalarOp::Less;
    if (form && right) form = is_less ? form->plus(*right, -1) : right->plus(*form, -1);
    if (!right) return scalar;
  }
  if (!form || form->terms.size() < 2) return scalar;
  std::vector<int64_t> units;
  for (const SumTerm& term : form->terms) {
    if (term.coefficient == std::numeric_limits<int64_t>::min()) return scalar;
    const int64_t size = term.coefficient < 0 ? -term.coefficient : term.coefficient;
    units.push_back(divides ? std::gcd(size, divisor) : size);
  }
  std::ranges::sort(units, std::greater{});
  units.erase(std::unique(units.begin(), units.end()), units.end());
  for (const int64_t unit : units) {
    if (unit <= 1) break;
    const auto parts = partsOf(*form, unit);
    if (!parts) continue;
    Scalar* rest = parts->rest.build(arena_);
    const Interval interval = analysis_.of(*rest);
    if (interval.lower < 0 || interval.upper >= unit) continue;
    Scalar* multiple = parts->multiple.build(arena_);
    if (divides) multiple = lighterAsWritten(scalar->operand(0), unit, multiple);
    Scalar* zero = arena_.constant(0);
    Scalar* result = nullptr;
    if (scalar->op() == ScalarOp::Less) {
      result = raw(ScalarOp::Less, DataType::Bool, multiple, zero);
    } else if (compares) {
      result = raw(ScalarOp::LessEqual, DataType::Bool, zero, multiple);
    } else {
      result = raw(scalar->op(), DataType::I64, multiple, arena_.constant(divisor / unit));
      if (scalar->op() == ScalarOp::Mod) {
        result = raw(ScalarOp::Mul, DataType::I64, result, arena_.constant(unit));
        result = raw(ScalarOp::Add, DataType::I64, result, rest);
      }
    }
    result = simplifyOperands(result);
    if (result->weight() <= scalar->weight()) return result;
  }
  return scalar;
}

Scalar* simplify(Scalar* scalar) { return Simplifier(scalar->arena()).simplify(scalar); }

Scalar* simplify(Scalar* scalar, IntervalAnalysis& analysis) {
  return Simplifier(scalar->arena(), &analysis).simplify(scalar);
}

Scalar* simplifyRemainders(Scalar* scalar, IntervalAnalysis& analysis) {
  return Simplifier(scalar->arena(), &analysis, Simplifier::Remainders::Leave).simplify(scalar);
}

}  // namespace tokamak
