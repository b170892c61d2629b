#include "jit/cuda_jit.h"

#include <string_view>
#include <utility>

#include "codegen/source.h"
#include "device/work.h"
#include "jit/jit.h"
#include "jit/kernel_library.h"
#include "jit/prepared_kernel.h"
#include "toolchain/compile_queue.h"
#include "toolchain/nvrtc.h"
#include "toolchain/shared_compilation.h"

namespace tokamak {

namespace {

// Tasks hold the compiler, images hold the queue; no task holds an image or the queue, so that none of them ends on a
// thread of the queue.
class CompiledCubin final : public CudaImage {
 public:
  CompiledCubin(std::string entry, std::shared_ptr<SharedCompilation> compilation)
      : CudaImage(std::move(entry)), compilation_(std::move(compilation)) {}

  bool hasFailed() const override { return compilation_->hasFailed(); }
  std::shared_ptr<Compilation> compilation() const override { return compilation_; }
  std::string_view bytes() const override { return cubin().image; }
  CodeFacts facts() const override {
    return {.origin = cubin().is_from_disk ? CodeFacts::Origin::Disk : CodeFacts::Origin::Compiled,
            .seconds = cubin().seconds};
  }

 private:
  // Waits; the compilation holds it. Errors: those of the compilation.
  const Cubin& cubin() const { return *static_cast<const Cubin*>(compilation_->value().get()); }

  std::shared_ptr<SharedCompilation> compilation_;
};

}  // namespace

struct CudaJit::Kernels {
  Kernels(const KernelTarget& target, const std::string& architecture, KernelObserver* seen_by)
      : compiler(
            std::make_shared<NvrtcCompiler>(NvrtcOptions{.architecture = architecture}, KernelCache::openDefault())),
        queue(std::make_shared<CompileQueue>()),
        observer(seen_by),
        library({.target = target,
                 .indices = indicesFor(target),
                 .compile = [this](const KernelCode& code) { return compile(code.kernel, code.choice.index_type); },
                 .observer = seen_by}) {}

  std::shared_ptr<const KernelImage> compile(const kir::Kernel& kernel, DataType index_type) {
    const KernelSource source = kernelSource(kernel, Dialect::Cuda, index_type);
    if (observer != nullptr) observer->onKernel(*kernel.fusion, kir::printKernel(kernel), source.text);
    const std::string text = compilationUnit({&source, 1}, Dialect::Cuda);
    return std::make_shared<CompiledCubin>(
        source.entry, compilations.get(text, queue, [by = compiler, text](const std::stop_token& /*given_up*/) {
          return by->compile(text);  // what it has begun it ends
        }));
  }

  std::shared_ptr<NvrtcCompiler> compiler;
  std::shared_ptr<CompileQueue> queue;
  SharedCompilations compilations;
  KernelObserver* observer;
  KernelLibrary library;
};

CudaJit::CudaJit(const KernelTarget& target, std::string architecture, KernelObserver* observer)
    : target_(target), architecture_(std::move(architecture)), observer_(observer) {}

CudaJit::~CudaJit() = default;

CudaJit::Kernels& CudaJit::kernels() {
  const std::lock_guard lock(mutex_);
  if (kernels_ == nullptr) kernels_ = std::make_unique<Kernels>(target_, architecture_, observer_);
  return *kernels_;
}

KernelLaunch CudaJit::find(const WorkRequest& request) { return launchOf(kernels().library.find(request)); }

KernelNotes CudaJit::notesOn(const WorkRequest& request) { return notesOf(kernels().library.find(request)); }

KernelLaunch CudaJit::compile(const PreparedKernel& prepared, DataType index_type) {
  auto code = std::make_shared<KernelCode>();
  code->kernel = prepared.kernel;
  code->image = kernels().compile(prepared.kernel, index_type);
  auto bound = std::make_shared<BoundKernel>();
  bound->bindings = prepared.bindings;
  bound->symbols = symbolBits(prepared.kernel, prepared.bindings);
  for (const kir::LaunchDimension& dimension : prepared.kernel.dimensions)
    bound->extents.push_back(evaluateInt(*dimension.extent, prepared.bindings));
  bound->code = std::move(code);
  return launchOf({.bound = std::move(bound), .operands = prepared.operands, .name = prepared.name});
}

}  // namespace tokamak
