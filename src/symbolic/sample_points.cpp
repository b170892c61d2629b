#include "symbolic/sample_points.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace tokamak {

namespace {

using Number = std::optional<int64_t>;

Number apply(ScalarOp op, int64_t a, int64_t b) {
  const auto value = applyChecked(op, a, b);
  return value ? Number(asInt(*value)) : std::nullopt;
}

// The first member of the interval from `wish` on, or its last one.
Number memberFrom(const Interval& interval, int64_t wish) {
  if (interval.isExact()) return interval.lower;
  const int64_t start = std::clamp(wish, interval.lower, interval.upper);
  const auto offset = static_cast<int64_t>(
      ((static_cast<__int128>(interval.remainder) - start) % interval.divisor + interval.divisor) % interval.divisor);
  int64_t member = 0;
  if (!__builtin_add_overflow(start, offset, &member) && member <= interval.upper) return member;
  return interval.contains(interval.upper) ? Number(interval.upper) : std::nullopt;
}

// Where indices of n values are at each point: at both ends, and between.
int64_t indexAt(size_t point, int64_t n, const Scalar& index) {
  switch (point) {
    case 0: return 0;
    case 1: return n - 1;
    case 2: return n / 2;
    default:
      return static_cast<int64_t>((static_cast<uint64_t>(index.firstLeaf()) * 2654435761U >> 7) %
                                  static_cast<uint64_t>(n));
  }
}

// Where other symbols are: sizes that have no common divisor, and the largest one where there is one.
int64_t wishAt(size_t point, const Interval& interval) {
  constexpr std::array<int64_t, SamplePoints::kPoints> kSizes = {1, 997, 64, 35};
  constexpr int64_t kLarge = int64_t{1} << 48;
  return point == 1 && interval.upper < kLarge ? interval.upper : kSizes[point];
}

}  // namespace

void SamplePoints::assume(const Scalar& scalar, const Interval& interval) {
  const auto [place, is_first] = assumptions_.intervals.emplace(&scalar, interval);
  if (!is_first) place->second = meet(place->second, interval);
  unchecked_.push_back(&scalar);
}

void SamplePoints::assumeIndex(const Scalar& index, Scalar& extent) {
  assumptions_.extents[&index] = &extent;
  unchecked_.push_back(&index);
}

SamplePoints::Values SamplePoints::of(const Scalar& scalar) {
  // Checking may make further scalars known, but no further assumptions.
  while (valid_ != 0 && !unchecked_.empty()) {
    const Scalar* assumed = unchecked_.back();
    unchecked_.pop_back();
    dropUnlessMet(*assumed);
  }
  if (valid_ == 0) return {};
  Values values = valuesOf(scalar);
  values.known &= valid_;
  return values;
}

void SamplePoints::dropUnlessMet(const Scalar& scalar) {
  const Values values = valuesOf(scalar);
  const auto interval = assumptions_.intervals.find(&scalar);
  const auto extent = assumptions_.extents.find(&scalar);
  const Values sizes = extent == assumptions_.extents.end() ? Values() : valuesOf(*extent->second);
  for (size_t point = 0; point < kPoints; ++point) {
    bool is_met = values.has(point);
    if (is_met && interval != assumptions_.intervals.end()) is_met = interval->second.contains(values.at[point]);
    if (is_met && extent != assumptions_.extents.end())
      is_met = sizes.has(point) && values.at[point] >= 0 && values.at[point] < sizes.at[point];
    if (!is_met) drop(point);
  }
}

const SamplePoints::Values& SamplePoints::valuesOf(const Scalar& scalar) {
  if (const auto found = values_.find(&scalar); found != values_.end()) return found->second;
  const Values values = compute(scalar);
  return values_.emplace(&scalar, values).first->second;
}

SamplePoints::Values SamplePoints::choose(const Scalar& symbol) {
  const auto assumed = assumptions_.intervals.find(&symbol);
  Interval interval = Interval::ofType(symbol.dtype());
  if (assumed != assumptions_.intervals.end()) interval = meet(assumed->second, interval);
  const auto extent = assumptions_.extents.find(&symbol);
  const Values sizes = extent == assumptions_.extents.end() ? Values() : valuesOf(*extent->second);
  Values values;
  for (size_t point = 0; point < kPoints; ++point) {
    Number value;
    if (extent == assumptions_.extents.end()) {
      value = memberFrom(interval, wishAt(point, interval));
    } else if (sizes.has(point) && sizes.at[point] > 0) {
      value = memberFrom(interval, indexAt(point, sizes.at[point], symbol));
      if (value && (*value < 0 || *value >= sizes.at[point])) value.reset();
    }
    if (value) {
      values.at[point] = *value;
      values.known |= static_cast<uint8_t>(1U << point);
    } else {
      drop(point);
    }
  }
  return values;
}

SamplePoints::Values SamplePoints::compute(const Scalar& scalar) {
  if (isFloatingType(scalar.dtype()) || scalar.op() == ScalarOp::Function) return {};
  if (scalar.isSymbol()) return choose(scalar);
  Values operands[3];
  for (size_t i = 0; i < scalar.operands().size(); ++i) {
    if (isFloatingType(scalar.operand(i)->dtype())) return {};
    operands[i] = valuesOf(*scalar.operand(i));
  }
  Values values;
  for (size_t point = 0; point < kPoints; ++point) {
    const auto has = [&](size_t i) { return operands[i].has(point); };
    const auto at = [&](size_t i) { return operands[i].at[point]; };
    Number value;
    switch (scalar.op()) {
      case ScalarOp::Constant: value = asInt(scalar.value()); break;
      case ScalarOp::Not:
        if (has(0)) value = static_cast<int64_t>(at(0) == 0);
        break;
      case ScalarOp::Select:
        if (has(0) && has(at(0) != 0 ? 1 : 2)) value = at(at(0) != 0 ? 1 : 2);
        break;
      case ScalarOp::Cast: {
        const bool narrows = scalar.dtype() != DataType::I64 && scalar.dtype() != DataType::Bool;
        const bool fits =
            has(0) && at(0) >= std::numeric_limits<int32_t>::min() && at(0) <= std::numeric_limits<int32_t>::max();
        if (has(0) && scalar.dtype() == DataType::Bool)
          value = static_cast<int64_t>(at(0) != 0);
        else if (has(0) && (!narrows || (scalar.dtype() == DataType::I32 && fits)))
          value = at(0);
        break;
      }
      default:
        if (has(0) && has(1)) value = apply(scalar.op(), at(0), at(1));
        break;
    }
    if (!value) continue;
    values.at[point] = *value;
    values.known |= static_cast<uint8_t>(1U << point);
  }
  return values;
}

}  // namespace tokamak
