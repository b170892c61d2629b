// The passes over kernels, in their order.
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

/// In the order in which lowerKernel runs them; each keeps what the kernel means.
std::span<const KernelPass> kernelPasses();

/// Null when there is none of this name.
const KernelPass* findKernelPass(std::string_view name);

/// What is done between passes.
struct KernelPassOptions {
  /// The verifier runs on what each pass gives (and on what the first is given).
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

/// The pass; new tensors have names afterwards, and the kernel's symbols are those that it mentions.
kir::Kernel runKernelPass(const KernelPass& pass, kir::Kernel kernel);

/// All passes. Errors: Internal when the verifier finds something wrong, with a note that names the pass.
kir::Kernel runKernelPasses(kir::Kernel kernel, const KernelPassOptions& options);

}  // namespace tokamak
