#include "oracle/functions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/error.h"
#include "oracle/call_row.h"
#include "oracle/exceptions.h"

namespace tokamak::oracle {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
using Numbers = std::array<long double, 4>;

bool hasPromise(const Element& element) { return element.bound != kInfinity; }
bool isExact(const Element& element) { return element.bound == 0; }
bool isExactNumber(const Element& element) { return boundOf(element) == 0; }

// Rows that are one correctly rounded operation: an exact result that is representable is then the result.
bool isRoundedOnce(FunctionId function) {
  switch (function) {
    case FunctionId::add:
    case FunctionId::sub:
    case FunctionId::mul:
    case FunctionId::div:
    case FunctionId::truediv:
    case FunctionId::reciprocal:
    case FunctionId::sqrt: return true;
    default: return false;
  }
}

// Steps that never turn back while one operand moves one way: corners of intervals then bound them.
bool isMonotoneStep(FunctionId function) {
  switch (function) {
    case FunctionId::ceil:
    case FunctionId::floor:
    case FunctionId::trunc:
    case FunctionId::round:
    case FunctionId::sign:
    case FunctionId::signbit:
    case FunctionId::isneginf:
    case FunctionId::isposinf:
    case FunctionId::isinf:
    case FunctionId::isfinite:
    case FunctionId::isnan:
    case FunctionId::isreal:
    case FunctionId::lt:
    case FunctionId::le:
    case FunctionId::gt:
    case FunctionId::ge:
    case FunctionId::logical_not:
    case FunctionId::logical_and:
    case FunctionId::logical_or: return true;
    default: return false;
  }
}

enum class Class : uint8_t { Finite, NaN, PlusInfinity, MinusInfinity };
Class classOf(long double v) {
  if (std::isnan(v)) return Class::NaN;
  if (std::isinf(v)) return v > 0 ? Class::PlusInfinity : Class::MinusInfinity;
  return Class::Finite;
}

// How far the function moves while the operands move within their bounds.
class Spread {
 public:
  Spread(FunctionId function, std::span<const Element> operands, const Numbers& centre, long double value)
      : function_(function), operands_(operands), point_(centre), value_(value) {
    visitCorners(0);
    for (size_t i = 0; i < operands_.size(); ++i) visitInside(i, centre);
    if (operands_.size() == 1) visitPolesAndTurns(centre[0], boundOf(operands_[0]));
  }
  long double spread() const { return spread_; }

 private:
  void visit() {
    const long double there = callRow<long double>(function_, point_.data());
    if (classOf(there) != classOf(value_))
      spread_ = kInfinity;
    else if (std::isfinite(there))
      spread_ = std::max(spread_, std::fabs(there - value_));
  }
  void visitCorners(size_t i) {
    if (i == operands_.size()) return visit();
    const long double centre = point_[i];
    if (operands_[i].bound == 0) return visitCorners(i + 1);
    const long double bound = boundOf(operands_[i]);
    for (const long double side : {-1.0L, 1.0L}) {
      point_[i] = isOpenZero(operands_[i]) ? 0 * side : centre + side * bound;
      visitCorners(i + 1);
    }
    // Zero, of either sign, is where quotients have poles and angles jump, whatever the other operands are.
    for (const long double zero : {0.0L, -0.0L}) {
      if (bound == 0 || std::fabs(centre) > bound) continue;
      point_[i] = zero;
      visitCorners(i + 1);
    }
    point_[i] = centre;
  }
  // Within wide intervals a function may turn more than once.
  void visitInside(size_t i, const Numbers& centre) {
    const long double bound = boundOf(operands_[i]);
    if (bound == 0) return;
    // Powers of negative numbers are numbers at whole exponents only.
    if (function_ == FunctionId::pow && i == 1) {
      for (const long double whole : {-1.0L, 0.0L, 1.0L}) {
        point_[i] = std::round(centre[i]) + whole;
        if (std::fabs(point_[i] - centre[i]) <= bound) visit();
      }
    }
    // Powers of 1 are 1, those of -1 may be, whatever the exponent is: infinite or no number, too.
    if (function_ == FunctionId::pow && i == 0) {
      for (const long double one : {-1.0L, 1.0L}) {
        point_[i] = one;
        if (std::fabs(one - centre[i]) <= bound) visit();
      }
    }
    if (bound > 0.25L) {
      for (int k = -7; k <= 7; k += 2) {
        point_[i] = centre[i] + bound * k / 8;
        visit();
      }
      spread_ *= 2;
    }
    point_[i] = centre[i];
  }

