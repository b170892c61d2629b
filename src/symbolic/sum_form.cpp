#include "symbolic/sum_form.h"

#include <algorithm>
#include <numeric>

#include "symbolic/scalar_arena.h"

namespace tokamak {

namespace {

// More than this many terms are not multiplied out.
constexpr size_t kMostTerms = 64;

int compareFactors(const std::vector<Scalar*>& a, const std::vector<Scalar*>& b) {
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (const int c = compareScalars(*a[i], *b[i])) return c;
  }
  return a.size() < b.size() ? -1 : static_cast<int>(b.size() < a.size());
}

SumForm constantForm(int64_t value) { return {{}, value}; }
SumForm factorForm(Scalar* factor) { return {{{1, {factor}}}, 0}; }
bool isMonomial(const SumForm& form) { return form.terms.size() == 1 && form.constant == 0; }

// Adds scale * other's terms; both are sorted.
bool mergeTerms(std::vector<SumTerm>& terms, const std::vector<SumTerm>& others, int64_t scale) {
  std::vector<SumTerm> merged;
  merged.reserve(terms.size() + others.size());
  auto own = terms.begin();
  for (const SumTerm& other : others) {
    while (own != terms.end() && compareFactors(own->factors, other.factors) < 0) merged.push_back(std::move(*own++));
    int64_t coefficient = 0;
    if (__builtin_mul_overflow(other.coefficient, scale, &coefficient)) return false;
    if (own != terms.end() && compareFactors(own->factors, other.factors) == 0) {
      if (__builtin_add_overflow(coefficient, own->coefficient, &coefficient)) return false;
      ++own;
    }
    if (coefficient != 0) merged.push_back({coefficient, other.factors});
  }
  merged.insert(merged.end(), std::make_move_iterator(own), std::make_move_iterator(terms.end()));
  terms = std::move(merged);
  return true;
}

std::optional<SumForm> distributedProduct(Scalar* a, Scalar* b, Distribution distribution) {
  auto x = SumForm::of(a, distribution);
  auto y = SumForm::of(b, distribution);
  if (!x || !y) return std::nullopt;
  const bool signs_only = (x->isConstant() && (x->constant == 1 || x->constant == -1)) ||
                          (y->isConstant() && (y->constant == 1 || y->constant == -1));
  const bool has_constant = x->isConstant() || y->isConstant();
  const bool multiplies =
      distribution == Distribution::All || signs_only || (distribution == Distribution::Constants && has_constant);
  if (!multiplies) {
    if (!x->isConstant() && !isMonomial(*x)) x = factorForm(a);
    if (!y->isConstant() && !isMonomial(*y)) y = factorForm(b);
  }
  return x->times(*y);
}

// The terms of a nest of additions, not yet collected.
struct Collector {
  Distribution distribution;
  SumForm sum;

  bool add(const SumForm& form, int64_t scale) {
    int64_t scaled = 0;
    if (__builtin_mul_overflow(form.constant, scale, &scaled) ||
        __builtin_add_overflow(sum.constant, scaled, &sum.constant)) {
      return false;
    }
    for (const SumTerm& term : form.terms) {
      SumTerm& made = sum.terms.emplace_back(term);
      if (__builtin_mul_overflow(term.coefficient, scale, &made.coefficient)) return false;
    }
    return true;
  }

  bool visit(Scalar* scalar, int64_t scale) {
    const bool is_arithmetic = isIndexArithmetic(*scalar);
    if (const auto value = scalar->constantInt(); value && is_arithmetic) return add(constantForm(*value), scale);
    if (is_arithmetic && (scalar->op() == ScalarOp::Add || scalar->op() == ScalarOp::Sub)) {
      return visit(scalar->operand(0), scale) &&
             visit(scalar->operand(1), scalar->op() == ScalarOp::Add ? scale : -scale);
    }
    if (!is_arithmetic || scalar->op() != ScalarOp::Mul) return add(factorForm(scalar), scale);
    const auto product = distributedProduct(scalar->operand(0), scalar->operand(1), distribution);
    return product && add(*product, scale);
  }

  bool collect() {
    std::ranges::stable_sort(
        sum.terms, [](const SumTerm& a, const SumTerm& b) { return compareFactors(a.factors, b.factors) < 0; });
    std::vector<SumTerm> collected;
    for (SumTerm& term : sum.terms) {
      if (collected.empty() || compareFactors(collected.back().factors, term.factors) != 0) {
        if (!collected.empty() && collected.back().coefficient == 0) collected.pop_back();
        collected.push_back(std::move(term));
      } else if (__builtin_add_overflow(collected.back().coefficient, term.coefficient,
                                        &collected.back().coefficient)) {
        return false;
      }
    }
    if (!collected.empty() && collected.back().coefficient == 0) collected.pop_back();
    sum.terms = std::move(collected);
    return true;
  }
};

}  // namespace

