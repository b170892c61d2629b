#include <array>
#include <utility>

#include "base/half.h"
#include "loops/lane_casts.h"
#include "symbolic/formulas.h"

namespace tokamak {

namespace {

template <DataType type>
struct TypeOf;
template <>
struct TypeOf<DataType::F64> {
  using Type = double;
};
template <>
struct TypeOf<DataType::F32> {
  using Type = float;
};
template <>
struct TypeOf<DataType::F16> {
  using Type = Half;
};
template <>
struct TypeOf<DataType::BF16> {
  using Type = BFloat16;
};
template <>
struct TypeOf<DataType::I32> {
  using Type = int32_t;
};
template <>
struct TypeOf<DataType::I64> {
  using Type = int64_t;
};
template <>
struct TypeOf<DataType::Bool> {
  using Type = bool;
};

// To odd: what was cut off is remembered in the last bit, so that rounding again to a much shorter format rounds once.
float toFloatOdd(double value) {
  const auto nearest = static_cast<float>(value);
  const auto back = static_cast<double>(nearest);
  if (back == value || value != value) return nearest;
  auto bits = std::bit_cast<uint32_t>(nearest);
  if ((bits & 1U) != 0) return nearest;
  const bool is_too_large = (back < 0 ? -back : back) > (value < 0 ? -value : value);
  bits = is_too_large ? bits - 1 : bits + 1;
  return std::bit_cast<float>(bits);
}

float toFloatOdd(int64_t value) {
  constexpr int64_t kept = ~int64_t{0x7ff};  // 53 bits of 64
  const bool is_exact = value >= -(int64_t{1} << 53U) && value <= (int64_t{1} << 53U);
  if (is_exact || (value & ~kept) == 0) return toFloatOdd(static_cast<double>(value));
  return toFloatOdd(static_cast<double>((value & kept) | 0x800));
}

float toFloatOdd(float value) { return value; }
float toFloatOdd(int32_t value) { return toFloatOdd(static_cast<double>(value)); }
float toFloatOdd(bool value) { return value ? 1.0F : 0.0F; }

template <class To, class From>
To convertStored(From value) {
  if constexpr (lanes::is_half<From>) {
    return convertStored<To>(toFloat(value));
  } else if constexpr (std::is_same_v<To, Half>) {
    return toHalf(toFloatOdd(value));
  } else if constexpr (std::is_same_v<To, BFloat16>) {
    return toBFloat16(toFloatOdd(value));
  } else {
    return formula::convert<To>(value);
  }
}

template <class To, class From>
struct CastBody {
  template <int64_t bytes>
  TK_LANES static void run(void* out, const void* in, int64_t n) {
    auto* const to = static_cast<To*>(out);
    const auto* const from = static_cast<const From*>(in);
    int64_t i = 0;
    if constexpr (lanes::has_lane_cast<To, From>) {
      // Half types are computed with as floats.
      constexpr int64_t count = lanes::kLaneCount<bytes, To, From, lanes::Computed<To>, lanes::Computed<From>>;
      for (; i + count <= n; i += count) {
        lanes::store(to + i, lanes::converted<To, From>(lanes::load<From, count>(from + i)));
      }
    }
    for (; i < n; ++i) to[i] = convertStored<To>(from[i]);
  }
};

constexpr size_t kTypeCount = kAllDataTypes.size();

template <size_t... I>
constexpr auto castTable(VectorWidth width, std::index_sequence<I...>) {
  return std::array<CastLoop, kTypeCount * kTypeCount>{
      lanes::loopOf<CastBody<typename TypeOf<static_cast<DataType>(I / kTypeCount)>::Type,
                             typename TypeOf<static_cast<DataType>(I % kTypeCount)>::Type>,
                    CastLoop>(width)...};
}

constexpr auto kPairs = std::make_index_sequence<kTypeCount * kTypeCount>();
constexpr auto kNarrowCasts = castTable(VectorWidth::Narrow, kPairs);
constexpr auto kWideCasts = castTable(VectorWidth::Wide, kPairs);

}  // namespace

CastLoop castLoop(DataType to, DataType from, VectorWidth width) {
  const auto& casts = width == VectorWidth::Wide ? kWideCasts : kNarrowCasts;
  return casts[static_cast<size_t>(to) * kTypeCount + static_cast<size_t>(from)];
}

void fillWith(const ScalarValue& value, DataType dtype, void* out, int64_t n) {
  std::visit(
      [&](auto number) {
        using From = decltype(number);
        const DataType from = std::is_same_v<From, double> ? DataType::F64
                              : std::is_same_v<From, bool> ? DataType::Bool
                                                           : DataType::I64;
        alignas(8) char one[8];
        castLoop(dtype, from)(one, &number, 1);
        copyStrided(out, 1, one, 0, n, sizeOf(dtype));
      },
      dtype == DataType::I32 ? convertValue(value, DataType::I32) : value);
}

void fillCounting(int64_t first, int64_t step, DataType dtype, void* out, int64_t n) {
  constexpr int64_t block = 64;
  int64_t numbers[block];
  for (int64_t begin = 0; begin < n; begin += block) {
    const int64_t count = n - begin < block ? n - begin : block;
    for (int64_t i = 0; i < count; ++i) numbers[i] = first + (begin + i) * step;
    castLoop(dtype, DataType::I64)(static_cast<char*>(out) + begin * sizeOf(dtype), numbers, count);
  }
}

}  // namespace tokamak
