#include "jit/exported_images.h"

#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

#include "base/side_by_side.h"
#include "codegen/source.h"
#include "toolchain/kernel_compiler.h"
#include "toolchain/nvrtc.h"
#include "toolchain/processor_features.h"
#include "toolchain/shared_object.h"

namespace tokamak {

namespace {

class ProcessorImage final : public CpuImage {
 public:
  ProcessorImage(std::string_view image, std::string entry, std::shared_ptr<const void> keeper)
      : image_(image), entry_name_(std::move(entry)), keeper_(std::move(keeper)) {}

  Entry entry() const override {
    if (const Entry known = entry_.load(std::memory_order_acquire)) return known;
    const std::lock_guard lock(mutex_);
    if (object_ == nullptr) object_ = SharedObject::loadFromMemory(image_);
    const auto entry = reinterpret_cast<Entry>(object_->symbol(entry_name_.c_str()));
    entry_.store(entry, std::memory_order_release);
    return entry;
  }

 private:
  std::string_view image_;
  std::string entry_name_;
  std::shared_ptr<const void> keeper_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const SharedObject> object_;
  mutable std::atomic<Entry> entry_{nullptr};
};

class GpuImage final : public CudaImage {
 public:
  GpuImage(std::string_view image, std::string entry, std::shared_ptr<const void> keeper)
      : CudaImage(std::move(entry)), image_(image), keeper_(std::move(keeper)) {}

  std::string_view bytes() const override { return image_; }

 private:
  std::string_view image_;
  std::shared_ptr<const void> keeper_;
};

}  // namespace

CompiledImages compileForProcessor(std::span<const ExportedCode> codes, const std::string& processor) {
  KernelCompiler compiler({.compiler = {.processor = processor}, .cache = nullptr});
  const CTarget& target = compiler.compiler().target();
  const auto lanes = static_cast<int>(target.vector_bytes / sizeof(float));
  CompiledImages compiled;
  compiled.needs = featuresNeeded(target);
  compiled.images.resize(codes.size());
  forEachSideBySide(codes.size(), std::thread::hardware_concurrency(), [&](size_t i) {
    const KernelSource source = kernelSource(codes[i].kernel, Dialect::C, DataType::I64, lanes);
    compiled.images[i] = compiler.imageOf(compilationUnit({&source, 1}, Dialect::C));
  });
  return compiled;
}

CompiledImages compileForGpu(std::span<const ExportedCode> codes, const std::string& architecture) {
  NvrtcCompiler compiler({.architecture = architecture}, KernelCache::openDefault());
  CompiledImages compiled;
  compiled.needs = architecture;
  compiled.images.resize(codes.size());
  forEachSideBySide(codes.size(), std::thread::hardware_concurrency(), [&](size_t i) {
    const KernelSource source = kernelSource(codes[i].kernel, Dialect::Cuda, codes[i].index_type);
    compiled.images[i] = compiler.compile(compilationUnit({&source, 1}, Dialect::Cuda))->image;
  });
  return compiled;
}

std::shared_ptr<const CpuImage> processorImage(std::string_view image, std::string entry,
                                               std::shared_ptr<const void> keeper) {
  return std::make_shared<ProcessorImage>(image, std::move(entry), std::move(keeper));
}

std::shared_ptr<const CudaImage> gpuImage(std::string_view image, std::string entry,
                                          std::shared_ptr<const void> keeper) {
  return std::make_shared<GpuImage>(image, std::move(entry), std::move(keeper));
}

}  // namespace tokamak
