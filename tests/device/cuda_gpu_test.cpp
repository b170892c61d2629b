// What only a GPU can show: kernels that were compiled for it, its shared memory and clusters, its faults. Skipped by
// name without one.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "device/tensor_copies.h"
#include "error_of.h"
#include "jit/jit_device.h"
#include "jit/open_device.h"
#include "toolchain/nvrtc.h"

namespace tokamak {

namespace {

constexpr const char* kSource = R"(
extern "C" __global__ void store(long long* out, long long a, double b, int c, bool d) {
  out[0] = a;
  out[1] = (long long)b;
  out[2] = c;
  out[3] = d;
}
extern "C" __global__ void reverse(int* out, int count) {
  extern __shared__ int staged[];
  for (int i = threadIdx.x; i < count; i += blockDim.x) staged[i] = i;
  __syncthreads();
  for (int i = threadIdx.x; i < count; i += blockDim.x) out[i] = staged[count - 1 - i];
}
extern "C" __global__ void clusters(unsigned* out) {
  unsigned blocks;
  asm volatile("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(blocks));
  if (threadIdx.x == 0) out[blockIdx.x] = blocks;
}
extern "C" __global__ void add_one(int* values) {
  values[(long long)blockIdx.x * blockDim.x + threadIdx.x] += 1;
}
extern "C" __global__ void wild(int* out) { *out = 1; }
)";

// For this architecture; null where there is no NVRTC.
std::shared_ptr<const Cubin> compiled(const std::string& architecture) {
  try {
    return NvrtcCompiler({.architecture = architecture}).compile(kSource);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Unsupported) throw;
    return nullptr;
  }
}

TEST(CudaGpuSource, CompilesWhereThereIsACompiler) {
  const auto cubin = compiled("sm_90");
  if (cubin == nullptr) GTEST_SKIP() << "there is no NVRTC";
  EXPECT_FALSE(cubin->image.empty());
}

class CudaGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = reasonForNoCuda(); !reason.empty()) GTEST_SKIP() << reason;
    device_ = std::make_unique<JitCudaDevice>(0);
    stream_ = device_->createStream();
    const CudaProperties& gpu = device_->cudaProperties();
    const auto cubin = compiled(fmt::format("sm_{}{}", gpu.capability_major, gpu.capability_minor));
    if (cubin == nullptr) GTEST_SKIP() << "there is no NVRTC";
    module_ = CudaModule::load(device_->context(), cubin->image);
  }

  template <class T>
  std::vector<T> read(const void* address, size_t count) {
    std::vector<T> values(count);
    device_->copy(*stream_, values.data(), address, static_cast<int64_t>(count * sizeof(T)));
    device_->synchronize(*stream_);
    return values;
  }

  std::unique_ptr<CudaDevice> device_;
  std::shared_ptr<Stream> stream_;
  std::shared_ptr<const CudaModule> module_;
};

TEST_F(CudaGpu, AKernelReadsEveryArgumentWithItsOwnSize) {
  const CudaKernelWork work(module_->function("store"), {}, 3, {0x1'0000'0007ULL, 0x01}, "store");
  void* const out = device_->allocate(32, MemoryKind::Device, *stream_);
  const double b = 42.0;
  std::array<void*, 3> addresses = {out, std::bit_cast<void*>(int64_t{-5}), nullptr};
  static_assert(sizeof(b) == sizeof(void*));
  std::memcpy(static_cast<void*>(&addresses[2]), &b, sizeof(b));
  device_->launch(*stream_, work, addresses);
  EXPECT_EQ(read<int64_t>(out, 4), (std::vector<int64_t>{-5, 42, 7, 1}));
  device_->release(out, 32, MemoryKind::Device, *stream_);
}

TEST_F(CudaGpu, ABlockMayHaveAllSharedMemoryThatTheDeviceGives) {
  const int64_t bytes = device_->cudaProperties().shared_bytes_per_block_optin;
  const auto count = static_cast<size_t>(bytes) / sizeof(int32_t);
  const CudaFunction reverse = module_->function("reverse");
  EXPECT_GT(reverse.resources.registers, 0);
  const CudaKernelWork large(reverse, {.block = {256, 1, 1}, .shared_bytes = bytes}, 1, {count}, "reverse");
  const CudaKernelWork small(reverse, {.block = {256, 1, 1}, .shared_bytes = 4096}, 1, {1024}, "reverse");
  void* const out = device_->allocate(bytes, MemoryKind::Device, *stream_);
  const std::array<void*, 1> addresses = {out};
  device_->launch(*stream_, small, addresses);
  device_->launch(*stream_, large, addresses);
  std::vector<int32_t> expected(count);
  std::iota(expected.rbegin(), expected.rend(), 0);
  EXPECT_EQ(read<int32_t>(out, count), expected);
  EXPECT_EQ(errorOf([&] {
              CudaKernelWork(reverse, {.block = {256, 1, 1}, .shared_bytes = bytes + 1}, 1, {count}, "reverse");
            }).code(),
            ErrorCode::Device);
  device_->release(out, bytes, MemoryKind::Device, *stream_);
}

