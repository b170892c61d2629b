#include "fake_kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>
#include <type_traits>

#include "base/half.h"

namespace fake {

namespace {

template <class T>
T argument(const Launch& launch, size_t index) {
  T value = {};
  std::memcpy(static_cast<void*>(&value), launch.arguments[index].data(),
              std::min(sizeof(T), launch.arguments[index].size()));  // NOLINT(bugprone-sizeof-expression): T may be one
  return value;
}

// (in, out, count): out = in + 1, an element for each thread.
int addOne(const Launch& launch) {
  const auto* const in = argument<const double*>(launch, 0);
  auto* const out = argument<double*>(launch, 1);
  const int64_t threads = int64_t{launch.grid[0]} * launch.block[0];
  for (int64_t i = 0; i < std::min(threads, argument<int64_t>(launch, 2)); ++i) out[i] = in[i] + 1;
  return 0;
}

// (out, values...): the grid, the block, the shared memory and the values, 8 bytes each.
int storeArguments(const Launch& launch) {
  auto* out = argument<int64_t*>(launch, 0);
  for (const uint32_t size : launch.grid) *out++ = size;
  for (const uint32_t size : launch.block) *out++ = size;
  *out++ = launch.shared_bytes;
  for (size_t i = 1; i < launch.arguments.size(); ++i) *out++ = argument<int64_t>(launch, i);
  return 0;
}

using tokamak::BFloat16;
using tokamak::Half;

// (from, to, count): the kernels of src/dist/nccl/staged_reduction.cpp.
template <class From, class To, class Convert>
int convertAll(const Launch& launch, const Convert& convert) {
  const auto* const from = argument<const From*>(launch, 0);
  auto* const to = argument<To*>(launch, 1);
  for (int64_t i = 0; i < argument<int64_t>(launch, 2); ++i) to[i] = convert(from[i]);
  return 0;
}

float wide(Half value) { return toFloat(value); }
float wide(BFloat16 value) { return toFloat(value); }
float wide(float value) { return value; }
double wide(double value) { return value; }
template <class T>
T narrow(double value) {
  if constexpr (std::is_same_v<T, Half>) return tokamak::toHalf(static_cast<float>(value));
  if constexpr (std::is_same_v<T, BFloat16>) return tokamak::toBFloat16(static_cast<float>(value));
  if constexpr (std::is_floating_point_v<T>) return static_cast<T>(value);
}

template <class T>
using Ordered = std::conditional_t<std::is_same_v<T, double>, int64_t, int32_t>;

template <class T>
int widenAll(const Launch& launch) {
  return convertAll<T, float>(launch, [](T value) { return wide(value); });
}
template <class T>
int narrowAll(const Launch& launch) {
  return convertAll<float, T>(launch, [](float value) { return narrow<T>(value); });
}
template <class T, bool is_max>
int orderAll(const Launch& launch) {
  using Integer = Ordered<T>;
  return convertAll<T, Integer>(launch, [](T value) {
    using Limits = std::numeric_limits<Integer>;
    const auto number = wide(value);
    if (std::isnan(number)) return is_max ? Limits::max() : Limits::min();
    const auto bits = std::bit_cast<Integer>(number);
    return bits < 0 ? static_cast<Integer>(bits ^ Limits::max()) : bits;
  });
}
template <class T>
int restoreAll(const Launch& launch) {
  using Integer = Ordered<T>;
  using Number = std::conditional_t<std::is_same_v<T, double>, double, float>;
  return convertAll<Integer, T>(launch, [](Integer value) {
    using Limits = std::numeric_limits<Integer>;
    if (value == Limits::max() || value == Limits::min()) return narrow<T>(std::numeric_limits<Number>::quiet_NaN());
    return narrow<T>(std::bit_cast<Number>(value < 0 ? static_cast<Integer>(value ^ Limits::max()) : value));
  });
}

// Sums and products of whole numbers wrap.
template <class A>
A sumOf(A x, A y) {
  if constexpr (std::is_floating_point_v<A>) return x + y;
  return static_cast<A>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y));
}
template <class A>
A productOf(A x, A y) {
  if constexpr (std::is_floating_point_v<A>) return x * y;
  return static_cast<A>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
}
// NaN stays, and of two zeros the positive one is the larger.
template <class A>
A largerOf(A x, A y) {
  if (x != x) return x;
  if constexpr (std::is_floating_point_v<A>)
    if (x == y) return std::signbit(x) ? y : x;
  return x > y ? x : y;
}
template <class A>
A smallerOf(A x, A y) {
  if (x != x) return x;
  if constexpr (std::is_floating_point_v<A>)
    if (x == y) return std::signbit(x) ? x : y;
  return x < y ? x : y;
}

