#include "symbolic/interval_analysis.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace tokamak {

namespace {

// How many replacements are tried on one sum, in a row and in all. Enough for the index of a tensor of rank 4.
constexpr int kMostReplacements = 5;
constexpr int kBudget = 96;

// state without term `term`, plus coefficient * factors * form.
template <class State>
std::optional<State> replaceTerm(const State& state, size_t term, int64_t coefficient, std::vector<Scalar*> factors,
                                 const SumForm& form) {
  const SumForm scale{{{coefficient, std::move(factors)}}, 0};
  const auto added = scale.terms.front().factors.empty() ? SumForm{}.plus(form, coefficient) : scale.times(form);
  if (!added) return std::nullopt;
  SumForm rest = state.form;
  rest.terms.erase(rest.terms.begin() + static_cast<std::ptrdiff_t>(term));
  auto replaced = rest.plus(*added, 1);
  if (!replaced) return std::nullopt;
  return State{std::move(*replaced), state.slack, nullptr};
}

// The least common multiple of the divisors in the sum that do not divide their coefficients; 1 when it is large.
int64_t divisorsOf(const SumForm& form) {
  constexpr int64_t kLarge = 1 << 20;
  int64_t common = 1;
  for (const SumTerm& term : form.terms) {
    for (const Scalar* factor : term.factors) {
      const bool divides = factor->op() == ScalarOp::FloorDiv || factor->op() == ScalarOp::CeilDiv;
      const int64_t divisor = divides ? factor->operand(1)->constantInt().value_or(0) : 0;
      if (divisor <= 0 || divisor > kLarge || term.coefficient % divisor == 0) continue;
      common = std::lcm(common, divisor);
      if (common > kLarge) return 1;
    }
  }
  return common;
}

std::vector<Scalar*> without(std::vector<Scalar*> factors, size_t position) {
  factors.erase(factors.begin() + static_cast<std::ptrdiff_t>(position));
  return factors;
}

}  // namespace

Scalar* IntervalAnalysis::extentOf(const Scalar& index) const {
  const auto& extents = sample_points_.assumptions().extents;
  const auto found = extents.find(&index);
  return found == extents.end() ? nullptr : found->second;
}

void IntervalAnalysis::assume(const Scalar& scalar, const Interval& interval) {
  sample_points_.assume(scalar, interval);
  for (auto& simplified : simplified_) simplified.clear();
}

void IntervalAnalysis::assumeIndex(const Scalar& index, Scalar& extent) {
  sample_points_.assumeIndex(index, extent);
  assume(index, Interval::atLeast(0));
  if (const auto size = extent.constantInt(); size && *size > 0) assume(index, Interval::between(0, *size - 1));
}

void IntervalAnalysis::assumeExtent(const Scalar& extent) {
  assume(extent, Interval::atLeast(0));
  // i0 - 2 >= 0 says more of i0 than that i0 >= 0.
  const bool is_less = extent.op() == ScalarOp::Sub && extent.operand(0)->isSymbol();
  const auto less = is_less ? extent.operand(1)->constantInt() : std::nullopt;
  if (less && *less > 0) assume(*extent.operand(0), Interval::atLeast(*less));
}

Interval IntervalAnalysis::of(Scalar& scalar) {
  if (const auto found = known_.find(&scalar); found != known_.end()) return found->second;
  Interval interval = compute(scalar);
  const auto& assumed = sample_points_.assumptions().intervals;
  if (const auto found = assumed.find(&scalar); found != assumed.end()) interval = meet(found->second, interval);
  known_.emplace(&scalar, interval);
  return interval;
}

