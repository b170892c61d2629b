// The table of elementwise functions: adding a row here adds the function everywhere.
#pragma once

#include <algorithm>
#include <array>

#include "symbolic/functions.h"

namespace tokamak {

// clang-format off
/// X(name, operands, type rule, accuracy, infix symbol in dumps or "", meaning, formula over x, y, z, w of type T)
/// Names that a formula uses beyond the C++ operators are those of symbolic/formulas.h.
#define TK_FUNCTIONS(X) \
  X(abs,         1, Numeric, Exact,   "", "the magnitude of x", absolute(x)) \
  X(acos,        1, Float,   Approx,  "", "the inverse of cos, from 0 to pi; NaN outside of -1 to 1", std::acos(x)) \
  X(acosh,       1, Float,   Approx,  "", "the inverse of cosh; NaN below 1", std::acosh(x)) \
  X(asin,        1, Float,   Approx,  "", "the inverse of sin, from -pi/2 to pi/2; NaN outside of -1 to 1", \
    std::asin(x)) \
  X(asinh,       1, Float,   Approx,  "", "the inverse of sinh", std::asinh(x)) \
  X(atan,        1, Float,   Approx,  "", "the inverse of tan, from -pi/2 to pi/2", std::atan(x)) \
  X(atanh,       1, Float,   Approx,  "", "the inverse of tanh; NaN outside of -1 to 1", std::atanh(x)) \
  X(bitwise_not, 1, Bitwise, Exact,   "", "the bits of x exchanged; of bool its negation", bitNot(x)) \
  X(ceil,        1, Numeric, Step,    "", "the smallest integer not below x", \
    roundWith(x, [](auto v) { return std::ceil(v); })) \
  X(cos,         1, Float,   Approx,  "", "the cosine of x in radians", std::cos(x)) \
  X(cosh,        1, Float,   Approx,  "", "the hyperbolic cosine of x", std::cosh(x)) \
  X(erf,         1, Float,   Approx,  "", "the error function of x", std::erf(x)) \
  X(erfc,        1, Float,   Approx,  "", "1 - erf(x), exact also where erf(x) is near 1", std::erfc(x)) \
  X(erfcinv,     1, Float,   Approx,  "", "the inverse of erfc", inverseErfc(x)) \
  X(erfinv,      1, Float,   Approx,  "", "the inverse of erf; NaN outside of -1 to 1", inverseErf(x)) \
  X(exp,         1, Float,   Approx,  "", "e to the power of x", std::exp(x)) \
  X(exp2,        1, Float,   Approx,  "", "2 to the power of x", std::exp2(x)) \
  X(exp_term,    1, Float,   Approx,  "", "exp(x) as a term of a sum: an error far below the largest term does not matter", \
    std::exp(x)) \
  X(expm1,       1, Float,   Approx,  "", "exp(x) - 1, exact also near 0", std::expm1(x)) \
  X(floor,       1, Numeric, Step,    "", "the largest integer not above x", \
    roundWith(x, [](auto v) { return std::floor(v); })) \
  X(frac,        1, Numeric, Step,    "", "x without its integer part, with the sign of x", \
    subtract(x, roundWith(x, [](auto v) { return std::trunc(v); }))) \
  X(isfinite,    1, Test,    Step,    "", "whether x is neither infinite nor NaN", isFinite(x)) \
  X(isinf,       1, Test,    Step,    "", "whether x is infinite", isInfinite(x)) \
  X(isnan,       1, Test,    Step,    "", "whether x is NaN", isNaN(x)) \
  X(isneginf,    1, Test,    Step,    "", "whether x is -inf", isInfinite(x) && x < T(0)) \
  X(isposinf,    1, Test,    Step,    "", "whether x is inf", isInfinite(x) && x > T(0)) \
  X(isreal,      1, Test,    Step,    "", "true: every type is real", (static_cast<void>(x), true)) \
  X(lgamma,      1, Float,   Approx,  "", "the logarithm of the magnitude of the gamma function", logGamma(x)) \
  X(log,         1, Float,   Approx,  "", "the natural logarithm of x", std::log(x)) \
  X(log10,       1, Float,   Approx,  "", "the logarithm of x to base 10", std::log10(x)) \
  X(log1p,       1, Float,   Approx,  "", "log(1 + x), exact also near 0", std::log1p(x)) \
  X(log2,        1, Float,   Approx,  "", "the logarithm of x to base 2", std::log2(x)) \
  X(logical_not, 1, Logical, Step,    "", "whether x is zero", !x) \
  X(neg,         1, Numeric, Exact,   "", "-x", negate(x)) \
  X(reciprocal,  1, Float,   Rounded, "", "1 / x", T(1) / x) \
  X(relu,        1, Numeric, Exact,   "", "x, but 0 where x is negative", x < T(0) ? T(0) : x) \
  X(round,       1, Numeric, Step,    "", "the nearest integer, the even one of two", \
    roundWith(x, [](auto v) { return std::nearbyint(v); })) \
  X(rsqrt,       1, Float,   Approx,  "", "1 / sqrt(x)", T(1) / std::sqrt(x)) \
  X(sigmoid,     1, Float,   Approx,  "", "1 / (1 + exp(-x))", T(1) / (T(1) + std::exp(-x))) \
  X(sign,        1, Numeric, Step,    "", "-1, 0 or 1, as x is negative, zero or positive", \
    isNaN(x) ? x : static_cast<T>((T(0) < x) - (x < T(0)))) \
  X(signbit,     1, Test,    Step,    "", "whether x has a minus sign, also -0.0", hasSign(x)) \
  X(silu,        1, Float,   Approx,  "", "x * sigmoid(x), also called swish", x / (T(1) + std::exp(-x))) \
  X(sin,         1, Float,   Approx,  "", "the sine of x in radians", std::sin(x)) \
  X(sinh,        1, Float,   Approx,  "", "the hyperbolic sine of x", std::sinh(x)) \
  X(sqrt,        1, Float,   Rounded, "", "the square root of x; NaN below 0", std::sqrt(x)) \
  X(tan,         1, Float,   Approx,  "", "the tangent of x in radians", std::tan(x)) \
  X(tanh,        1, Float,   Approx,  "", "the hyperbolic tangent of x", std::tanh(x)) \
  X(trunc,       1, Numeric, Step,    "", "x without its fraction", \
    roundWith(x, [](auto v) { return std::trunc(v); })) \
  X(add,                 2, Numeric, Rounded, "+", "x + y", add(x, y)) \
  X(atan2,               2, Float,   Approx,  "", "the angle of the point (y, x), from -pi to pi: atan(x / y) in the right quadrant", \
    std::atan2(x, y)) \
  X(bitwise_and,         2, Bitwise, Exact,   "&", "the bits that x and y have", static_cast<T>(x & y)) \
  X(bitwise_left_shift,  2, Integer, Exact,   "<<", "x with its bits moved up by y", shiftLeft(x, y)) \
  X(bitwise_or,          2, Bitwise, Exact,   "|", "the bits that x or y have", static_cast<T>(x | y)) \
  X(bitwise_right_shift, 2, Integer, Exact,   ">>", "x with its bits moved down by y, the sign kept", \
    shiftRight(x, y)) \
  X(bitwise_xor,         2, Bitwise, Exact,   "^", "the bits that differ in x and y", static_cast<T>(x ^ y)) \
  X(div,                 2, Numeric, Rounded, "/", "x / y; of integers rounded towards zero, 0 for a zero divisor", \
    divide(x, y)) \
  X(eq,                  2, Compare, Step,    "==", "whether x and y are equal", x == y) \
  X(fmax,                2, Any,     Exact,   "", "the larger of x and y; the number if one is NaN; of two zeros the positive one", \
    largerNumber(x, y)) \
  X(fmin,                2, Any,     Exact,   "", "the smaller of x and y; the number if one is NaN; of two zeros the negative one", \
    smallerNumber(x, y)) \
  X(fmod,                2, Numeric, Step,    "", "the remainder of x / y with the sign of x", \
    truncatedRemainder(x, y)) \
  X(gcd,                 2, Integer, Exact,   "", "the greatest common divisor", greatestCommonDivisor(x, y)) \
  X(ge,                  2, Compare, Step,    ">=", "whether x is at least y", x >= y) \
  X(gt,                  2, Compare, Step,    ">", "whether x is larger than y", x > y) \
  X(le,                  2, Compare, Step,    "<=", "whether x is at most y", x <= y) \
  X(logical_and,         2, Logical, Step,    "&&", "whether x and y are both non-zero", x && y) \
  X(logical_or,          2, Logical, Step,    "||", "whether x or y is non-zero", x || y) \
  X(logical_right_shift, 2, Integer, Exact,   "", "x with its bits moved down by y, zeros from above", \
    shiftRightLogical(x, y)) \
  X(lt,                  2, Compare, Step,    "<", "whether x is smaller than y", x < y) \
  X(maximum,             2, Any,     Exact,   "", "the larger of x and y; NaN if either is", larger(x, y)) \
  X(minimum,             2, Any,     Exact,   "", "the smaller of x and y; NaN if either is", smaller(x, y)) \
  X(mod,                 2, Integer, Exact,   "%", "the remainder of the integers x / y with the sign of x, 0 for a zero divisor", \
    truncatedRemainder(x, y)) \
  X(mul,                 2, Numeric, Rounded, "*", "x * y", multiply(x, y)) \
  X(ne,                  2, Compare, Step,    "!=", "whether x and y differ", x != y) \
  X(nextafter,           2, Float,   Step,    "", "the next number after x towards y", std::nextafter(x, y)) \
  X(pow,                 2, Numeric, Approx,  "", "x to the power of y", power(x, y)) \
  X(remainder,           2, Numeric, Step,    "", "the remainder of x / y with the sign of y", flooredRemainder(x, y)) \
  X(sub,                 2, Numeric, Rounded, "-", "x - y", subtract(x, y)) \
  X(truediv,             2, Float,   Rounded, "", "x / y, of integers in f32", x / y) \
  X(add_alpha,  3, Numeric, Rounded, "", "x + y * z", add(x, multiply(y, z))) \
  X(clamp,      3, Numeric, Exact,   "", "x, but y where x is below y, and z where it is above z", \
    smaller(larger(x, y), z)) \
  X(lerp,       3, Float,   Rounded, "", "x + z * (y - x): x for z = 0, y for z = 1", interpolate(x, y, z)) \
  X(sub_alpha,  3, Numeric, Rounded, "", "x - y * z", subtract(x, multiply(y, z))) \
  X(threshold,  3, Numeric, Step,    "", "x, but z where x is at most y", x <= y ? z : x) \
  X(where,      3, Choose,  Exact,   "", "y where x is true, else z", x ? y : z) \
  X(addcmul,    4, Numeric, Rounded, "", "x + w * y * z", add(x, multiply(w, multiply(y, z)))) \
  X(philox,     4, Integer, Exact,   "", "word w of the Philox 4x32-10 generator's block of x, y and z", \
    philoxWord(x, y, z, w))
// clang-format on

// A row's id: the enumerator of its name, or else the next number above the enumerators.
namespace function_table {

inline constexpr int kNamed = static_cast<int>(FunctionId::where) + 1;

inline constexpr auto kEnumerators = [] {
  // Looked up through a template, where a name that the enumeration lacks is no error.
  return std::array{
#define TK_ROW(name, ...)                \
  []<class E>(E) {                       \
    if constexpr (requires { E::name; }) \
      return static_cast<int>(E::name);  \
    else                                 \
      return -1;                         \
  }(FunctionId()),
      TK_FUNCTIONS(TK_ROW)
#undef TK_ROW
  };
}();

static_assert(std::ranges::count_if(kEnumerators, [](int id) { return id >= 0; }) == kNamed,
              "every enumerator of FunctionId has a row");

inline constexpr auto kIds = [] {
  std::array<FunctionId, kEnumerators.size()> ids{};
  int next = kNamed;
  for (size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<FunctionId>(kEnumerators[i] >= 0 ? kEnumerators[i] : next++);
  return ids;
}();

enum class Row : uint8_t {
#define TK_ROW(name, ...) name,
  TK_FUNCTIONS(TK_ROW)
#undef TK_ROW
};

inline constexpr auto kRows = [] {
  std::array<Row, kIds.size()> rows{};
  for (size_t i = 0; i < rows.size(); ++i) rows[static_cast<size_t>(kIds[i])] = static_cast<Row>(i);
  return rows;
}();

/// What a switch over all rows is over: FunctionId has enumerators for some of them only.
constexpr Row rowOf(FunctionId id) { return kRows[static_cast<size_t>(id)]; }

}  // namespace function_table

/// The id of every row by its name: `function_id::acos`.
namespace function_id {
#define TK_ROW(name, ...) \
  inline constexpr FunctionId name = function_table::kIds[static_cast<size_t>(function_table::Row::name)];
TK_FUNCTIONS(TK_ROW)  // NOLINT(readability-identifier-naming): named like their rows
#undef TK_ROW
}  // namespace function_id

}  // namespace tokamak
