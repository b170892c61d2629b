#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "base/error.h"
#include "codegen/source.h"
#include "ir/expr_memory.h"
#include "ir/ops/host/launch_kernel.h"
#include "ir/ops/host/post_on_stream.h"
#include "jit/kernel_library.h"
#include "jit/prepared_kernel.h"
#include "kernel/bind_kernel.h"
#include "kernel/shared_memory.h"
#include "runtime/cuda/copy_work.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/cuda_workspace.h"
#include "segment/product_group.h"
#include "toolchain/compile_queue.h"
#include "toolchain/nvrtc.h"

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
          .by_hand = cudaScheduleByHand()};
}

// "sm_90a": with what only this generation has.
std::string architectureOf(const CudaProperties& properties) {
  return fmt::format("sm_{}{}{}", properties.capability_major, properties.capability_minor,
                     properties.capability_major >= 9 ? "a" : "");
}

CudaLaunch launchOf(const std::vector<kir::LaunchDimension>& dimensions, const std::vector<int64_t>& extents) {
  CudaLaunch launch;
  for (size_t i = 0; i < dimensions.size(); ++i) {
    if (kir::isClusterType(dimensions[i].type)) {
      launch.cluster[0] = extents[i];
      continue;
    }
    const bool is_thread = kir::isThreadType(dimensions[i].type);
    const ParallelType first = is_thread ? ParallelType::TIDx : ParallelType::BIDx;
    const auto axis = static_cast<size_t>(dimensions[i].type) - static_cast<size_t>(first);
    (is_thread ? launch.block : launch.grid)[axis] = extents[i];
  }
  // The blocks of a cluster lie side by side.
  launch.grid[0] *= launch.cluster[0];
  // Without threads there is nothing to do, as without blocks.
  for (int64_t& threads : launch.block) {
    if (threads == 0) launch.grid[0] = 0;
    threads = std::max<int64_t>(threads, 1);
  }
  return launch;
}

// All that a launch of a kernel is made from.
struct LaunchFacts {
  const kir::Kernel& kernel;
  const ScalarBindings& bindings;
  const std::vector<int64_t>& extents;  // as kernel.dimensions
  std::vector<int64_t> symbols;         // as kernel.symbols
  std::vector<size_t> operands;         // per tensor its address' number
  std::vector<size_t> parameters;       // per parameter its address' number
  size_t address_count;
  std::string name;
  bool may_overlap_previous;
};

// The kernel takes its tensors, its workspace if it needs one, parameters, the other symbols.
std::unique_ptr<const CudaWork> launchWork(const std::shared_ptr<DriverContext>& context, const CudaFunction& function,
                                           const LaunchFacts& facts) {
  const kir::Workspace workspace = kir::workspaceOf(facts.kernel, facts.bindings);
  const bool has_workspace = workspace.bytes > 0;
  std::vector<size_t> slots = facts.operands;
  if (has_workspace) slots.push_back(facts.address_count);
  slots.insert(slots.end(), facts.parameters.begin(), facts.parameters.end());
  std::vector<uint64_t> scalars;
  for (size_t i = facts.parameters.size(); i < facts.symbols.size(); ++i)
    scalars.push_back(static_cast<uint64_t>(facts.symbols[i]));
  CudaLaunch launch = launchOf(facts.kernel.dimensions, facts.extents);
  launch.shared_bytes = kir::launchedSharedBytes(facts.kernel, facts.bindings);
  launch.may_overlap_previous = facts.may_overlap_previous;
  auto work = std::make_unique<CudaKernelWork>(function, launch,
                                               static_cast<int64_t>(facts.address_count + (has_workspace ? 1 : 0)),
                                               std::move(scalars), facts.name, std::move(slots));
  if (!has_workspace) return work;
  return std::make_unique<CudaWorkspaceWork>(context, std::move(work), workspace.bytes);
}

using CubinRef = std::shared_ptr<const Cubin>;

// A kernel that NVRTC compiles in the background; the driver loads it for whoever waits first.
class CompiledCuda final : public Executable {
 public:
  CompiledCuda(std::shared_ptr<DriverContext> context, CompileQueue& queue, NvrtcCompiler& compiler,
               const KernelSource& source)
      : context_(std::move(context)),
        queue_(queue),
        entry_(source.entry),
        cubin_(queue.add<CubinRef>(
            [&compiler, text = compilationUnit({&source, 1}, Dialect::Cuda)] { return compiler.compile(text); })) {}

  void waitUntilReady() const override { function(); }

  bool hasFailed() const override {
    if (cubin_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
    try {
      cubin_.get();
      return false;
    } catch (...) {
      return true;
    }
  }

  const CudaFunction& function() const {
    queue_.wait(cubin_);
    const std::lock_guard lock(mutex_);
    if (function_) return *function_;
    try {
      function_ = CudaModule::load(context_, cubin_.get()->image)->function(entry_);
      return *function_;
    } catch (const Error& error) {
      throw Error(error);  // each caller adds its own notes
    }
  }

 private:
  std::shared_ptr<DriverContext> context_;
  CompileQueue& queue_;
  std::string entry_;
  std::shared_future<CubinRef> cubin_;
  mutable std::mutex mutex_;
  mutable std::optional<CudaFunction> function_;
};

// A launch of code that may still be compiled.
class CudaBoundWork final : public CudaWork {
 public:
  CudaBoundWork(std::shared_ptr<DriverContext> context, FoundKernel found, const WorkRequest& request,
                bool may_overlap_previous)
      : context_(std::move(context)),
        found_(std::move(found)),
        may_overlap_previous_(may_overlap_previous),
        operand_count_(request.operands.size()),
        address_count_(request.operands.size() + request.parameters.size()) {}