bool isIndexArithmetic(const Scalar& scalar) {
  return scalar.dtype() == DataType::I64 && std::ranges::all_of(scalar.operands(), [](const Scalar* operand) {
           return operand->dtype() == DataType::I64;
         });
}

bool isSumOrProduct(ScalarOp op) { return op == ScalarOp::Add || op == ScalarOp::Sub || op == ScalarOp::Mul; }

std::optional<SumForm> SumForm::of(Scalar* scalar, Distribution distribution) {
  Collector collector{distribution, {}};
  if (!collector.visit(scalar, 1) || !collector.collect()) return std::nullopt;
  return std::move(collector.sum);
}

std::optional<SumForm> SumForm::plus(const SumForm& other, int64_t scale) const {
  SumForm sum = *this;
  int64_t scaled = 0;
  if (__builtin_mul_overflow(other.constant, scale, &scaled) ||
      __builtin_add_overflow(constant, scaled, &sum.constant) || !mergeTerms(sum.terms, other.terms, scale)) {
    return std::nullopt;
  }
  return sum;
}

std::optional<SumForm> SumForm::times(const SumForm& other) const {
  if (other.isConstant()) return SumForm{}.plus(*this, other.constant);
  if (terms.size() * other.terms.size() > kMostTerms) return std::nullopt;
  std::optional<SumForm> product = SumForm{}.plus(other, constant);
  for (const SumTerm& term : terms) {
    for (const SumTerm& by : other.terms) {
      SumTerm made;
      if (__builtin_mul_overflow(term.coefficient, by.coefficient, &made.coefficient)) return std::nullopt;
      std::ranges::merge(term.factors, by.factors, std::back_inserter(made.factors),
                         [](const Scalar* a, const Scalar* b) { return compareScalars(*a, *b) < 0; });
      if (product) product = product->plus({{std::move(made)}, 0}, 1);
    }
    if (product && other.constant != 0) product = product->plus({{term}, 0}, other.constant);
  }
  return product;
}

int64_t SumForm::content() const {
  // The lowest number has no positive one of its size.
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
  const auto divisor = [](int64_t a, int64_t b) { return a == kLowest || b == kLowest ? 1 : std::gcd(a, b); };
  int64_t common = divisor(constant, 0);
  for (const SumTerm& term : terms) common = divisor(common, term.coefficient);
  return common;
}

SumForm SumForm::dividedBy(int64_t divisor) const {
  SumForm quotient = *this;
  for (SumTerm& term : quotient.terms) term.coefficient /= divisor;
  quotient.constant /= divisor;
  return quotient;
}

Scalar* buildTerm(ScalarArena& arena, const SumTerm& term) {
  Scalar* product = term.factors.front();
  const auto multiply = [&](Scalar* factor) {
    Scalar* operands[] = {product, factor};
    product = arena.rawScalar(ScalarOp::Mul, DataType::I64, operands);
  };
  for (size_t i = 1; i < term.factors.size(); ++i) multiply(term.factors[i]);
  if (term.coefficient != 1) multiply(arena.constant(term.coefficient));
  return product;
}

Scalar* SumForm::build(ScalarArena& arena) const {
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
  Scalar* sum = nullptr;
  const auto combine = [&](ScalarOp op, Scalar* part) {
    Scalar* operands[] = {sum, part};
    sum = sum == nullptr ? part : arena.rawScalar(op, DataType::I64, operands);
  };
  const auto isSubtracted = [](int64_t coefficient) { return coefficient < 0 && coefficient != kLowest; };
  for (const SumTerm& term : terms) {
    if (!isSubtracted(term.coefficient)) combine(ScalarOp::Add, buildTerm(arena, term));
  }
  const bool starts_with_constant = sum == nullptr && (constant != 0 || terms.empty());
  if (starts_with_constant) sum = arena.constant(constant);
  for (const SumTerm& term : terms) {
    if (!isSubtracted(term.coefficient)) continue;
    if (sum == nullptr)
      sum = buildTerm(arena, term);
    else
      combine(ScalarOp::Sub, buildTerm(arena, {-term.coefficient, term.factors}));
  }
  if (starts_with_constant || constant == 0) return sum;
  if (isSubtracted(constant))
    combine(ScalarOp::Sub, arena.constant(-constant));
  else
    combine(ScalarOp::Add, arena.constant(constant));
  return sum;
}

}  // namespace tokamak
