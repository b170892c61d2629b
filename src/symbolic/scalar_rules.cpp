#include "symbolic/scalar_rules.h"
#include "base/immortal.h"

#include <algorithm>
#include <iterator>

namespace tokamak {

namespace {

// Sums are flattened, ordered and collected by SumForm before any of this, constants are folded and operands of
// commutative operations are in canonical order. A rule of a sum is about two of its terms. A rule is used only where
// it makes the scalar's weight smaller.
constexpr std::string_view kRules[] = {
    // Sums.
    "a % b + a / b * b -> a",
    "a % c0 + a / c0 * c1 -> a if c0 == c1",
    "a % c0 * c2 + a / c0 * c1 -> a * c2 if c1 == c0 * c2",
    "a / c0 % c1 + a / c2 * c3 -> a / c0 if c0 > 0 && c1 > 0 && c3 == c1 && c2 == c0 * c1",
    "a / c0 % c1 * c4 + a / c2 * c3 -> a / c0 * c4 if c0 > 0 && c1 > 0 && c3 == c1 * c4 && c2 == c0 * c1",
    "a % c0 + a / c0 % c1 * c2 -> a % (c0 * c1) if c0 > 0 && c1 > 0 && c2 == c0",
    "a % c0 * c3 + a / c0 % c1 * c2 -> a % (c0 * c1) * c3 if c0 > 0 && c1 > 0 && c2 == c0 * c3",
    "a / c0 % c1 + a / c2 % c3 * c4 -> a / c0 % (c1 * c3) if c0 > 0 && c1 > 0 && c3 > 0 && c4 == c1 && c2 == c0 * c1",
    "a / c0 % c1 * c5 + a / c2 % c3 * c4 -> a / c0 % (c1 * c3) * c5 "
    "if c0 > 0 && c1 > 0 && c3 > 0 && c4 == c1 * c5 && c2 == c0 * c1",
    "a + a / b * b * -1 -> a % b",
    "a + a / c0 * c1 -> a % c0 if c1 == 0 - c0",
    "a * c2 + a / c0 * c1 -> a % c0 * c2 if c1 == 0 - c0 * c2",
    "min(a, b) + max(a, b) -> a + b",

    // Floor division.
    "a / 1 -> a",
    "0 / a -> 0",
    "a / a -> 1",
    "a * b / b -> a",
    "(a * b + c) / b -> a + c / b",
    "(c - a * b) / b -> c / b - a",
    "a * c0 / c1 -> a * (c0 / c1) if c0 % c1 == 0",
    "a * c0 / c1 -> a / (c1 / c0) if c1 % c0 == 0",
    "(a + c0) / c1 -> ceilDiv(a, c1) if c0 == c1 - 1",
    "(a * c0 + c2) / c1 -> (a + c2 / c0) / (c1 / c0) if c1 % c0 == 0 && c0 > 1",
    "a / c0 / c1 -> a / (c0 * c1) if c0 > 0 && c1 > 0",
    "a % b / b -> 0",
    "a % c0 / c1 -> a / c1 % (c0 / c1) if c0 % c1 == 0",
    "a / b -> 0 if 0 <= a && a < b",

    // Division rounded up.
    "ceilDiv(a, 1) -> a",
    "ceilDiv(0, a) -> 0",
    "ceilDiv(a, a) -> 1",
    "ceilDiv(a * b, b) -> a",
    "ceilDiv(a * b + c, b) -> a + ceilDiv(c, b)",
    "ceilDiv(c - a * b, b) -> ceilDiv(c, b) - a",
    "ceilDiv(a * c0, c1) -> a * (c0 / c1) if c0 % c1 == 0",
    "ceilDiv(a * c0, c1) -> ceilDiv(a, c1 / c0) if c1 % c0 == 0",
    "ceilDiv(ceilDiv(a, c0), c1) -> ceilDiv(a, c0 * c1) if c0 > 0 && c1 > 0",
    "ceilDiv(a, c0) -> a / c0 if a % c0 == 0",
    "ceilDiv(a, b) -> 1 if 0 < a && a <= b",

    // Remainder.
    "a % 1 -> 0",
    "0 % a -> 0",
    "a % a -> 0",
    "a * b % b -> 0",
    "(a * b + c) % b -> c % b",
    "(c - a * b) % b -> c % b",
    "a % c0 -> 0 if a % c0 == 0",
    "a % b % b -> a % b",
    "a % c0 % c1 -> a % c1 if c0 % c1 == 0",
    "(a + c0) % c1 -> (a + c0 % c1) % c1 if c0 >= c1",
    "a * c0 % c1 -> a * (c0 % c1) % c1 if c0 >= c1",
    "a * c0 % c1 -> a % (c1 / c0) * c0 if c1 % c0 == 0",
    "(a % c0 + b) % c0 -> (a + b) % c0 if a >= 0 && b >= 0 && a <= 4611686018427387903 && b <= 4611686018427387903",
    "a % b -> a if 0 <= a && a < b",

    // Smaller and larger.
    "min(a, a) -> a",
    "min(a, b) -> a if a <= b",
    "min(min(a, b), b) -> min(a, b)",
    "min(max(a, b), b) -> b",
    "min(min(a, c0), c1) -> min(a, min(c0, c1))",
    "min(a + c0, a + c1) -> a + min(c0, c1)",
    "min(a * c0, b * c0) -> min(a, b) * c0 if c0 >= 0",
    "min(a * c0, b * c0) -> max(a, b) * c0 if c0 < 0",
    "min(a * c0, c1) -> min(a, c1 / c0) * c0 if c0 > 0 && c1 % c0 == 0",
    "max(a, a) -> a",
    "max(a, b) -> b if a <= b",
    "max(max(a, b), b) -> max(a, b)",
    "max(min(a, b), b) -> b",
    "max(max(a, c0), c1) -> max(a, max(c0, c1))",
    "max(a + c0, a + c1) -> a + max(c0, c1)",
    "max(a * c0, b * c0) -> max(a, b) * c0 if c0 >= 0",
    "max(a * c0, b * c0) -> min(a, b) * c0 if c0 < 0",
    "max(a * c0, c1) -> max(a, c1 / c0) * c0 if c0 > 0 && c1 % c0 == 0",

    // Comparisons. Common terms of both sides are gone before.
    "a < b -> true if a < b",
    "a < b -> false if b <= a",
    "a * c0 < b * c0 -> a < b if c0 > 0",
    "a * c0 < b * c0 -> b < a if c0 < 0",
    "a * c0 < c1 -> a < ceilDiv(c1, c0) if c0 > 0",
    "c1 < a * c0 -> c1 / c0 < a if c0 > 0",
    "a / c0 < c1 -> a < c1 * c0 if c0 > 0",
    "c1 < a / c0 -> c1 * c0 + (c0 - 1) < a if c0 > 0",
    "ceilDiv(a, c0) < c1 -> a <= c1 * c0 - c0 if c0 > 0",
    "c1 < ceilDiv(a, c0) -> c1 * c0 < a if c0 > 0",
    "a <= b -> true if a <= b",
    "a <= b -> false if b < a",
    "a * c0 <= b * c0 -> a <= b if c0 > 0",
    "a * c0 <= b * c0 -> b <= a if c0 < 0",
    "a * c0 <= c1 -> a <= c1 / c0 if c0 > 0",
    "c1 <= a * c0 -> ceilDiv(c1, c0) <= a if c0 > 0",
    "a / c0 <= c1 -> a <= c1 * c0 + (c0 - 1) if c0 > 0",
    "c1 <= a / c0 -> c1 * c0 <= a if c0 > 0",
    "ceilDiv(a, c0) <= c1 -> a <= c1 * c0 if c0 > 0",
    "c1 <= ceilDiv(a, c0) -> c1 * c0 - c0 < a if c0 > 0",
    "a == b -> true if a == b",
    "a == b -> false if a != b",
    "a * c0 == b * c0 -> a == b if c0 != 0",
    "a * c0 == c1 -> a == c1 / c0 if c0 > 0 && c1 % c0 == 0",
    "a * c0 == c1 -> false if c1 % c0 != 0",
    "a != b -> false if a == b",
    "a != b -> true if a != b",
    "a * c0 != b * c0 -> a != b if c0 != 0",
    "a * c0 != c1 -> a != c1 / c0 if c0 > 0 && c1 % c0 == 0",
    "a * c0 != c1 -> true if c1 % c0 != 0",

    // Logic.
    "p && true -> p",
    "p && false -> false",
    "p && p -> p",
    "p && !p -> false",
    "p && (p || q) -> p",
    "p && q && q -> p && q",
    "a < b && b < a -> false",
    "a < b && b <= a -> false",
    "a < b && a <= b -> a < b",
    "a < c0 && a < c1 -> a < min(c0, c1)",
    "c0 < a && c1 < a -> max(c0, c1) < a",
    "a <= c0 && a <= c1 -> a <= min(c0, c1)",
    "c0 <= a && c1 <= a -> max(c0, c1) <= a",
    "p || true -> true",
    "p || false -> p",
    "p || p -> p",
    "p || !p -> true",
    "p || p && q -> p",
    "p || q || q -> p || q",
    "a < b || b <= a -> true",
    "a <= b || b <= a -> true",
    "a < b || a <= b -> a <= b",
    "!!p -> p",
    "!(a < b) -> b <= a",
    "!(a <= b) -> b < a",
    "!(a == b) -> a != b",
    "!(a != b) -> a == b",

    // Choice.
    "where(p, x, x) -> x",
    "where(true, x, y) -> x",
    "where(false, x, y) -> y",
    "where(p, true, false) -> p",
    "where(p, false, true) -> !p",
    "where(!p, x, y) -> where(p, y, x)",
    "where(p, where(p, x, y), z) -> where(p, x, z)",
    "where(p, x, where(p, y, z)) -> where(p, x, z)",
    "where(a < b, a, b) -> min(a, b)",
    "where(a < b, b, a) -> max(a, b)",
    "where(a <= b, a, b) -> min(a, b)",
    "where(a <= b, b, a) -> max(a, b)",
};

}  // namespace

std::span<const ScalarRule> scalarRules() {
  static const auto& rules = *immortal([] {
    std::vector<ScalarRule> list;
    std::ranges::transform(kRules, std::back_inserter(list), parseScalarRule);
    return list;
  }());
  return rules;
}

std::span<const ScalarRule* const> scalarRulesFor(ScalarOp op) {
  static const auto& by_op = *immortal([] {
    std::array<std::vector<const ScalarRule*>, static_cast<size_t>(ScalarOp::Function) + 1> lists;
    for (const ScalarRule& rule : scalarRules()) lists[static_cast<size_t>(rule.pattern.op)].push_back(&rule);
    return lists;
  }());
  return by_op[static_cast<size_t>(op)];
}

}  // namespace tokamak