  // What lies between the ends of an interval, however narrow: a pole, behind which values come from the other side,
  // and the turns of what is periodic.
  void visitPolesAndTurns(long double centre, long double bound) {
    constexpr long double kPi = std::numbers::pi_v<long double>;
    const long double low = centre - bound;
    const long double high = centre + bound;
    if (bound == 0 || !std::isfinite(low) || !std::isfinite(high)) return;
    const auto contains = [&](long double first, long double period) {
      return std::floor((high - first) / period) > std::floor((low - first) / period);
    };
    const auto reaches = [&](long double value) { spread_ = std::max(spread_, std::fabs(value - value_)); };
    const bool is_sine = function_ == FunctionId::sin;
    if (is_sine || function_ == FunctionId::cos) {
      const long double top = is_sine ? kPi / 2 : 0;
      if (contains(top, 2 * kPi)) reaches(1);
      if (contains(top + kPi, 2 * kPi)) reaches(-1);
    }
    const bool has_pole =
        (function_ == FunctionId::tan && contains(kPi / 2, kPi)) ||
        (function_ == FunctionId::lgamma && low <= 0 && (high >= 0 || contains(0, 1) || low == std::floor(low)));
    if (has_pole) spread_ = kInfinity;
  }

  FunctionId function_;
  std::span<const Element> operands_;
  Numbers point_;
  long double value_;
  long double spread_ = 0;
};

// The error of the function itself on exact operands, for a finite result within `spread` of `value`. The result may be
// in a binade above that of `value`, whose numbers are further apart.
long double ownError(FunctionId function, DataType type, long double value, long double spread, bool is_exact) {
  const Exception* exception = exceptionFor(function);
  long double ulps = 0;
  switch (functionInfo(function).accuracy) {
    case Accuracy::Exact:
    case Accuracy::Step: return is_exact && !isRepresentable(type, value) ? ulpOf(type, value) : 0;
    case Accuracy::Rounded:
      if (is_exact && isRoundedOnce(function) && isRepresentable(type, value)) return 0;
      ulps = 2;
      break;
    case Accuracy::Approx:
      if (is_exact && value == 0 && exception == nullptr) return 0;
      ulps = 6;
      break;
  }
  long double error = 0;
  if (exception != nullptr) {
    ulps += exception->ulps;
    error = exception->epsilons * epsilonOf(type) + exception->smallest_normals * smallestNormal(type);
  }
  return error + ulps * ulpOf(type, std::fabs(value) + spread);
}

// The row on the operands as stored: discontinuous functions see exact values.
long double callStored(FunctionId function, DataType type, std::span<const Element> operands) {
  if (type == DataType::F32) {
    std::array<float, 4> values{};
    for (size_t i = 0; i < operands.size(); ++i) values[i] = static_cast<float>(operands[i].number);
    return callRow<float>(function, values.data());
  }
  std::array<double, 4> values{};
  for (size_t i = 0; i < operands.size(); ++i) values[i] = operands[i].number;
  return callRow<double>(function, values.data());
}

long double boundOfStep(FunctionId function, std::span<const Element> operands, const Numbers& numbers,
                        long double value) {
  // Which NaN an operation gives, its sign included, is the processor's choice.
  if (function == FunctionId::signbit && std::isnan(numbers[0])) return 1;
  if (std::ranges::all_of(operands, isExact)) return 0;
  if (function == FunctionId::eq || function == FunctionId::ne) {
    const long double distance = std::fabs(numbers[0] - numbers[1]);
    const long double reach = static_cast<long double>(boundOf(operands[0])) + boundOf(operands[1]);
    return reach == 0 || distance > reach ? 0 : 1;
  }
  if (!isMonotoneStep(function) && !std::ranges::all_of(operands, isExactNumber)) return kInfinity;
  return Spread(function, operands, numbers, value).spread();
}

// Whether the function adds its operands: a product among them may be added before it is rounded.
bool isSum(FunctionId function) {
  return function == FunctionId::add || function == FunctionId::sub || function == FunctionId::add_alpha ||
         function == FunctionId::sub_alpha;
}

bool isOverflow(FunctionId function, DataType type, std::span<const Element> operands, const Element& result) {
  return function == FunctionId::mul && type == DataType::F32 && std::isinf(result.number) &&
         std::ranges::all_of(operands, [](const Element& operand) { return std::isfinite(operand.number); });
}

Element applyFloating(FunctionId function, FunctionTypes types, std::span<const Element> operands, Mode mode) {
  Numbers numbers{};
  for (size_t i = 0; i < operands.size(); ++i) numbers[i] = operands[i].number;
  const bool is_exact = std::ranges::all_of(operands, isExactNumber);
  const bool has_open_sign = std::ranges::any_of(operands, isOpenZero);
  const Accuracy accuracy = functionInfo(function).accuracy;
  const bool is_stored = is_exact && (accuracy == Accuracy::Step || accuracy == Accuracy::Exact);
  long double value =
      is_stored ? callStored(function, types.operand, operands) : callRow<long double>(function, numbers.data());
  long double bound = 0;
  if (mode.isVaried() && !isRoundedOnce(function) && std::isfinite(value) && value != 0 && isFloatingType(types.result))
    value += mode.draw(value) / 2 * ownError(function, types.result, value, 0, is_exact);
  if (mode.isExact()) {
    const bool adds_overflow = isSum(function) && std::ranges::any_of(operands, &Element::is_overflow);
    if (adds_overflow || !std::ranges::all_of(operands, hasPromise))
      bound = kInfinity;
    else if (accuracy == Accuracy::Step)
      bound = boundOfStep(function, operands, numbers, value);
    else if (!is_exact || has_open_sign)
      bound = Spread(function, operands, numbers, value).spread();
    if (std::isfinite(value) && isFloatingType(types.result))
      bound += ownError(function, types.result, value, bound, is_exact);
    const bool may_have_either_sign = std::ranges::any_of(operands, [](const Element& operand) {
      return operand.bound > 0 && std::fabs(operand.number) <= operand.bound;
    });
    if (may_have_either_sign && value == 0 && bound == 0 && isFloatingType(types.result)) bound = kOpenSign;
  }
  if (isFloatingType(types.result)) {
    Element result = finish(types.result, value, bound, mode);
    result.is_overflow = isOverflow(function, types.result, operands, result);
    return result;
  }
  return {.integer = static_cast<int64_t>(value), .bound = static_cast<double>(bound)};
}

template <class T>
Element applyIntegral(FunctionId function, std::span<const Element> operands) {
  std::array<T, 4> values{};
  for (size_t i = 0; i < operands.size(); ++i) values[i] = static_cast<T>(operands[i].integer);
  const T value = callRow<T>(function, values.data());
  if (std::ranges::all_of(operands, isExact)) return {.integer = static_cast<int64_t>(value)};
  // Uncertain integers come of uncertain casts and choices; a bool is then either.
  const bool is_logic = std::is_same_v<T, bool> && operands.size() <= 2;
  if (!is_logic) return {.integer = static_cast<int64_t>(value), .bound = kInfinity};
  bool is_certain = true;
  for (int corner = 0; corner < 4; ++corner) {
    std::array<T, 4> there = values;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!isExact(operands[i])) there[i] = static_cast<T>((corner >> i) & 1);
    }
    is_certain = is_certain && callRow<T>(function, there.data()) == value;
  }
  return {.integer = static_cast<int64_t>(value), .bound = is_certain ? 0.0 : 1.0};
}

