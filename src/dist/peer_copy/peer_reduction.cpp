#include "dist/peer_copy/peer_reduction.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/require.h"
#include "toolchain/nvrtc.h"

namespace tokamak {

namespace {

// Maxima and minima as symbolic/formulas.h has them: NaN stays, and of two zeros the positive one is the larger.
constexpr const char* kSource = R"(
typedef unsigned short Bits16;
typedef long long Count;
__device__ float from_f16(Bits16 bits) { float f; asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(bits)); return f; }
__device__ Bits16 to_f16(float f) { Bits16 bits; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(f)); return bits; }
__device__ float from_bf16(Bits16 bits) { return __uint_as_float((unsigned)bits << 16); }
__device__ Bits16 to_bf16(float f) {
  unsigned bits = __float_as_uint(f);
  return f != f ? 0x7fff : (Bits16)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
template <class T> __device__ T same(T x) { return x; }
__device__ bool is_negative(float x) { return __float_as_int(x) < 0; }
__device__ bool is_negative(double x) { return __double_as_longlong(x) < 0; }
template <class T> __device__ T sum(T x, T y) { return x + y; }
template <class T> __device__ T prod(T x, T y) { return x * y; }
template <class T> __device__ T float_max(T x, T y) {
  return x != x ? x : x == y ? (is_negative(x) ? y : x) : x > y ? x : y;
}
template <class T> __device__ T float_min(T x, T y) {
  return x != x ? x : x == y ? (is_negative(x) ? x : y) : x < y ? x : y;
}
template <class T> __device__ T whole_max(T x, T y) { return x > y ? x : y; }
template <class T> __device__ T whole_min(T x, T y) { return x < y ? x : y; }
#define KERNEL(name, Element, load, store, combine)                                                               \
  extern "C" __global__ void reduce_##name(const Element* parts, const Element* own, Element* out, Count count,   \
                                           Count members, Count own_member, Count stride) {                       \
    const Count step = (Count)gridDim.x * blockDim.x;                                                             \
    for (Count i = (Count)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {                          \
      const Element mine = own[i];                                                                                \
      auto total = load(own_member == 0 ? mine : parts[i]);                                                       \
      for (Count member = 1; member < members; ++member) {                                                        \
        const Count slot = member - (member > own_member);                                                        \
        total = combine(total, load(member == own_member ? mine : parts[slot * stride + i]));                     \
      }                                                                                                           \
      out[i] = store(total);                                                                                      \
    }                                                                                                             \
  }
#define FLOATING(type, Element, load, store)            \
  KERNEL(sum_##type, Element, load, store, sum)         \
  KERNEL(prod_##type, Element, load, store, prod)       \
  KERNEL(max_##type, Element, load, store, float_max)   \
  KERNEL(min_##type, Element, load, store, float_min)
#define WHOLE(type, Element, Unsigned)                       \
  KERNEL(sum_##type, Unsigned, same, same, sum)              \
  KERNEL(prod_##type, Unsigned, same, same, prod)            \
  KERNEL(max_##type, Element, same, same, whole_max)         \
  KERNEL(min_##type, Element, same, same, whole_min)
FLOATING(f16, Bits16, from_f16, to_f16)
FLOATING(bf16, Bits16, from_bf16, to_bf16)
FLOATING(f32, float, same, same)
FLOATING(f64, double, same, same)
WHOLE(i32, int, unsigned)
WHOLE(i64, long long, unsigned long long)
KERNEL(max_bool, unsigned char, same, same, whole_max)
KERNEL(min_bool, unsigned char, same, same, whole_min)
)";

}  // namespace

const std::string& peerReductionSource() {
  static const std::string source = kSource;
  return source;
}

PeerReductions::PeerReductions(std::shared_ptr<DriverContext> context, std::string architecture, std::string image)
    : context_(std::move(context)), architecture_(std::move(architecture)), image_(std::move(image)) {}

std::shared_ptr<const CudaWork> PeerReductions::make(ReductionKind reduction, DataType dtype, int64_t members,
                                                     int64_t own_member, int64_t stride) {
  constexpr int64_t kThreads = 256;
  constexpr int64_t kMostBlocks = 1024;
  const std::string name = fmt::format("reduce_{}_{}", enumName(reduction), dataTypeName(dtype));
  const std::lock_guard lock(mutex_);
  if (module_ == nullptr) {
    try {
      if (image_.empty())
        image_ =
            NvrtcCompiler({.architecture = architecture_, .extra_flags = {}}).compile(peerReductionSource())->image;
    } catch (const Error& error) {
      TK_REQUIRE(error.code() != ErrorCode::Unsupported, Unsupported,
                 "a {} of {} over peer copies is done by a kernel: {}", enumName(reduction), dataTypeName(dtype),
                 error.message());
      throw;
    }
    module_ = CudaModule::load(context_, image_);
  }
  const CudaLaunch launch = {.grid = {std::clamp((stride + kThreads - 1) / kThreads, int64_t{1}, kMostBlocks), 1, 1},
                             .block = {kThreads, 1, 1}};
  std::vector<uint64_t> scalars;
  for (const int64_t scalar : {members, own_member, stride}) scalars.push_back(static_cast<uint64_t>(scalar));
  return std::make_shared<CudaKernelWork>(module_->function(name), launch, 4, std::move(scalars), name);
}

}  // namespace tokamak
