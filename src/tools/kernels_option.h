// The value of --kernels.
#pragma once

#include <string>

#include "runtime/cpu/kernel_work.h"

namespace tokamak::tools {

/// compiled, compiled-only, op-by-op or interpreted. Errors: Usage.
KernelRunner kernelRunnerNamed(const std::string& text);

}  // namespace tokamak::tools
