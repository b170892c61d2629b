// The pipeline of passes over kernels.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "kernel/kernel.h"

namespace tokamak {

struct KernelPass {
  std::string_view name;
  std::string_view sentence;  ///< what it does
  kir::Kernel (*run)(kir::Kernel kernel);
};

/// In the order in which lowerKernel runs them. Each keeps the kernel's meaning.
std::span<const KernelPass> kernelPasses();

/// Null when there is none of this name.
const KernelPass* findKernelPass(std::string_view name);

/// What happens between passes.
struct KernelPassOptions {
  /// Whether the verifier runs before the first pass and after each one.
  enum class Verify : uint8_t {
    /// In debug builds and in those that have the tests, unless the environment says TOKAMAK_VERIFY_KERNELS=0 (or 1).
    ByBuild,
    Always,
    Never,
  };
  Verify verify = Verify::ByBuild;
  /// Sees the kernel as it was lowered ("lower") and after each pass.
  std::function<void(std::string_view pass, const kir::Kernel& kernel)> after = nullptr;
};

/// Runs the pass; names new tensors, and updates the kernel's list of symbols.
kir::Kernel runKernelPass(const KernelPass& pass, kir::Kernel kernel);

/// All passes. Errors: Internal when the verifier finds something wrong, with a note that names the pass.
kir::Kernel runKernelPasses(kir::Kernel kernel, const KernelPassOptions& options);

}  // namespace tokamak
