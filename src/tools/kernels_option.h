// The value of --kernels.
#pragma once

#include <string>

#include "runtime/cpu/cpu_device_options.h"

namespace tokamak::tools {

/// compiled, compiled-only, op-by-op or interpreted. Errors: Usage.
KernelRunner kernelRunnerNamed(const std::string& text);

}  // namespace tokamak::tools
