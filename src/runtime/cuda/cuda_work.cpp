#include "runtime/cuda/cuda_work.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"
#include "kernel/gpu_launch_limits.h"

namespace tokamak {

namespace {

constexpr size_t kArgumentsOnStack = 512;  // more are possible and rare
constexpr int64_t kPortableCluster = 8;

int64_t product(const std::array<int64_t, 3>& sizes) { return sizes[0] * sizes[1] * sizes[2]; }

void requireLaunchable(const CudaLaunch& launch, const std::string& name) {
  for (size_t i = 0; i < 3; ++i) {
    TK_REQUIRE(launch.grid[i] >= 0 && launch.grid[i] <= kMostGpuBlocks[i], Unsupported,
               "kernel {}: a grid of [{}] blocks was asked for; legal are at most [{}]", name, joined(launch.grid),
               joined(kMostGpuBlocks));
    TK_REQUIRE(launch.block[i] >= 1 && launch.block[i] <= kMostGpuBlockThreads && launch.cluster[i] >= 1 &&
                   launch.cluster[i] <= kMostGpuBlockThreads,
               Unsupported, "kernel {}: blocks of [{}] threads in clusters of [{}] were asked for; legal are 1 to {}",
               name, joined(launch.block), joined(launch.cluster), kMostGpuBlockThreads);
  }
}

void copyTo(uint32_t (&to)[3], const std::array<int64_t, 3>& from) {
  for (size_t i = 0; i < 3; ++i) to[i] = static_cast<uint32_t>(from[i]);
}

}  // namespace

CudaKernelWork::CudaKernelWork(CudaFunction function, const CudaLaunch& launch, int64_t address_count,
                               std::vector<uint64_t> scalars, std::string name, std::vector<size_t> slots)
    : function_(std::move(function)),
      address_count_(static_cast<size_t>(address_count)),
      slots_(std::move(slots)),
      scalars_(std::move(scalars)),
      name_(std::move(name)) {
  if (slots_.empty()) {
    slots_.resize(address_count_);
    std::iota(slots_.begin(), slots_.end(), size_t{0});
  }
  requireLaunchable(launch, name_);
  copyTo(config_.grid, launch.grid);
  copyTo(config_.block, launch.block);
  config_.shared_bytes = static_cast<uint32_t>(launch.shared_bytes);
  const auto add = [&](uint32_t id) -> driver::LaunchAttribute& {
    driver::LaunchAttribute& attribute = attributes_[config_.attribute_count++];
    attribute.id = id;
    return attribute;
  };
  if (launch.is_cooperative) add(driver::kLaunchCooperative).value[0] = 1;
  if (launch.may_overlap_previous) add(driver::kLaunchProgrammaticSerialization).value[0] = 1;
  if (const int64_t blocks = product(launch.cluster); blocks > 1) {
    driver::LaunchAttribute& cluster = add(driver::kLaunchClusterDimension);
    for (size_t i = 0; i < 3; ++i) cluster.value[i] = static_cast<uint32_t>(launch.cluster[i]);
    if (blocks > kPortableCluster) function_.module->allowAnyClusterSize(function_);
  }
  function_.module->requireSharedBytes(function_, launch.shared_bytes);
}

std::vector<void*> CudaKernelWork::argumentsOf(std::span<void*> addresses, void** last) const {
  TK_CHECK(addresses.size() == address_count_ || addresses.size() + 1 == address_count_,
           "kernel {} of {} addresses is packed with {}", name_, address_count_, addresses.size());
  std::vector<void*> arguments;
  arguments.reserve(slots_.size() + scalars_.size());
  for (const size_t slot : slots_)
    arguments.push_back(slot < addresses.size() ? static_cast<void*>(&addresses[slot]) : static_cast<void*>(last));
  for (const uint64_t& scalar : scalars_) arguments.push_back(const_cast<uint64_t*>(&scalar));
  return arguments;
}

// The driver reads every argument through a pointer, as many bytes as the kernel's own type has, before it returns.
void CudaKernelWork::launch(DriverContext& context, driver::Stream stream, void** arguments) const {
  if (!hasBlocks()) return;
  driver::LaunchConfig config = config_;
  config.stream = stream;
  config.attributes = attributes_.data();
  context.check(context.driver().launch(&config, function_.handle, arguments, nullptr),
                "launching {} as [{}, {}, {}] blocks of [{}, {}, {}] threads with {} bytes of shared memory", name_,
                config.grid[0], config.grid[1], config.grid[2], config.block[0], config.block[1], config.block[2],
                config.shared_bytes);
}

void CudaKernelWork::enqueue(DriverContext& context, driver::Stream stream, std::span<void* const> addresses) const {
  TK_CHECK(addresses.size() == address_count_, "kernel {} of {} addresses is launched with {}", name_, address_count_,
           addresses.size());
  const size_t count = slots_.size() + scalars_.size();
  std::array<void*, kArgumentsOnStack>
      on_stack;  // NOLINT(cppcoreguidelines-pro-type-member-init): written before it is read
  std::vector<void*> on_heap;
  void** arguments = on_stack.data();
  if (count > kArgumentsOnStack) {
    on_heap.resize(count);
    arguments = on_heap.data();
  }
  for (size_t i = 0; i < slots_.size(); ++i)
    arguments[i] = static_cast<void*>(const_cast<void**>(&addresses[slots_[i]]));
  for (size_t i = 0; i < scalars_.size(); ++i) arguments[slots_.size() + i] = const_cast<uint64_t*>(&scalars_[i]);
  launch(context, stream, arguments);
}

}  // namespace tokamak
