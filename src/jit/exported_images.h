// Compiled code of exported kernels: made when a program is exported, and made runnable when its file is loaded.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/kernel_launch.h"
#include "jit/exported_kernels.h"

namespace tokamak {

/// Code of kernels for one processor or GPU.
struct CompiledImages {
  std::vector<std::string> images;  ///< as the codes: shared objects or cubins
  /// What the code needs: features of a processor (toolchain/processor_features.h), or a GPU's architecture.
  std::string needs;
};

/// `processor`: native, or what -march of the C compiler takes. Errors: Unsupported where there is no compiler, or it
/// does not know the processor; Compile.
CompiledImages compileForProcessor(std::span<const ExportedCode> codes, const std::string& processor);
/// `architecture`: "sm_90a". Errors: Unsupported where there is no NVRTC, or it does not know the architecture;
/// Compile.
CompiledImages compileForGpu(std::span<const ExportedCode> codes, const std::string& architecture);

/// Code that is loaded when it is first run. `keeper` holds the image. Errors of running it: Compile.
std::shared_ptr<const CpuImage> processorImage(std::string_view image, std::string entry,
                                               std::shared_ptr<const void> keeper);
std::shared_ptr<const CudaImage> gpuImage(std::string_view image, std::string entry,
                                          std::shared_ptr<const void> keeper);

}  // namespace tokamak