// where: an uncertain condition leaves either value open; a certain one takes its operand with its bound.
Element choose(FunctionTypes types, std::span<const Element> operands) {
  const Element& taken = operands[operands[0].integer != 0 ? 1 : 2];
  if (isExact(operands[0])) return taken;
  const Element& other = operands[operands[0].integer != 0 ? 2 : 1];
  Element result = taken;
  const long double distance = isFloatingType(types.result)
                                   ? std::fabs(static_cast<long double>(taken.number) - other.number)
                                   : std::fabs(static_cast<long double>(taken.integer) - other.integer);
  const bool is_same = std::isnan(taken.number) ? std::isnan(other.number) : taken.number == other.number;
  if (is_same)
    result.bound = std::max(taken.bound, roundedUp(distance > 0 ? distance + other.bound : other.bound));
  else
    result.bound = std::isfinite(distance) ? std::max(taken.bound, roundedUp(distance + other.bound)) : kInfinity;
  if (isFloatingType(types.result) && taken.number == 0 && std::signbit(taken.number) != std::signbit(other.number)) {
    result.bound = std::max(result.bound, kOpenSign);
  }
  return result;
}

// Formulas of several operations, operation by operation: what cancels is then in the bound.
bool isComposed(FunctionId function) {
  return function == FunctionId::add_alpha || function == FunctionId::sub_alpha || function == FunctionId::addcmul ||
         function == FunctionId::lerp || function == FunctionId::threshold;
}