Interval IntervalAnalysis::compute(Scalar& scalar) {
  const Interval type = Interval::ofType(scalar.dtype());
  if (isFloatingType(scalar.dtype())) return type;
  const auto isFloating = [](const Scalar* operand) { return isFloatingType(operand->dtype()); };
  switch (scalar.op()) {
    case ScalarOp::Constant: return Interval::exactly(asInt(scalar.value()));
    case ScalarOp::Symbol:
      if (Scalar* extent = extentOf(scalar)) {
        const int64_t size = of(*extent).upper;
        return size > 0 ? Interval::between(0, size - 1) : type;
      }
      return type;
    case ScalarOp::Function: return type;
    case ScalarOp::Cast: {
      if (std::ranges::any_of(scalar.operands(), isFloating)) return type;
      const Interval operand = of(*scalar.operand(0));
      if (scalar.dtype() == DataType::Bool) return apply(ScalarOp::NotEqual, operand, Interval::exactly(0));
      const Interval narrow =
          Interval::between(std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
      const bool fits = operand.lower >= narrow.lower && operand.upper <= narrow.upper;
      return scalar.dtype() == DataType::I32 && !fits ? narrow : operand;
    }
    case ScalarOp::Not:
      return isFloating(scalar.operand(0)) ? type
                                           : apply(ScalarOp::Equal, of(*scalar.operand(0)), Interval::exactly(0));
    case ScalarOp::Select: {
      const Interval condition = isFloating(scalar.operand(0)) ? Interval::between(0, 1) : of(*scalar.operand(0));
      if (!condition.contains(0)) return of(*scalar.operand(1));
      if (condition.isExact()) return of(*scalar.operand(2));
      return join(of(*scalar.operand(1)), of(*scalar.operand(2)));
    }
    default: break;
  }
  if (std::ranges::any_of(scalar.operands(), isFloating)) return type;
  if (isSumOrProduct(scalar.op()) && isIndexArithmetic(scalar)) {
    if (const auto form = SumForm::of(&scalar, Distribution::All)) return ofForm(*form);
  }
  const bool divides =
      scalar.op() == ScalarOp::FloorDiv || scalar.op() == ScalarOp::CeilDiv || scalar.op() == ScalarOp::Mod;
  if (divides && isIndexArithmetic(scalar)) return ofDivision(scalar);
  return apply(scalar.op(), of(*scalar.operand(0)), of(*scalar.operand(1)));
}

// A dividend that is smaller than the divisor, although neither is a constant.
Interval IntervalAnalysis::ofDivision(Scalar& scalar) {
  Scalar& dividend = *scalar.operand(0);
  Scalar& divisor = *scalar.operand(1);
  const Interval have = of(dividend);
  const Interval interval = apply(scalar.op(), have, of(divisor));
  if (divisor.isConstant() || have.lower < 0) return interval;
  if (scalar.op() == ScalarOp::CeilDiv) {
    return have.lower > 0 && isProvablyLessOrEqual(dividend, divisor) ? Interval::exactly(1) : interval;
  }
  if (!isProvablyLess(dividend, divisor)) return interval;
  return scalar.op() == ScalarOp::Mod ? have : Interval::exactly(0);
}

std::optional<IntervalAnalysis::Reached> IntervalAnalysis::reachedBy(const SumForm& form) {
  SamplePoints::Values sum;
  sum.known = (1U << SamplePoints::kPoints) - 1;
  sum.at.fill(form.constant);
  for (const SumTerm& term : form.terms) {
    std::array<int64_t, SamplePoints::kPoints> products;
    products.fill(term.coefficient);
    for (const Scalar* factor : term.factors) {
      const SamplePoints::Values values = sample_points_.of(*factor);
      sum.known &= values.known;
      for (size_t i = 0; i < products.size(); ++i) {
        if (__builtin_mul_overflow(products[i], values.at[i], &products[i])) return std::nullopt;
      }
    }
    for (size_t i = 0; i < products.size(); ++i) {
      if (__builtin_add_overflow(sum.at[i], products[i], &sum.at[i])) return std::nullopt;
    }
  }
  std::optional<Reached> reached;
  for (size_t i = 0; i < sum.at.size(); ++i) {
    if (!sum.has(i)) continue;
    if (!reached) reached = {sum.at[i], sum.at[i], 0};
    int64_t distance = 0;
    if (__builtin_sub_overflow(sum.at[i], reached->lower, &distance) || distance == std::numeric_limits<int64_t>::min())
      return std::nullopt;
    reached->divisor = std::gcd(reached->divisor, distance);
    reached->lower = std::min(reached->lower, sum.at[i]);
    reached->upper = std::max(reached->upper, sum.at[i]);
  }
  return reached;
}

Interval IntervalAnalysis::ofForm(const SumForm& form, int64_t enough_lower) {
  const std::optional<Reached> reached = reachedBy(form);
  Search search{kBudget, enough_lower};
  const Interval direct = refine({form, {}, reached ? &*reached : nullptr}, kMostReplacements, search);
  if (direct.lower >= enough_lower || (reached && reached->isAllOf(direct))) return direct;
  // x / 4 alone says little of x, 4 * (x / 4) much: i / 4 < ceilDiv(n, 4) follows from i < n on a sum four times as
  // large.
  const int64_t scale = divisorsOf(form);
  const auto scaled = scale > 1 ? SumForm{}.plus(form, scale) : std::nullopt;
  if (!scaled) return direct;
  search = {kBudget};
  const Interval large = refine({*scaled, {}}, kMostReplacements, search);
  // Near the ends of 64 bits stand bounds that were clamped, which say nothing once divided.
  constexpr int64_t kTrusted = int64_t{1} << 62;
  Interval divided;
  if (large.lower >= -kTrusted) divided.lower = asInt(*applyChecked(ScalarOp::CeilDiv, large.lower, scale));
  if (large.upper <= kTrusted) divided.upper = asInt(*applyChecked(ScalarOp::FloorDiv, large.upper, scale));
  return meet(direct, divided);
}

Interval IntervalAnalysis::plainTotal(const State& state) {
  IntervalSum sum = state.slack;
  sum.add(state.form.constant);
  for (const SumTerm& term : state.form.terms) {
    std::vector<Interval> factors;
    for (Scalar* factor : term.factors) factors.push_back(of(*factor));
    sum.addProduct(term.coefficient, factors);
  }
  return sum.total();
}

Interval IntervalAnalysis::refine(const State& state, int depth, Search& search) {
  Interval best = plainTotal(state);
  const auto isEnough = [&] {
    return search.budget <= 0 || best.lower >= search.enough_lower ||
           (state.reached != nullptr && state.reached->isAllOf(best));
  };
  for (size_t term = 0; term < state.form.terms.size() && depth > 0; ++term) {
    for (size_t factor = 0; factor < state.form.terms[term].factors.size(); ++factor) {
      if (isEnough()) return best;
      best = meet(best, refineFactor(state, term, factor, depth - 1, search));
    }
  }
  return best;
}

Interval IntervalAnalysis::refineFactor(const State& state, size_t term, size_t factor, int depth, Search& search) {
  const Scalar& scalar = *state.form.terms[term].factors[factor];
  if (scalar.isSymbol())
    return extentOf(scalar) != nullptr ? withoutIndex(state, term, factor, depth, search) : Interval::all();
  if (!isIndexArithmetic(scalar)) return Interval::all();
  switch (scalar.op()) {
    case ScalarOp::FloorDiv:
    case ScalarOp::CeilDiv: return withoutDivision(state, term, factor, depth, search);
    case ScalarOp::Min:
    case ScalarOp::Max: return withoutChoice(state, term, factor, depth, search);
    default: return Interval::all();
  }
}

// y * (x / y) is x - m and y * ceilDiv(x, y) is x + m, with 0 <= m < y.
Interval IntervalAnalysis::withoutDivision(const State& state, size_t term, size_t factor, int depth, Search& search) {
  const SumTerm& from = state.form.terms[term];
  const Scalar& division = *from.factors[factor];
  Scalar* divisor = division.operand(1);
  int64_t coefficient = from.coefficient;
  std::vector<Scalar*> rest = without(from.factors, factor);
  if (const auto constant = divisor->constantInt()) {
    if (*constant <= 0 || coefficient % *constant != 0) return Interval::all();
    coefficient /= *constant;
  } else {
    const auto found = std::ranges::find(rest, divisor);
    if (found == rest.end()) return Interval::all();
    rest.erase(found);
  }
  const int64_t largest = of(*divisor).upper;
  const auto dividend = SumForm::of(division.operand(0), Distribution::All);
  if (!dividend || largest < 1) return Interval::all();
  auto replaced = replaceTerm(state, term, coefficient, rest, *dividend);
  if (!replaced) return Interval::all();
  --search.budget;
  std::vector<Interval> factors = {division.op() == ScalarOp::CeilDiv ? Interval::between(0, largest - 1)
                                                                      : Interval::between(1 - largest, 0)};
  for (Scalar* other : rest) factors.push_back(of(*other));
  replaced->slack.addProduct(coefficient, factors);
  replaced->reached = state.reached;
  return refine(*replaced, depth, search);
}

Interval IntervalAnalysis::productOf(const SumTerm& term) {
  IntervalSum product;
  std::vector<Interval> factors;
  for (Scalar* factor : term.factors) factors.push_back(of(*factor));
  product.addProduct(term.coefficient, factors);
  return product.total();
}

// A sum with a * min(x, y) is the smaller of the sums with a * x and a * y when a >= 0, the larger when a <= 0.
Interval IntervalAnalysis::withoutChoice(const State& state, size_t term, size_t factor, int depth, Search& search) {
  const SumTerm& from = state.form.terms[term];
  const Scalar& choice = *from.factors[factor];
  const std::vector<Scalar*> rest = without(from.factors, factor);
  const Interval scale = productOf({from.coefficient, rest});
  if (scale.lower < 0 && scale.upper > 0) return Interval::all();
  Interval sums[2];
  for (size_t i = 0; i < 2; ++i) {
    const auto chosen = SumForm::of(choice.operand(i), Distribution::All);
    if (!chosen) return Interval::all();
    const auto replaced = replaceTerm(state, term, from.coefficient, rest, *chosen);
    if (!replaced) return Interval::all();
    --search.budget;
    sums[i] = refine(*replaced, depth, search);
  }
  const bool takes_smaller = (choice.op() == ScalarOp::Min) == (scale.lower >= 0);
  return apply(takes_smaller ? ScalarOp::Min : ScalarOp::Max, sums[0], sums[1]);
}

// A sum with a * i, 0 <= i < n, lies between those with 0 and with a * (n - 1) when the sign of a is known.
Interval IntervalAnalysis::withoutIndex(const State& state, size_t term, size_t factor, int depth, Search& search) {
  const SumTerm& from = state.form.terms[term];
  const std::vector<Scalar*> rest = without(from.factors, factor);
  const Interval scale = productOf({from.coefficient, rest});
  if (scale.lower < 0 && scale.upper > 0) return Interval::all();
  auto last = SumForm::of(extentOf(*from.factors[factor]), Distribution::All);
  if (last) last = last->plus({{}, 1}, -1);
  if (!last) return Interval::all();
  const auto first_state = replaceTerm(state, term, from.coefficient, rest, SumForm{});
  const auto last_state = replaceTerm(state, term, from.coefficient, rest, *last);
  if (!first_state || !last_state) return Interval::all();
  search.budget -= 2;
  const Interval at_first = refine(*first_state, depth, search);
  const Interval at_last = refine(*last_state, depth, search);
  const bool grows = scale.lower >= 0;
  return Interval::between((grows ? at_first : at_last).lower, (grows ? at_last : at_first).upper);
}

Interval IntervalAnalysis::differenceOf(Scalar& a, Scalar& b, int64_t enough_lower) {
  if (a.dtype() != DataType::I64 || b.dtype() != DataType::I64) return Interval::all();
  IntervalSum sum;
  const Interval minus_one = Interval::exactly(-1);
  const Interval left = of(a);
  const Interval right[] = {of(b), minus_one};
  sum.addProduct(1, {&left, 1});
  sum.addProduct(1, right);
  const Interval total = sum.total();
  if (total.lower >= enough_lower) return total;
  const auto x = SumForm::of(&a, Distribution::All);
  const auto y = SumForm::of(&b, Distribution::All);
  const auto difference = x && y ? x->plus(*y, -1) : std::nullopt;
  return difference ? meet(total, ofForm(*difference, enough_lower)) : total;
}

// Whether it does not hold at some point that meets the assumptions: then there is no proof to look for.
template <class Holds>
bool IntervalAnalysis::isRefuted(const Scalar& a, const Scalar& b, const Holds& holds) {
  const SamplePoints::Values x = sample_points_.of(a);
  const SamplePoints::Values y = sample_points_.of(b);
  for (size_t i = 0; i < SamplePoints::kPoints; ++i) {
    if (x.has(i) && y.has(i) && !holds(x.at[i], y.at[i])) return true;
  }
  return false;
}

bool IntervalAnalysis::isProvablyLess(Scalar& a, Scalar& b) {
  return !isRefuted(a, b, std::less{}) && differenceOf(b, a, 1).lower >= 1;
}

bool IntervalAnalysis::isProvablyLessOrEqual(Scalar& a, Scalar& b) {
  return !isRefuted(a, b, std::less_equal{}) && differenceOf(b, a, 0).lower >= 0;
}

bool IntervalAnalysis::isProvablyEqual(Scalar& a, Scalar& b) {
  if (&a == &b) return true;
  if (isRefuted(a, b, std::equal_to{})) return false;
  const Interval difference = differenceOf(a, b);
  return difference.isExact() && difference.lower == 0;
}

bool IntervalAnalysis::isProvablyDifferent(Scalar& a, Scalar& b) {
  return !isRefuted(a, b, std::not_equal_to{}) && !differenceOf(a, b).contains(0);
}

bool IntervalAnalysis::isProvablyDivisible(Scalar& scalar, Scalar& divisor) {
  if (scalar.dtype() != DataType::I64 || divisor.dtype() != DataType::I64) return false;
  if (isRefuted(scalar, divisor, [](int64_t value, int64_t by) { return by <= 0 || value % by == 0; })) return false;
  if (const auto constant = divisor.constantInt()) return of(scalar).isDivisibleBy(*constant);
  if (of(scalar) == Interval::exactly(0)) return true;
  const auto form = SumForm::of(&scalar, Distribution::All);
  return form && form->constant == 0 && std::ranges::all_of(form->terms, [&](const SumTerm& term) {
           return std::ranges::find(term.factors, &divisor) != term.factors.end();
         });
}

bool IntervalAnalysis::isWithin(Scalar& scalar, int bits) {
  if (isFloatingType(scalar.dtype())) return true;
  const auto [known, is_new] = within_.emplace(std::pair(&scalar, bits), false);
  if (is_new) {
    const bool is_within = isValueWithin(scalar, bits) && std::ranges::all_of(scalar.operands(), [&](Scalar* operand) {
                             return isWithin(*operand, bits);
                           });
    within_[{&scalar, bits}] = is_within;
    return is_within;
  }
  return known->second;
}

bool IntervalAnalysis::isValueWithin(Scalar& scalar, int bits) {
  const int64_t bound = int64_t{1} << (bits - 1);
  const auto contains = [&](int64_t value) { return value >= -bound && value < bound; };
  const SamplePoints::Values values = sample_points_.of(scalar);
  for (size_t i = 0; i < SamplePoints::kPoints; ++i) {
    if (values.has(i) && !contains(values.at[i])) return false;
  }
  // Bounds that are simply added up are mostly enough.
  if (isSumOrProduct(scalar.op()) && isIndexArithmetic(scalar) && !known_.contains(&scalar)) {
    const auto form = SumForm::of(&scalar, Distribution::All);
    const Interval simple = form ? plainTotal({*form, {}}) : Interval::all();
    if (contains(simple.lower) && contains(simple.upper)) return true;
  }
  const Interval interval = of(scalar);
  return contains(interval.lower) && contains(interval.upper);
}

}  // namespace tokamak
