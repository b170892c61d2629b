#include "dist/nccl/staged_reduction.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/require.h"
#include "toolchain/nvrtc.h"

namespace tokamak {

namespace {

bool isExtreme(ReductionKind reduction) { return reduction == ReductionKind::Max || reduction == ReductionKind::Min; }

// Ordered integers: of a negative number all bits but the sign are flipped. The ends of the range are no numbers.
constexpr const char* kSource = R"(
typedef unsigned short Bits16;
__device__ float from_f16(Bits16 bits) { float f; asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(bits)); return f; }
__device__ Bits16 to_f16(float f) { Bits16 bits; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(f)); return bits; }
__device__ float from_bf16(Bits16 bits) { return __uint_as_float((unsigned)bits << 16); }
__device__ Bits16 to_bf16(float f) {
  unsigned bits = __float_as_uint(f);
  return f != f ? 0x7fff : (Bits16)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
__device__ float from_f32(float f) { return f; }
__device__ float to_f32(float f) { return f; }
__device__ int order(float f, int of_nan) {
  int bits = __float_as_int(f);
  return f != f ? of_nan : bits ^ ((bits >> 31) & 0x7fffffff);
}
__device__ long long order(double f, long long of_nan) {
  long long bits = __double_as_longlong(f);
  return f != f ? of_nan : bits ^ ((bits >> 63) & 0x7fffffffffffffffll);
}
__device__ float restore(int i) {
  bool is_nan = i == 0x7fffffff || i == (int)0x80000000;
  return __int_as_float(is_nan ? 0x7fc00000 : i ^ ((i >> 31) & 0x7fffffff));
}
__device__ double restore(long long i) {
  bool is_nan = i == 0x7fffffffffffffffll || i == (long long)0x8000000000000000ull;
  return __longlong_as_double(is_nan ? 0x7ff8000000000000ll : i ^ ((i >> 63) & 0x7fffffffffffffffll));
}
#define KERNEL(name, From, To, value)                                                       \
  extern "C" __global__ void name(const From* from, To* to, long long count) {              \
    const long long step = (long long)gridDim.x * blockDim.x;                               \
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) { \
      const From x = from[i];                                                               \
      to[i] = value;                                                                        \
    }                                                                                       \
  }
#define WIDENED(type, Bits)                                                   \
  KERNEL(widen_##type, Bits, float, from_##type(x))                           \
  KERNEL(narrow_##type, float, Bits, to_##type(x))
#define ORDERED(type, Bits)                                                   \
  KERNEL(order_max_##type, Bits, int, order(from_##type(x), 0x7fffffff))      \
  KERNEL(order_min_##type, Bits, int, order(from_##type(x), (int)0x80000000)) \
  KERNEL(restore_##type, int, Bits, to_##type(restore(x)))
WIDENED(f16, Bits16)
WIDENED(bf16, Bits16)
ORDERED(f16, Bits16)
ORDERED(bf16, Bits16)
ORDERED(f32, float)
KERNEL(order_max_f64, double, long long, order(x, 0x7fffffffffffffffll))
KERNEL(order_min_f64, double, long long, order(x, (long long)0x8000000000000000ull))
KERNEL(restore_f64, long long, double, restore(x))
)";

}  // namespace

const std::string& reductionKernelSource() {
  static const std::string source = kSource;
  return source;
}

DataType stagedType(ReductionKind reduction, DataType dtype) {
  if (isExtreme(reduction)) {
    if (dtype == DataType::F64) return DataType::I64;
    return isHalfType(dtype) || dtype == DataType::F32 ? DataType::I32 : dtype;
  }
  return isHalfType(dtype) ? DataType::F32 : dtype;
}

ReductionKernels::ReductionKernels(std::shared_ptr<DriverContext> context, std::string architecture, std::string image)
    : context_(std::move(context)), architecture_(std::move(architecture)), image_(std::move(image)) {}

std::shared_ptr<const CudaWork> ReductionKernels::stage(ReductionKind reduction, DataType dtype, int64_t count) {
  const std::string type(dataTypeName(dtype));
  const std::string name =
      isExtreme(reduction) ? fmt::format("order_{}_{}", enumName(reduction), type) : fmt::format("widen_{}", type);
  return make(name, count, reduction, dtype);
}

std::shared_ptr<const CudaWork> ReductionKernels::unstage(ReductionKind reduction, DataType dtype, int64_t count) {
  return make(fmt::format("{}_{}", isExtreme(reduction) ? "restore" : "narrow", dataTypeName(dtype)), count, reduction,
              dtype);
}

std::shared_ptr<const CudaWork> ReductionKernels::make(const std::string& name, int64_t count, ReductionKind reduction,
                                                       DataType dtype) {
  constexpr int64_t kThreads = 256;
  constexpr int64_t kMostBlocks = 2048;
  const std::lock_guard lock(mutex_);
  if (module_ == nullptr) {
    try {
      if (image_.empty())
        image_ =
            NvrtcCompiler({.architecture = architecture_, .extra_flags = {}}).compile(reductionKernelSource())->image;
    } catch (const Error& error) {
      TK_REQUIRE(error.code() != ErrorCode::Unsupported, Unsupported, "a {} of {} over NCCL is staged by a kernel: {}",
                 enumName(reduction), dataTypeName(dtype), error.message());
      throw;
    }
    module_ = CudaModule::load(context_, image_);
  }
  const CudaLaunch launch = {.grid = {std::min(kMostBlocks, (count + kThreads - 1) / kThreads), 1, 1},
                             .block = {kThreads, 1, 1}};
  return std::make_shared<CudaKernelWork>(module_->function(name), launch, 2,
                                          std::vector<uint64_t>{static_cast<uint64_t>(count)}, name);
}

}  // namespace tokamak
