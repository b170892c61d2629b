#include <algorithm>

#include "device_fixture.h"
#include "runtime/cpu/cpu_device.h"

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
          .make = [options] { return std::make_unique<CpuDevice>(options); },
          .make_add_one = [](Device&, int64_t count) { return std::make_unique<CpuAddOne>(count); },
          .fail_allocation = [](Device& device, int64_t n) { static_cast<CpuDevice&>(device).failAllocation(n); }};
}

}  // namespace

std::vector<DeviceCase> deviceCases() {
  return {cpuCase("cpu", {}), cpuCase("cpu_one_thread", {.threads = 1}), cpuCase("cpu_four_threads", {.threads = 4}),
          cpuCase("cpu_small_ring", {.ring_bytes = 256}), cpuCase("cpu_poisoned", {.poisons_memory = true})};
}

}  // namespace tokamak
