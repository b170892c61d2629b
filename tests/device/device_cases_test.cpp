#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "device/work.h"
#include "device_fixture.h"
#include "jit/jit_device.h"
#include "jit/open_device.h"
#include "toolchain/nvrtc.h"

namespace tokamak {

namespace {

class CpuAddOne final : public CpuWork {
 public:
  explicit CpuAddOne(int64_t count) : count_(count) {}
  std::string_view name() const override { return "add one"; }
  void run(void* const* addresses, BlockPool& pool) const override {
    const auto* const in = static_cast<const double*>(addresses[0]);
    auto* const out = static_cast<double*>(addresses[1]);
    constexpr int64_t kPerBlock = 64;
    pool.parallelFor((count_ + kPerBlock - 1) / kPerBlock, [&](int64_t block) {
      const int64_t end = std::min(count_, (block + 1) * kPerBlock);
      for (int64_t i = block * kPerBlock; i < end; ++i) out[i] = in[i] + 1;
    });
  }

 private:
  int64_t count_;
};

DeviceCase cpuCase(const char* name, const CpuDeviceOptions& options) {
  return {.name = name,
          .make = [options] { return std::make_unique<JitCpuDevice>(options); },
          .make_add_one = [](Device&, int64_t count) { return std::make_unique<CpuAddOne>(count); },
          .fail_allocation = [](Device& device, int64_t n) { static_cast<CpuDevice&>(device).failAllocation(n); }};
}

constexpr const char* kAddOneSource = R"(
extern "C" __global__ void add_one(const double* in, double* out, long long count) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = in[i] + 1;
}
)";
constexpr const char* kFakeAddOne = "fake module\nadd_one add_one 8 8 8\n";

std::unique_ptr<Work> cudaAddOne(Device& device, const std::string& image, int64_t count) {
  auto& cuda = static_cast<CudaDevice&>(device);
  constexpr int64_t kThreads = 128;
  const CudaLaunch launch = {.grid = {(count + kThreads - 1) / kThreads, 1, 1}, .block = {kThreads, 1, 1}};
  return std::make_unique<CudaKernelWork>(CudaModule::load(cuda.context(), image)->function("add_one"), launch, 2,
                                          std::vector<uint64_t>{static_cast<uint64_t>(count)}, "add one");
}

// Null where there is no compiler.
std::unique_ptr<Work> compiledAddOne(Device& device, int64_t count) {
  const CudaProperties& gpu = static_cast<CudaDevice&>(device).cudaProperties();
  try {
    NvrtcCompiler compiler({.architecture = fmt::format("sm_{}{}", gpu.capability_major, gpu.capability_minor)});
    return cudaAddOne(device, compiler.compile(kAddOneSource)->image, count);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Unsupported) throw;
    return nullptr;
  }
}

void failCudaAllocation(Device& device, int64_t n) { static_cast<CudaDevice&>(device).failAllocation(n); }

DeviceCase cudaCase() {
  return {.name = "cuda",
          .make = [] { return openCudaDevice(0); },
          .make_add_one = compiledAddOne,
          .fail_allocation = failCudaAllocation,
          .reason_missing = reasonForNoCuda};
}

// The same device on a driver without a GPU.
DeviceCase fakeCudaCase(const char* name, bool poisons_memory) {
  return {.name = name,
          .make = [=] { return openCudaDevice(0, {.driver = TOKAMAK_FAKE_DRIVER, .poisons_memory = poisons_memory}); },
          .make_add_one = [](Device& device, int64_t count) { return cudaAddOne(device, kFakeAddOne, count); },
          .fail_allocation = failCudaAllocation};
}

}  // namespace

std::vector<DeviceCase> deviceCases() {
  return {cpuCase("cpu", {}),
          cpuCase("cpu_one_thread", {.threads = 1}),
          cpuCase("cpu_four_threads", {.threads = 4}),
          cpuCase("cpu_small_ring", {.ring_bytes = 256}),
          cpuCase("cpu_poisoned", {.poisons_memory = true}),
          cudaCase(),
          fakeCudaCase("cuda_fake", false),
          fakeCudaCase("cuda_fake_poisoned", true)};
}

}  // namespace tokamak