TEST_F(CudaGpu, BlocksMayBeClustersAndRunAtOnce) {
  if (!device_->cudaProperties().has_clusters) GTEST_SKIP() << "this GPU has no clusters";
  void* const out = device_->allocate(64 * 4, MemoryKind::Device, *stream_);
  const std::array<void*, 1> addresses = {out};
  for (const int64_t blocks : {1, 2, 8, 16}) {
    const CudaKernelWork work(module_->function("clusters"),
                              {.grid = {64, 1, 1}, .block = {32, 1, 1}, .cluster = {blocks, 1, 1}}, 1, {}, "clusters");
    device_->launch(*stream_, work, addresses);
    EXPECT_EQ(read<uint32_t>(out, 64), std::vector<uint32_t>(64, static_cast<uint32_t>(blocks)));
  }
  const CudaKernelWork together(module_->function("clusters"),
                                {.grid = {64, 1, 1}, .block = {32, 1, 1}, .is_cooperative = true}, 1, {}, "together");
  device_->launch(*stream_, together, addresses);
  const CudaKernelWork overlapping(module_->function("clusters"),
                                   {.grid = {64, 1, 1}, .block = {32, 1, 1}, .may_overlap_previous = true}, 1, {},
                                   "overlapping");
  device_->launch(*stream_, overlapping, addresses);
  device_->synchronize(*stream_);
  const CudaKernelWork too_many(module_->function("clusters"), {.grid = {1 << 20, 1, 1}, .is_cooperative = true}, 1, {},
                                "too many");
  EXPECT_EQ(errorOf([&] { device_->launch(*stream_, too_many, addresses); }).code(), ErrorCode::Device);
  device_->synchronize(*stream_);  // the device is not lost
  device_->release(out, 64 * 4, MemoryKind::Device, *stream_);
}

TEST_F(CudaGpu, ALaunchThatIsTooLargeIsATypedErrorAndTheNextOneWorks) {
  void* const values = device_->allocate(4096, MemoryKind::Device, *stream_);
  device_->fill(*stream_, values, 0, 4096);
  const std::array<void*, 1> addresses = {values};
  const CudaKernelWork large(module_->function("add_one"), {.block = {32, 64, 1}}, 1, {}, "large");
  const Error error = errorOf([&] { device_->launch(*stream_, large, addresses); });
  EXPECT_EQ(error.code(), ErrorCode::Device);
  EXPECT_THAT(error.message(), testing::StartsWith("launching large as [1, 1, 1] blocks of [32, 64, 1] threads"));
  const CudaKernelWork nothing(module_->function("add_one"), {.grid = {0, 1, 1}, .block = {1024, 1, 1}}, 1, {}, "none");
  const CudaKernelWork work(module_->function("add_one"), {.block = {1024, 1, 1}}, 1, {}, "add one");
  device_->launch(*stream_, nothing, addresses);
  device_->launch(*stream_, work, addresses);
  EXPECT_EQ(read<int32_t>(values, 1024), std::vector<int32_t>(1024, 1));
  device_->release(values, 4096, MemoryKind::Device, *stream_);
}

TEST_F(CudaGpu, EveryKindOfMemoryIsCopiedToEveryOther) {
  constexpr int64_t kBytes = 1 << 20;
  std::vector<unsigned char> pageable(kBytes);
  for (size_t i = 0; i < pageable.size(); ++i) pageable[i] = static_cast<unsigned char>(i * 7);
  std::vector<unsigned char> result(kBytes);
  void* const a = device_->allocate(kBytes, MemoryKind::Device, *stream_);
  void* const b = device_->allocate(kBytes, MemoryKind::Device, *stream_);
  void* const pinned = device_->allocate(kBytes, MemoryKind::Pinned, *stream_);
  void* const host = device_->allocate(kBytes, MemoryKind::Host, *stream_);
  device_->copy(*stream_, host, pageable.data(), kBytes);
  device_->copy(*stream_, pinned, host, kBytes);
  device_->copy(*stream_, a, pinned, kBytes);
  device_->copy(*stream_, b, a, kBytes);
  device_->fill(*stream_, a, 0, kBytes);
  device_->copy(*stream_, a, b, kBytes);
  device_->copy(*stream_, result.data(), a, kBytes);
  device_->synchronize(*stream_);
  EXPECT_EQ(result, pageable);
  for (void* const memory : {pinned, host}) {
    device_->fill(*stream_, memory, 0x5A, kBytes);
    device_->synchronize(*stream_);
    const auto* const bytes = static_cast<const unsigned char*>(memory);
    EXPECT_EQ(std::count(bytes, bytes + kBytes, 0x5A), kBytes);
  }
  for (void* const memory : {a, b}) device_->release(memory, kBytes, MemoryKind::Device, *stream_);
  device_->release(pinned, kBytes, MemoryKind::Pinned, *stream_);
  device_->release(host, kBytes, MemoryKind::Host, *stream_);
}

