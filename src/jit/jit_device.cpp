#include "jit/jit_device.h"

#include <memory>

#include "jit/cpu_jit.h"
#include "jit/cuda_jit.h"
#include "jit/jit.h"

namespace tokamak {

namespace {

std::unique_ptr<KernelMaker> makerFor(KernelRunner runner, const KernelTarget& target, KernelObserver* observer) {
  switch (runner) {
    case KernelRunner::Compiled: return std::make_unique<CpuJit>(target, CpuJit::Compiler::Wanted, observer);
    case KernelRunner::CompiledOnly: return std::make_unique<CpuJit>(target, CpuJit::Compiler::Needed, observer);
    case KernelRunner::Interpreted: return std::make_unique<InterpreterJit>(target, observer);
    case KernelRunner::OpByOp: break;
  }
  return nullptr;
}

}  // namespace

JitCpuDevice::JitCpuDevice(const CpuDeviceOptions& options) : CpuDevice(options) {
  useKernels(makerFor(options.runner, kernelTarget(), options.kernels));
}

JitCudaDevice::JitCudaDevice(int64_t ordinal, const CudaDeviceOptions& options) : CudaDevice(ordinal, options) {
  useKernels(std::make_unique<CudaJit>(kernelTarget(), properties().architecture, options.kernels));
}

std::string describeKernels(KernelRunner runner) {
  if (runner == KernelRunner::Interpreted) return "interpreted";
  if (runner == KernelRunner::OpByOp) return "none, segments run op by op, as was asked for";
  return describeCpuJit();
}

}  // namespace tokamak