  std::string_view name() const override { return found_.name; }
  void waitUntilReady() const override { work(); }
  // With the kernel's own work, which takes as much again as the binding.
  int64_t hostBytes() const override {
    return static_cast<int64_t>(sizeof(CudaBoundWork) + sizeof(CudaKernelWork)) + 2 * found_.hostBytes();
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
    const BoundKernel& bound = *found_.bound;
    const CudaFunction& function = static_cast<const CompiledCuda&>(*bound.code->executable).function();
    const std::lock_guard lock(mutex_);
    if (work_ == nullptr) {
      std::vector<size_t> parameters;
      for (const size_t parameter : found_.parameters) parameters.push_back(operand_count_ + parameter);
      work_ = launchWork(context_, function,
                         {.kernel = bound.code->kernel,
                          .bindings = bound.bindings,
                          .extents = bound.extents,
                          .symbols = bound.symbols,
                          .operands = found_.operands,
                          .parameters = std::move(parameters),
                          .address_count = address_count_,
                          .name = found_.name,
                          .may_overlap_previous = may_overlap_previous_});
    }
    ready_.store(work_.get(), std::memory_order_release);
    return *work_;
  }

  std::shared_ptr<DriverContext> context_;
  FoundKernel found_;
  bool may_overlap_previous_;
  size_t operand_count_;
  size_t address_count_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<const CudaWork> work_;
  mutable std::atomic<const CudaWork*> ready_{nullptr};
};

}  // namespace

/// What compiles a device's kernels, and those it has; made when the first one is.
struct CudaDevice::Kernels {
  explicit Kernels(CudaDevice& device)
      : compiler({.architecture = architectureOf(device.cuda_properties_)}, KernelCache::openDefault()),
        library({.target = targetOf(device.cuda_properties_),
                 .indices = KernelExecutorOptions::Indices::Chosen,
                 .compile =
                     [this, &device](const KernelCode& code) {
                       const KernelSource source = kernelSource(code.kernel, Dialect::Cuda, code.choice.index_type);
                       if (device.options_.kernels != nullptr)
                         device.options_.kernels->onKernel(*code.kernel.fusion, kir::printKernel(code.kernel),
                                                           source.text);
                       return std::make_shared<CompiledCuda>(device.context_, queue, compiler, source);
                     },
                 .observer = device.options_.kernels}) {}

  NvrtcCompiler compiler;
  KernelLibrary library;
  CompileQueue queue;  // ends first
};

CudaDevice::Kernels& CudaDevice::kernels() {
  const std::lock_guard lock(kernels_mutex_);
  if (kernels_ == nullptr) kernels_ = std::make_shared<Kernels>(*this);
  return *kernels_;
}

std::shared_ptr<const Work> CudaDevice::prepare(const WorkRequest& request) {
  if (request.expr.info().is_library) return prepareProduct(request);
  if (const auto* post = request.expr.as<PostOnStream>()) {
    const auto group = productGroupOf(*post->unit);
    return group ? prepareProductGroup(request, *group) : prepareKernel(request);
  }
  if (request.expr.is<LaunchKernel>()) return prepareKernel(request);
  return touchesHostMemory(request.expr) ? prepareCopy(request) : prepareKernel(request);
}

std::shared_ptr<const CudaWork> CudaDevice::prepareKernel(const WorkRequest& request) {
  return std::make_shared<CudaBoundWork>(context_, kernels().library.find(request), request, overlapsLaunches());
}

KernelTarget CudaDevice::kernelTarget() const { return targetOf(cuda_properties_); }

std::shared_ptr<const Work> CudaDevice::makeWork(const PreparedKernel& prepared, DataType index_type,
                                                 size_t operand_count) {
  const kir::Kernel& kernel = prepared.kernel;
  const KernelSource source = kernelSource(kernel, Dialect::Cuda, index_type);
  if (options_.kernels != nullptr) options_.kernels->onKernel(*kernel.fusion, kir::printKernel(kernel), source.text);
  const auto cubin = kernels().compiler.compile(compilationUnit({&source, 1}, Dialect::Cuda));
  std::vector<int64_t> extents;
  for (const kir::LaunchDimension& dimension : kernel.dimensions)
    extents.push_back(evaluateInt(*dimension.extent, prepared.bindings));
  return launchWork(context_, CudaModule::load(context_, cubin->image)->function(source.entry),
                    {.kernel = kernel,
                     .bindings = prepared.bindings,
                     .extents = extents,
                     .symbols = symbolBits(kernel, prepared.bindings),
                     .operands = prepared.operands,
                     .parameters = {},
                     .address_count = operand_count,
                     .name = prepared.name,
                     .may_overlap_previous = overlapsLaunches()});
}

}  // namespace tokamak
