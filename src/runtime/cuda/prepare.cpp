#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "base/require.h"
#include "device/kernel_maker.h"
#include "device/work.h"
#include "graph/product_group.h"
#include "ir/expr_memory.h"
#include "ir/expr_summary.h"
#include "ir/ops/host/launch_kernel.h"
#include "ir/ops/host/post_on_stream.h"
#include "runtime/cuda/copy_work.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/cuda_workspace.h"

namespace tokamak {

namespace {

KernelTarget targetOf(const CudaProperties& properties) {
  return {.kind = TargetKind::Cuda,
          .multiprocessors = properties.multiprocessors,
          .threads_per_block = properties.max_threads_per_block,
          .threads_per_multiprocessor = properties.max_threads_per_multiprocessor,
          .shared_bytes_per_block = properties.shared_bytes_per_block_optin,
          .registers_per_multiprocessor = properties.registers_per_multiprocessor,
          .has_clusters = properties.has_clusters,
          .product_activations = chosenProductActivations(),
          .parameter_overrides = cudaParameterOverrides()};
}

// The blocks of a cluster lie side by side. Without threads there is nothing to do, as without blocks.
CudaLaunch geometryOf(const KernelLaunch& kernel) {
  CudaLaunch launch{
      .grid = kernel.grid, .block = kernel.block, .cluster = kernel.cluster, .shared_bytes = kernel.shared_bytes};
  launch.grid[0] *= launch.cluster[0];
  for (int64_t& threads : launch.block) {
    if (threads == 0) launch.grid[0] = 0;
    threads = std::max<int64_t>(threads, 1);
  }
  return launch;
}

// A launch of code that may still be compiled.
class CudaBoundWork final : public CudaWork {
 public:
  CudaBoundWork(std::shared_ptr<DriverContext> context, KernelLaunch launch, size_t operand_count,
                size_t parameter_count, bool may_overlap_previous)
      : context_(std::move(context)),
        launch_(std::move(launch)),
        may_overlap_previous_(may_overlap_previous),
        operand_count_(operand_count),
        address_count_(operand_count + parameter_count) {}

  std::string_view name() const override { return launch_.name; }
  void waitUntilReady() const override { work(); }
  void addCompilations(std::vector<std::shared_ptr<Compilation>>& compilations) const override {
    compilations.push_back(launch_.image->compilation());
  }
  // With the kernel's own work, which takes as much again.
  int64_t hostBytes() const override {
    return static_cast<int64_t>(sizeof(CudaBoundWork) + sizeof(CudaKernelWork)) + 2 * launch_.hostBytes();
  }
  void makeReadyOn(DriverContext& context, driver::Stream stream) const override {
    work().makeReadyOn(context, stream);
  }
  void enqueue(DriverContext& context, driver::Stream stream, std::span<void* const> addresses) const override {
    work().enqueue(context, stream, addresses);
  }
  CudaKernelLaunch kernelLaunch() const override { return work().kernelLaunch(); }

 private:
  const CudaWork& work() const {
    if (const CudaWork* known = ready_.load(std::memory_order_acquire)) return *known;
    const auto& image = static_cast<const CudaImage&>(*launch_.image);
    image.waitUntilReady();
    // The driver loads it for whoever comes first.
    const auto& function =
        image.loaded<CudaFunction>([&] { return CudaModule::load(context_, image.bytes())->function(image.entry()); });
    const std::lock_guard lock(mutex_);
    if (work_ == nullptr) work_ = launchWork(function);
    ready_.store(work_.get(), std::memory_order_release);
    return *work_;
  }

  // The kernel takes its tensors, its workspace if it needs one, parameters, the other symbols.
  std::unique_ptr<const CudaWork> launchWork(const CudaFunction& function) const {
    const bool has_workspace = launch_.workspace.bytes > 0;
    std::vector<size_t> slots = launch_.operands;
    if (has_workspace) slots.push_back(address_count_);
    for (const size_t parameter : launch_.parameters) slots.push_back(operand_count_ + parameter);
    std::vector<uint64_t> scalars;
    for (size_t i = launch_.parameters.size(); i < launch_.symbols.size(); ++i)
      scalars.push_back(static_cast<uint64_t>(launch_.symbols[i]));
    CudaLaunch launch = geometryOf(launch_);
    launch.may_overlap_previous = may_overlap_previous_;
    auto work = std::make_unique<CudaKernelWork>(function, launch,
                                                 static_cast<int64_t>(address_count_ + (has_workspace ? 1 : 0)),
                                                 std::move(scalars), launch_.name, std::move(slots));
    if (!has_workspace) return work;
    return std::make_unique<CudaWorkspaceWork>(context_, std::move(work), launch_.workspace.bytes);
  }

  std::shared_ptr<DriverContext> context_;
  KernelLaunch launch_;
  bool may_overlap_previous_;
  size_t operand_count_;
  size_t address_count_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<const CudaWork> work_;
  mutable std::atomic<const CudaWork*> ready_{nullptr};
};

}  // namespace

std::shared_ptr<const Work> CudaDevice::prepare(const WorkRequest& request) {
  if (request.expr.info().is_library) return prepareProduct(request);
  if (const auto* post = request.expr.as<PostOnStream>()) {
    const auto group = productGroupOf(*post->segment);
    return group ? prepareProductGroup(request, *group) : prepareKernel(request);
  }
  if (request.expr.is<LaunchKernel>()) return prepareKernel(request);
  return touchesHostMemory(request.expr) ? prepareCopy(request) : prepareKernel(request);
}

std::shared_ptr<const CudaWork> CudaDevice::prepareKernel(const WorkRequest& request) {
  TK_REQUIRE(request.kernels != nullptr || makesKernels(), Unsupported,
             "{}: this device makes no kernels, and a GPU computes with nothing else", summaryOf(request.expr));
  return makeKernelWork(kernelsFor(request).find(request), request.operands.size(), request.parameters.size());
}

std::shared_ptr<const CudaWork> CudaDevice::makeKernelWork(KernelLaunch launch, size_t operand_count,
                                                           size_t parameter_count) {
  return std::make_shared<CudaBoundWork>(context_, std::move(launch), operand_count, parameter_count,
                                         overlapsLaunches());
}

KernelTarget CudaDevice::kernelTarget() const { return targetOf(cuda_properties_); }

}  // namespace tokamak