TEST_F(CudaGpu, TheDeviceWaitsForFlagsByItself) {
  const auto other = device_->createStream();
  void* const values = device_->allocate(64, MemoryKind::Device, *stream_);
  for (const MemoryKind kind : {MemoryKind::Device, MemoryKind::Pinned}) {
    auto* const flag = static_cast<uint64_t*>(device_->allocate(8, kind, *stream_));
    EXPECT_TRUE(device_->context()->flagAddress(flag).has_value());
    device_->fill(*stream_, flag, 0, 8);
    device_->fill(*stream_, values, 0, 64);
    device_->synchronize(*stream_);
    const auto event = device_->createEvent();
    device_->waitFlag(*other, flag, 5);
    device_->fill(*other, values, 1, 64);
    device_->record(*event, *other);
    device_->writeFlag(*stream_, flag, 4);
    device_->synchronize(*stream_);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_FALSE(device_->isDone(*event));
    device_->writeFlag(*stream_, flag, 5);
    device_->synchronize(*other);
    EXPECT_EQ(read<unsigned char>(values, 64), std::vector<unsigned char>(64, 1));
    device_->release(flag, 8, kind, *stream_);
  }
  device_->release(values, 64, MemoryKind::Device, *stream_);
  uint64_t pageable = 0;
  EXPECT_FALSE(device_->context()->flagAddress(&pageable).has_value());
}

TEST_F(CudaGpu, MemoryThatIsOutIsATypedErrorAndTheNextRequestWorks) {
  const int64_t most = device_->properties().memory_bytes / 100 * 55;
  void* const first = device_->allocate(most, MemoryKind::Device, *stream_);
  const Error error = errorOf([&] { device_->allocate(most, MemoryKind::Device, *stream_); });
  EXPECT_EQ(error.code(), ErrorCode::OutOfMemory);
  EXPECT_THAT(error.message(), testing::HasSubstr(std::to_string(most)));
  device_->release(first, most, MemoryKind::Device, *stream_);
  void* const second = device_->allocate(most / 2, MemoryKind::Device, *stream_);
  device_->fill(*stream_, second, 0, most / 2);
  device_->synchronize(*stream_);
  device_->release(second, most / 2, MemoryKind::Device, *stream_);
}

// In a process of its own: the context is lost with it.
void provokeIllegalAddress() {
  try {
    JitCudaDevice device(0);
    const auto stream = device.createStream();
    const CudaProperties& gpu = device.cudaProperties();
    const auto cubin = compiled(fmt::format("sm_{}{}", gpu.capability_major, gpu.capability_minor));
    const CudaKernelWork work(CudaModule::load(device.context(), cubin->image)->function("wild"), {}, 1, {}, "wild");
    const std::array<void*, 1> addresses = {std::bit_cast<void*>(int64_t{16})};
    device.launch(*stream, work, addresses);
    for (int i = 0; i < 2; ++i) {
      try {
        device.synchronize(*stream);
      } catch (const Error& error) {
        std::fprintf(stderr, "%s: %s\n", std::string(errorCodeName(error.code())).c_str(), error.message().c_str());
      }
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "unexpected: %s\n", error.what());
    std::exit(1);
  }
  std::exit(7);
}

TEST_F(CudaGpu, AnIllegalAddressIsTypedKeepsItsCauseAndTheProcessLeavesCleanly) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(provokeIllegalAddress(), testing::ExitedWithCode(7),
              "device: .*CUDA_ERROR_ILLEGAL_ADDRESS.*\n.*device: .*is lost for this process; the first cause was: "
              ".*CUDA_ERROR_ILLEGAL_ADDRESS");
}

}  // namespace

}  // namespace tokamak