Element applyComposed(FunctionId function, FunctionTypes types, std::span<const Element> v, Mode mode) {
  const auto call = [&](FunctionId row, const Element& a, const Element& b) {
    const Element operands[] = {a, b};
    return applyFunction(row, types, operands, mode);
  };
  switch (function) {
    case FunctionId::add_alpha: return call(FunctionId::add, v[0], call(FunctionId::mul, v[1], v[2]));
    case FunctionId::sub_alpha: return call(FunctionId::sub, v[0], call(FunctionId::mul, v[1], v[2]));
    case FunctionId::addcmul:
      return call(FunctionId::add, v[0], call(FunctionId::mul, v[3], call(FunctionId::mul, v[1], v[2])));
    case FunctionId::threshold: {
      const Element compared[] = {v[0], v[1]};
      const FunctionTypes test{.operand = types.operand, .result = DataType::Bool};
      const Element chosen[] = {applyFunction(FunctionId::le, test, compared, mode), v[2], v[0]};
      return choose(types, chosen);
    }
    default: break;
  }
  // lerp from the nearer end.
  const Element difference = call(FunctionId::sub, v[1], v[0]);
  if (std::fabs(v[2].number) < 0.5) return call(FunctionId::add, v[0], call(FunctionId::mul, v[2], difference));
  const Element rest = call(FunctionId::sub, Element{.number = 1}, v[2]);
  return call(FunctionId::sub, v[1], call(FunctionId::mul, difference, rest));
}

}  // namespace

Element applyFunction(FunctionId function, FunctionTypes types, std::span<const Element> operands, Mode mode) {
  if (functionInfo(function).rule == TypeRule::Choose) return choose(types, operands);
  if (isComposed(function)) return applyComposed(function, types, operands, mode);
  switch (types.operand) {
    case DataType::I32: return applyIntegral<int32_t>(function, operands);
    case DataType::I64: return applyIntegral<int64_t>(function, operands);
    case DataType::Bool: return applyIntegral<bool>(function, operands);
    default: return applyFloating(function, types, operands, mode);
  }
}

namespace {

int64_t truncated(DataType to, long double value) {
  const int64_t lowest =
      to == DataType::I32 ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int64_t>::min();
  const int64_t highest =
      to == DataType::I32 ? std::numeric_limits<int32_t>::max() : std::numeric_limits<int64_t>::max();
  if (std::isnan(value)) return 0;
  if (value <= static_cast<long double>(lowest)) return lowest;
  if (value >= static_cast<long double>(highest)) return highest;
  return static_cast<int64_t>(value);
}

bool isWider(DataType to, DataType from) {
  const FloatFormat a = formatOf(to);
  const FloatFormat b = formatOf(from);
  return a.precision >= b.precision && a.min_exponent <= b.min_exponent;
}

Element fromFloating(const Element& element, DataType from, DataType to, Mode mode) {
  const long double value = element.number;
  const long double bound = element.bound;
  if (isFloatingType(to)) {
    if (isExact(element)) return {.number = static_cast<double>(roundTo(to, value))};
    if (isWider(to, from)) return finish(to, value, bound, mode);
    // Where the whole interval rounds to one number, the cast gives that; of zeros the sign stays open.
    const long double rounded = roundTo(to, value);
    if (roundTo(to, value - bound) == rounded && roundTo(to, value + bound) == rounded) {
      return {.number = static_cast<double>(rounded), .bound = rounded == 0 ? kOpenSign : 0};
    }
    return finish(to, value, bound + ulpOf(to, std::fabs(value) + bound) / 2, mode);
  }
  if (to == DataType::Bool) {
    const bool is_certain = isExactNumber(element) || std::fabs(value) > bound;
    return {.integer = static_cast<int64_t>(value != 0), .bound = is_certain ? 0.0 : 1.0};
  }
  const int64_t result = truncated(to, value);
  if (isExact(element)) return {.integer = result};
  if (!hasPromise(element)) return {.integer = result, .bound = kInfinity};
  const long double up = static_cast<long double>(truncated(to, value + bound)) - result;
  const long double down = static_cast<long double>(result) - truncated(to, value - bound);
  return {.integer = result, .bound = static_cast<double>(std::max(up, down))};
}

Element fromIntegral(const Element& element, DataType from, DataType to, Mode mode) {
  if (isFloatingType(to)) {
    const auto value = static_cast<long double>(element.integer);
    if (isExact(element)) return {.number = static_cast<double>(roundTo(to, value))};
    return finish(to, value, element.bound + ulpOf(to, std::fabs(value) + element.bound) / 2, mode);
  }
  if (to == DataType::Bool) {
    const bool is_certain = isExact(element) || std::fabs(static_cast<double>(element.integer)) > element.bound;
    return {.integer = static_cast<int64_t>(element.integer != 0), .bound = is_certain ? 0.0 : 1.0};
  }
  if (to == DataType::I32 && from == DataType::I64) {
    return {.integer = static_cast<int32_t>(element.integer), .bound = isExact(element) ? 0 : kInfinity};
  }
  return element;
}

}  // namespace

Element convertElement(const Element& element, DataType from, DataType to, Mode mode) {
  if (from == to) return element;
  return isFloatingType(from) ? fromFloating(element, from, to, mode) : fromIntegral(element, from, to, mode);
}

}  // namespace tokamak::oracle