template <class T>
auto accumulated(T value) {
  if constexpr (std::is_integral_v<T>)
    return value;
  else
    return wide(value);
}

// (parts, own, out, count, members, own_member, stride): the kernels of src/dist/peer_copy/peer_reduction.cpp.
template <class T, auto combine>
int reduceAll(const Launch& launch) {
  const auto* const parts = argument<const T*>(launch, 0);
  const auto* const own = argument<const T*>(launch, 1);
  auto* const out = argument<T*>(launch, 2);
  const auto members = argument<int64_t>(launch, 4);
  const auto own_member = argument<int64_t>(launch, 5);
  const auto stride = argument<int64_t>(launch, 6);
  for (int64_t i = 0; i < argument<int64_t>(launch, 3); ++i) {
    const auto termOf = [&](int64_t member) {
      return accumulated(member == own_member ? own[i] : parts[(member - (member > own_member ? 1 : 0)) * stride + i]);
    };
    auto total = termOf(0);
    for (int64_t member = 1; member < members; ++member) total = combine(total, termOf(member));
    if constexpr (std::is_integral_v<T>)
      out[i] = total;
    else
      out[i] = narrow<T>(total);
  }
  return 0;
}

template <class T>
Kernel combiningKernel(const std::string& name) {
  using A = decltype(accumulated(T{}));
  if (name.starts_with("reduce_sum")) return reduceAll<T, sumOf<A>>;
  if (name.starts_with("reduce_prod")) return reduceAll<T, productOf<A>>;
  if (name.starts_with("reduce_max")) return reduceAll<T, largerOf<A>>;
  if (name.starts_with("reduce_min")) return reduceAll<T, smallerOf<A>>;
  return nullptr;
}

Kernel combiningKernelOf(const std::string& name) {
  if (name.ends_with("_bf16")) return combiningKernel<BFloat16>(name);
  if (name.ends_with("_f16")) return combiningKernel<Half>(name);
  if (name.ends_with("_f32")) return combiningKernel<float>(name);
  if (name.ends_with("_f64")) return combiningKernel<double>(name);
  if (name.ends_with("_i32")) return combiningKernel<int32_t>(name);
  if (name.ends_with("_i64")) return combiningKernel<int64_t>(name);
  if (name.ends_with("_bool")) return combiningKernel<uint8_t>(name);
  return nullptr;
}

template <class T>
Kernel reductionKernel(const std::string& name) {
  if (name.starts_with("order_max")) return orderAll<T, true>;
  if (name.starts_with("order_min")) return orderAll<T, false>;
  if (name.starts_with("restore")) return restoreAll<T>;
  if (name.starts_with("widen")) return widenAll<T>;
  if (name.starts_with("narrow")) return narrowAll<T>;
  return nullptr;
}

int illegalAddress(const Launch&) { return 700; }

int nothing(const Launch&) { return 0; }

Kernel builtin(const std::string& name) {
  if (name == "add_one") return addOne;
  if (name == "store_arguments") return storeArguments;
  if (name == "illegal_address") return illegalAddress;
  if (name == "nothing") return nothing;
  if (name.starts_with("reduce_")) return combiningKernelOf(name);
  if (name.ends_with("_f16")) return reductionKernel<Half>(name);
  if (name.ends_with("_bf16")) return reductionKernel<BFloat16>(name);
  if (name.ends_with("_f32")) return reductionKernel<float>(name);
  if (name.ends_with("_f64")) return reductionKernel<double>(name);
  return nullptr;
}

}  // namespace

int loadModule(const char* image, Module& module) {
  std::istringstream lines(image);
  std::string line;
  std::getline(lines, line);
  if (line != "fake module") return 200;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string name;
    std::string function;
    words >> name >> function;
    Function made{.kernel = builtin(function)};
    if (made.kernel == nullptr) return 218;
    for (size_t bytes = 0; words >> bytes;) made.argument_bytes.push_back(bytes);
    module.functions[name] = std::move(made);
  }
  return 0;
}

}  // namespace fake
