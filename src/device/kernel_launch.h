// KernelLaunch: a compiled kernel as a device is given it, with all that one launch at one size takes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "symbolic/scalar.h"

namespace tokamak {

class Compilation;  // device/compilation.h
namespace kir {
struct Kernel;  // kernel/kernel.h
}

/// Where code came from.
struct CodeFacts {
  enum class Origin : uint8_t {
    Unknown,   ///< it is not there, or was in the program
    Compiled,  ///< by a compiler, for this process
    Disk,      ///< it was kept there
  };
  Origin origin = Origin::Unknown;
  double seconds = 0;  ///< until it was there, without waiting for others' turns in the queue
};

/// Compiled code, or code that is still being compiled. Launches of all sizes share it.
/// Thread safety: any threads may ask and wait side by side.
class KernelImage {
 public:
  KernelImage() = default;
  KernelImage(const KernelImage&) = delete;
  KernelImage& operator=(const KernelImage&) = delete;
  virtual ~KernelImage() = default;
  /// Returns when the code is there. Errors: those of its compilation, every time.
  virtual void waitUntilReady() const = 0;
  /// Whether waiting is known to raise. The next request for the code compiles it again.
  virtual bool hasFailed() const { return false; }
  /// What has to be waited for; null where the code is there, or nobody can give it up.
  virtual std::shared_ptr<Compilation> compilation() const { return nullptr; }
  /// Waits as waitUntilReady() does. Errors: those of its compilation.
  virtual CodeFacts facts() const { return {}; }
};

/// Code of this process, which was loaded from a shared object.
/// Thread safety: as KernelImage.
class CpuImage : public KernelImage {
 public:
  /// Runs the blocks [first_block, last_block). `buffers`: per tensor of the kernel its address, then the workspace if
  /// there is one. `symbols`: KernelLaunch::symbols, with the parameters' values.
  using Entry = void (*)(void* const* buffers, const int64_t* symbols, int64_t first_block, int64_t last_block);

  void waitUntilReady() const override { entry(); }
  /// Waits. Errors: those of its compilation.
  virtual Entry entry() const = 0;
};

/// Code of a GPU, which its driver loads.
/// Thread safety: as KernelImage.
class CudaImage : public KernelImage {
 public:
  explicit CudaImage(std::string entry) : entry_(std::move(entry)) {}

  void waitUntilReady() const override { bytes(); }
  /// A cubin, a fatbin or PTX text. Waits; the text lives as long as the image. Errors: those of its compilation.
  virtual std::string_view bytes() const = 0;
  /// The kernel's name in it.
  const std::string& entry() const { return entry_; }

  /// What a device made of the image, once. An image belongs to one device.
  template <class Loaded, class Load>
  const Loaded& loaded(const Load& load) const {
    const std::lock_guard lock(mutex_);
    if (loaded_ == nullptr) loaded_ = std::make_shared<const Loaded>(load());
    return *static_cast<const Loaded*>(loaded_.get());
  }

 private:
  const std::string entry_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const void> loaded_;
};

/// A kernel that the interpreter runs (kernel/interpreter/), with the values of its symbols, without parameters.
struct InterpretedKernel {
  std::shared_ptr<const kir::Kernel> kernel;
  ScalarBindings bindings;
  std::vector<int64_t> elements;  ///< per tensor of the kernel: how many may be accessed
};

/// Device memory that a launch needs besides its operands (kir::workspaceOf says how much).
struct KernelWorkspace {
  int64_t counters = 0;  ///< at its begin, of 4 bytes each; 0 before the first launch, and again after each
  int64_t bytes = 0;     ///< in all; 0: no workspace
};

struct KernelLaunch {
  std::string name;                          ///< of the program that the kernel is part of
  std::shared_ptr<const KernelImage> image;  ///< a CpuImage or a CudaImage, as the device has it; null: interpreted
  std::shared_ptr<const InterpretedKernel> interpreted;  ///< null: compiled
  bool is_given = false;         ///< the program brought the kernel: what is wrong with it is no fault of the compiler
  std::vector<size_t> operands;  ///< per tensor of the kernel: which operand of the work it is
  std::vector<size_t> parameters;  ///< per parameter of the kernel: which parameter of the work it is
  /// What the kernel takes behind its tensors, parameters first: each as 8 bytes, the bits of an f64 for floating
  /// types, else an i64; 0 for parameters.
  std::vector<int64_t> symbols;
  std::array<int64_t, 3> grid = {1, 1, 1};     ///< in blocks, or in clusters where these have several blocks
  std::array<int64_t, 3> block = {1, 1, 1};    ///< in threads
  std::array<int64_t, 3> cluster = {1, 1, 1};  ///< in blocks
  int64_t shared_bytes = 0;                    ///< dynamic shared memory of a block, on a GPU
  KernelWorkspace workspace;
  std::optional<double> steps;         ///< elements that it accesses, and functions that it applies; nothing: not known
  std::shared_ptr<const void> origin;  ///< keeps the code of the program's other sizes

  /// On the host's heap, by estimate, without the code.
  int64_t hostBytes() const {
    return static_cast<int64_t>((operands.size() + parameters.size()) * sizeof(size_t) +
                                symbols.size() * sizeof(int64_t) + name.size());
  }
};

}  // namespace tokamak
