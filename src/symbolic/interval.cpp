#include "symbolic/interval.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/require.h"

namespace tokamak {

namespace {

using Wide = __int128;
constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();
// Larger divisors say nothing that is worth having, and moving a bound to its residue class stays a small step.
constexpr int64_t kLargestDivisor = int64_t{1} << 48;

int64_t clamp(Wide value) { return static_cast<int64_t>(std::clamp<Wide>(value, kLowest, kHighest)); }
// Division of 128 bits takes ten times as long as that of 64.
bool isNarrow(Wide value) { return value == static_cast<int64_t>(value); }
// By b >= 1.
Wide floorOf(Wide a, Wide b) {
  if (!isNarrow(a) || !isNarrow(b)) return a / b - static_cast<Wide>(a % b != 0 && a < 0);
  const auto x = static_cast<int64_t>(a);
  const auto y = static_cast<int64_t>(b);
  return x / y - static_cast<int64_t>(x % y != 0 && x < 0);
}
Wide modOf(Wide a, Wide b) { return b == 1 ? 0 : a - floorOf(a, b) * b; }
Wide magnitude(Wide value) { return value < 0 ? -value : value; }

Wide divisorOf(Wide a, Wide b) {
  a = magnitude(a), b = magnitude(b);
  if (a == 1 || b == 1) return 1;
  if (isNarrow(a) && isNarrow(b)) return std::gcd(static_cast<int64_t>(a), static_cast<int64_t>(b));
  while (b != 0) {
    const Wide rest = a % b;
    a = b, b = rest;
  }
  return a;
}

// The integers = remainder mod divisor; divisor 0: the remainder alone.
struct Residue {
  Wide divisor = 1;
  Wide remainder = 0;
};
Residue residueOf(const Interval& x) { return {x.divisor, x.remainder}; }

// Bounds are clamped to 64 bits (no other value is ever computed) and moved inwards to the next member of the residue
// class. A set that turns out empty describes no computation; any answer is right for it.
Interval make(Wide lower, Wide upper, Residue residue) {
  if (residue.divisor > kLargestDivisor) residue = {1, 0};
  if (residue.divisor == 0) {
    const int64_t value = clamp(residue.remainder);
    return Interval::exactly(value);
  }
  residue.remainder = modOf(residue.remainder, residue.divisor);
  lower = std::max<Wide>(lower, kLowest);
  upper = std::min<Wide>(upper, kHighest);
  lower += modOf(residue.remainder - lower, residue.divisor);
  upper -= modOf(upper - residue.remainder, residue.divisor);
  if (lower >= upper) return Interval::exactly(clamp(lower));
  return {static_cast<int64_t>(lower), static_cast<int64_t>(upper), static_cast<int64_t>(residue.divisor),
          static_cast<int64_t>(residue.remainder)};
}

Interval boolean(bool can_be_false, bool can_be_true) { return make(can_be_false ? 0 : 1, can_be_true ? 1 : 0, {}); }

Interval productOf(const Interval& a, const Interval& b) {
  const Wide corners[] = {Wide{a.lower} * b.lower, Wide{a.lower} * b.upper, Wide{a.upper} * b.lower,
                          Wide{a.upper} * b.upper};
  const auto [lower, upper] = std::ranges::minmax(corners);
  // (d1 x + r1) (d2 y + r2): every term but r1 r2 is a multiple of the divisor below.
  const Wide divisor =
      divisorOf(divisorOf(Wide{a.divisor} * b.divisor, Wide{a.divisor} * b.remainder), Wide{b.divisor} * a.remainder);
  return make(lower, upper, {divisor, Wide{a.remainder} * b.remainder});
}

// Division by every divisor in [first, last] with last >= first >= 1; `up` rounds towards plus infinity.
Interval quotientOf(ScalarOp op, const Interval& a, int64_t first, int64_t last) {
  const bool up = op == ScalarOp::CeilDiv;
  const auto quotient = [&](Wide x, Wide y) { return floorOf(x, y) + static_cast<Wide>(up && modOf(x, y) != 0); };
  const Wide corners[] = {quotient(a.lower, first), quotient(a.lower, last), quotient(a.upper, first),
                          quotient(a.upper, last)};
  const auto [lower, upper] = std::ranges::minmax(corners);
  Residue residue;
  if (first == last && a.divisor % first == 0) residue = {a.divisor / first, quotient(a.remainder, first)};
  return make(lower, upper, residue);
}

Interval remainderOf(const Interval& a, int64_t first, int64_t last) {
  if (a.lower >= 0 && a.upper < first) return a;
  if (first != last) return make(0, a.lower >= 0 ? std::min<Wide>(a.upper, Wide{last} - 1) : Wide{last} - 1, {});
  const Residue residue = {divisorOf(a.divisor, first), a.remainder};
  const Wide period = floorOf(a.lower, first);
  if (period == floorOf(a.upper, first)) return make(a.lower - period * first, a.upper - period * first, residue);
  return make(0, Wide{first} - 1, residue);
}

Interval divideOrModulo(ScalarOp op, const Interval& a, const Interval& b) {
  if (b.upper < 1) return Interval::all();
  const int64_t first = std::max<int64_t>(b.lower, 1);
  return op == ScalarOp::Mod ? remainderOf(a, first, b.upper) : quotientOf(op, a, first, b.upper);
}

Residue joinResidues(const Residue& a, const Residue& b) {
  const Wide divisor = divisorOf(divisorOf(a.divisor, b.divisor), a.remainder - b.remainder);
  return {divisor, divisor == 0 ? a.remainder : modOf(a.remainder, divisor)};
}

Interval smallerOf(const Interval& a, const Interval& b) {
  if (a.upper <= b.lower) return a;
  if (b.upper <= a.lower) return b;
  return make(std::min(a.lower, b.lower), std::min(a.upper, b.upper), joinResidues(residueOf(a), residueOf(b)));
}

Interval largerOf(const Interval& a, const Interval& b) {
  if (a.lower >= b.upper) return a;
  if (b.lower >= a.upper) return b;
  return make(std::max(a.lower, b.lower), std::max(a.upper, b.upper), joinResidues(residueOf(a), residueOf(b)));
}

bool isDisjoint(const Interval& a, const Interval& b) {
  if (a.upper < b.lower || b.upper < a.lower) return true;
  const Wide divisor = divisorOf(a.divisor, b.divisor);
  return divisor > 1 && modOf(Wide{a.remainder} - b.remainder, divisor) != 0;
}

}  // namespace

Interval Interval::between(int64_t lower, int64_t upper) { return make(lower, upper, {}); }
Interval Interval::multipleOf(int64_t divisor) { return make(kLowest, kHighest, {divisor, 0}); }

Interval Interval::ofType(DataType dtype) { return dtype == DataType::Bool ? between(0, 1) : all(); }

bool Interval::contains(int64_t value) const {
  return value >= lower && value <= upper &&
         (divisor == 0 ? value == remainder : modOf(Wide{value} - remainder, divisor) == 0);
}

bool Interval::isDivisibleBy(int64_t value) const {
  return value > 0 && remainder % value == 0 && divisor % value == 0;
}

Interval apply(ScalarOp op, const Interval& a, const Interval& b) {
  const bool both_exact = a.isExact() && b.isExact();
  const auto truth = [](const Interval& x) { return boolean(x.contains(0), !(x.isExact() && x.lower == 0)); };
  switch (op) {
    case ScalarOp::Add:
      return make(Wide{a.lower} + b.lower, Wide{a.upper} + b.upper,
                  {divisorOf(a.divisor, b.divisor), Wide{a.remainder} + b.remainder});
    case ScalarOp::Sub:
      return make(Wide{a.lower} - b.upper, Wide{a.upper} - b.lower,
                  {divisorOf(a.divisor, b.divisor), Wide{a.remainder} - b.remainder});
    case ScalarOp::Mul: return productOf(a, b);
    case ScalarOp::FloorDiv:
    case ScalarOp::CeilDiv:
    case ScalarOp::Mod: return divideOrModulo(op, a, b);
    case ScalarOp::Min: return smallerOf(a, b);
    case ScalarOp::Max: return largerOf(a, b);
    case ScalarOp::Equal: return boolean(!(both_exact && a.lower == b.lower), !isDisjoint(a, b));
    case ScalarOp::NotEqual: return boolean(!isDisjoint(a, b), !(both_exact && a.lower == b.lower));
    case ScalarOp::Less: return boolean(a.upper >= b.lower, a.lower < b.upper);
    case ScalarOp::LessEqual: return boolean(a.upper > b.lower, a.lower <= b.upper);
    case ScalarOp::And: {
      const Interval x = truth(a), y = truth(b);
      return boolean(x.lower == 0 || y.lower == 0, x.upper == 1 && y.upper == 1);
    }
    case ScalarOp::Or: {
      const Interval x = truth(a), y = truth(b);
      return boolean(x.lower == 0 && y.lower == 0, x.upper == 1 || y.upper == 1);
    }
    default: TK_RAISE(Internal, "scalar operation {} is not binary", static_cast<int>(op));
  }
}

namespace {

// Bounds of this size stand for infinity.
constexpr Wide kInfinity = Wide{1} << 120;

Wide saturatingProduct(Wide a, Wide b) {
  if (isNarrow(a) && isNarrow(b)) return std::clamp(a * b, -kInfinity, kInfinity);
  Wide product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return std::clamp(product, -kInfinity, kInfinity);
  return (a < 0) == (b < 0) ? kInfinity : -kInfinity;
}

Wide addLower(Wide a, Wide b) { return a <= -kInfinity || b <= -kInfinity ? -kInfinity : std::min(a + b, kInfinity); }
Wide addUpper(Wide a, Wide b) { return a >= kInfinity || b >= kInfinity ? kInfinity : std::max(a + b, -kInfinity); }

// Residues too large to compute with are forgotten.
Residue makeResidue(Wide divisor, Wide remainder) {
  if (magnitude(divisor) >= kInfinity || magnitude(remainder) >= kInfinity) return {1, 0};
  return {divisor, divisor == 0 ? remainder : modOf(remainder, divisor)};
}

Residue multiplyResidues(const Residue& a, const Residue& b) {
  const Wide both = saturatingProduct(a.divisor, b.divisor);
  const Wide left = saturatingProduct(a.divisor, b.remainder);
  const Wide right = saturatingProduct(b.divisor, a.remainder);
  if (magnitude(both) >= kInfinity || magnitude(left) >= kInfinity || magnitude(right) >= kInfinity) return {1, 0};
  return makeResidue(divisorOf(divisorOf(both, left), right), saturatingProduct(a.remainder, b.remainder));
}

}  // namespace

void IntervalSum::addProduct(int64_t coefficient, std::span<const Interval> factors) {
  Wide lower = coefficient, upper = coefficient;
  Residue residue = {0, coefficient};
  for (const Interval& factor : factors) {
    const Wide corners[] = {saturatingProduct(lower, factor.lower), saturatingProduct(lower, factor.upper),
                            saturatingProduct(upper, factor.lower), saturatingProduct(upper, factor.upper)};
    std::tie(lower, upper) = std::pair(std::ranges::min(corners), std::ranges::max(corners));
    residue = multiplyResidues(residue, residueOf(factor));
  }
  lower_ = addLower(lower_, lower);
  upper_ = addUpper(upper_, upper);
  residue = makeResidue(divisorOf(divisor_, residue.divisor), remainder_ + residue.remainder);
  divisor_ = residue.divisor, remainder_ = residue.remainder;
}

void IntervalSum::addSum(const IntervalSum& other) {
  lower_ = addLower(lower_, other.lower_);
  upper_ = addUpper(upper_, other.upper_);
  const Residue residue = makeResidue(divisorOf(divisor_, other.divisor_), remainder_ + other.remainder_);
  divisor_ = residue.divisor, remainder_ = residue.remainder;
}

Interval IntervalSum::total() const { return make(lower_, upper_, {divisor_, remainder_}); }

Interval join(const Interval& a, const Interval& b) {
  return make(std::min(a.lower, b.lower), std::max(a.upper, b.upper), joinResidues(residueOf(a), residueOf(b)));
}

Interval meet(const Interval& a, const Interval& b) {
  if (a.divisor == 0) return a;
  if (b.divisor == 0) return b;
  // The finer class when one contains the other, else the coarser information of the larger divisor.
  const Interval& finer = a.divisor >= b.divisor ? a : b;
  return make(std::max(a.lower, b.lower), std::min(a.upper, b.upper), residueOf(finer));
}

std::string toString(const Interval& interval) {
  return fmt::format("[{}, {}] = {} mod {}", interval.lower, interval.upper, interval.remainder, interval.divisor);
}

}  // namespace tokamak
