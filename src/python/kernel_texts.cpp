#include "python/kernel_texts.h"

#include <memory>
#include <mutex>
#include <utility>
#include <variant>

#include "codegen/source.h"
#include "compile/program.h"
#include "device/kernel_observer.h"
#include "ir/text/fusion_printer.h"
#include "jit/kernel_collector.h"
#include "jit/open_device.h"
#include "kernel/index_type.h"

namespace tokamak::python {

namespace {

class Texts final : public KernelObserver {
 public:
  void onKernel(const Fusion& fusion, const std::string& kernel, const std::string& source) override {
    add({printFusion(fusion), kernel, source});
  }
  void add(KernelText text) {
    const std::lock_guard lock(mutex_);
    texts_.push_back(std::move(text));
  }
  std::vector<KernelText> take() { return std::move(texts_); }

 private:
  std::mutex mutex_;
  std::vector<KernelText> texts_;
};

}  // namespace

std::vector<Argument> argumentsOn(Device& device, std::span<const Argument> inputs) {
  std::vector<Argument> arguments;
  for (const Argument& input : inputs) {
    const auto* const tensor = std::get_if<Tensor>(&input.value());
    arguments.push_back(tensor == nullptr
                            ? input
                            : Argument(Tensor::borrow(device, tensor->data(), tensor->dtype(), tensor->sizes(),
                                                      tensor->strides(), MemoryKind::Device)));
  }
  return arguments;
}

std::vector<KernelText> kernelTextsOf(const Fusion& program, const KernelTarget& target, const CompileOptions& options,
                                      std::span<const Argument> inputs) {
  Texts texts;
  const auto compileOn = [&](Device& device) {
    compile(program, device, options).outputLayouts(argumentsOn(device, inputs));
  };
  if (target.kind == TargetKind::Cpu) {
    compileOn(*openCpuDevice({.kernels = &texts}));
  } else {
    KernelCollector device(target, [&](const PreparedKernel& prepared) {
      const kir::Kernel& kernel = prepared.kernel;
      texts.add({printFusion(*kernel.fusion), kir::printKernel(kernel),
                 kernelSource(kernel, Dialect::Cuda, kir::indexTypeOf(kernel, prepared.bindings)).text});
    });
    compileOn(device);
  }
  return texts.take();
}

}  // namespace tokamak::python
