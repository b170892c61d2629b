// The table of elementwise functions: adding a row here adds the function everywhere.
#pragma once

#include <algorithm>
#include <array>

#include "symbolic/functions.h"

namespace tokamak {

// clang-format off
/// X(name, operands, type rule, accuracy, infix symbol in dumps or "", formula over x, y, z, w of type T)
/// Names that a formula uses beyond the C++ operators are those of symbolic/formulas.h.
#define TK_FUNCTIONS(X) \
  X(abs,         1, Numeric, Exact,   "", absolute(x)) \
  X(acos,        1, Float,   Approx,  "", std::acos(x)) \
  X(acosh,       1, Float,   Approx,  "", std::acosh(x)) \
  X(asin,        1, Float,   Approx,  "", std::asin(x)) \
  X(asinh,       1, Float,   Approx,  "", std::asinh(x)) \
  X(atan,        1, Float,   Approx,  "", std::atan(x)) \
  X(atanh,       1, Float,   Approx,  "", std::atanh(x)) \
  X(bitwise_not, 1, Bitwise, Exact,   "", bitNot(x)) \
  X(ceil,        1, Numeric, Step,    "", roundWith(x, [](auto v) { return std::ceil(v); })) \
  X(cos,         1, Float,   Approx,  "", std::cos(x)) \
  X(cosh,        1, Float,   Approx,  "", std::cosh(x)) \
  X(erf,         1, Float,   Approx,  "", std::erf(x)) \
  X(erfc,        1, Float,   Approx,  "", std::erfc(x)) \
  X(erfcinv,     1, Float,   Approx,  "", inverseErfc(x)) \
  X(erfinv,      1, Float,   Approx,  "", inverseErf(x)) \
  X(exp,         1, Float,   Approx,  "", std::exp(x)) \
  X(exp2,        1, Float,   Approx,  "", std::exp2(x)) \
  X(exp_term,    1, Float,   Approx,  "", std::exp(x)) \
  X(expm1,       1, Float,   Approx,  "", std::expm1(x)) \
  X(floor,       1, Numeric, Step,    "", roundWith(x, [](auto v) { return std::floor(v); })) \
  X(frac,        1, Numeric, Step,    "", subtract(x, roundWith(x, [](auto v) { return std::trunc(v); }))) \
  X(isfinite,    1, Test,    Step,    "", isFinite(x)) \
  X(isinf,       1, Test,    Step,    "", isInfinite(x)) \
  X(isnan,       1, Test,    Step,    "", isNaN(x)) \
  X(isneginf,    1, Test,    Step,    "", isInfinite(x) && x < T(0)) \
  X(isposinf,    1, Test,    Step,    "", isInfinite(x) && x > T(0)) \
  X(isreal,      1, Test,    Step,    "", (static_cast<void>(x), true)) \
  X(lgamma,      1, Float,   Approx,  "", logGamma(x)) \
  X(log,         1, Float,   Approx,  "", std::log(x)) \
  X(log10,       1, Float,   Approx,  "", std::log10(x)) \
  X(log1p,       1, Float,   Approx,  "", std::log1p(x)) \
  X(log2,        1, Float,   Approx,  "", std::log2(x)) \
  X(logical_not, 1, Logical, Step,    "", !x) \
  X(neg,         1, Numeric, Exact,   "", negate(x)) \
  X(reciprocal,  1, Float,   Rounded, "", T(1) / x) \
  X(relu,        1, Numeric, Exact,   "", x < T(0) ? T(0) : x) \
  X(round,       1, Numeric, Step,    "", roundWith(x, [](auto v) { return std::nearbyint(v); })) \
  X(rsqrt,       1, Float,   Approx,  "", T(1) / std::sqrt(x)) \
  X(sigmoid,     1, Float,   Approx,  "", T(1) / (T(1) + std::exp(-x))) \
  X(sign,        1, Numeric, Step,    "", isNaN(x) ? x : static_cast<T>((T(0) < x) - (x < T(0)))) \
  X(signbit,     1, Test,    Step,    "", hasSign(x)) \
  X(silu,        1, Float,   Approx,  "", x / (T(1) + std::exp(-x))) \
  X(sin,         1, Float,   Approx,  "", std::sin(x)) \
  X(sinh,        1, Float,   Approx,  "", std::sinh(x)) \
  X(sqrt,        1, Float,   Rounded, "", std::sqrt(x)) \
  X(tan,         1, Float,   Approx,  "", std::tan(x)) \
  X(tanh,        1, Float,   Approx,  "", std::tanh(x)) \
  X(trunc,       1, Numeric, Step,    "", roundWith(x, [](auto v) { return std::trunc(v); })) \
  X(add,                 2, Numeric, Rounded, "+",  add(x, y)) \
  X(atan2,               2, Float,   Approx,  "",   std::atan2(x, y)) \
  X(bitwise_and,         2, Bitwise, Exact,   "&",  static_cast<T>(x & y)) \
  X(bitwise_left_shift,  2, Integer, Exact,   "<<", shiftLeft(x, y)) \
  X(bitwise_or,          2, Bitwise, Exact,   "|",  static_cast<T>(x | y)) \
  X(bitwise_right_shift, 2, Integer, Exact,   ">>", shiftRight(x, y)) \
  X(bitwise_xor,         2, Bitwise, Exact,   "^",  static_cast<T>(x ^ y)) \
  X(div,                 2, Numeric, Rounded, "/",  divide(x, y)) \
  X(eq,                  2, Compare, Step,    "==", x == y) \
  X(fmax,                2, Any,     Exact,   "",   largerNumber(x, y)) \
  X(fmin,                2, Any,     Exact,   "",   smallerNumber(x, y)) \
  X(fmod,                2, Numeric, Step,    "",   truncatedRemainder(x, y)) \
  X(gcd,                 2, Integer, Exact,   "",   greatestCommonDivisor(x, y)) \
  X(ge,                  2, Compare, Step,    ">=", x >= y) \
  X(gt,                  2, Compare, Step,    ">",  x > y) \
  X(le,                  2, Compare, Step,    "<=", x <= y) \
  X(logical_and,         2, Logical, Step,    "&&", x && y) \
  X(logical_or,          2, Logical, Step,    "||", x || y) \
  X(logical_right_shift, 2, Integer, Exact,   "",   shiftRightLogical(x, y)) \
  X(lt,                  2, Compare, Step,    "<",  x < y) \
  X(maximum,             2, Any,     Exact,   "",   larger(x, y)) \
  X(minimum,             2, Any,     Exact,   "",   smaller(x, y)) \
  X(mod,                 2, Integer, Exact,   "%",  truncatedRemainder(x, y)) \
  X(mul,                 2, Numeric, Rounded, "*",  multiply(x, y)) \
  X(ne,                  2, Compare, Step,    "!=", x != y) \
  X(nextafter,           2, Float,   Step,    "",   std::nextafter(x, y)) \
  X(pow,                 2, Numeric, Approx,  "",   power(x, y)) \
  X(remainder,           2, Numeric, Step,    "",   flooredRemainder(x, y)) \
  X(sub,                 2, Numeric, Rounded, "-",  subtract(x, y)) \
  X(truediv,             2, Float,   Rounded, "",   x / y) \
  X(add_alpha,  3, Numeric, Rounded, "", add(x, multiply(y, z))) \
  X(clamp,      3, Numeric, Exact,   "", smaller(larger(x, y), z)) \
  X(lerp,       3, Float,   Rounded, "", interpolate(x, y, z)) \
  X(sub_alpha,  3, Numeric, Rounded, "", subtract(x, multiply(y, z))) \
  X(threshold,  3, Numeric, Step,    "", x <= y ? z : x) \
  X(where,      3, Choose,  Exact,   "", x ? y : z) \
  X(addcmul,    4, Numeric, Rounded, "", add(x, multiply(w, multiply(y, z)))) \
  X(philox,     4, Integer, Exact,   "", philoxWord(x, y, z, w))
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
