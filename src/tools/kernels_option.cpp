#include "tools/kernels_option.h"

#include "base/require.h"

namespace tokamak::tools {

KernelRunner kernelRunnerNamed(const std::string& text) {
  if (text == "compiled") return KernelRunner::Compiled;
  if (text == "compiled-only") return KernelRunner::CompiledOnly;
  if (text == "op-by-op") return KernelRunner::OpByOp;
  TK_REQUIRE(text == "interpreted", Usage,
             "--kernels {}: it must be one of compiled, compiled-only, op-by-op, interpreted", text);
  return KernelRunner::Interpreted;
}

}  // namespace tokamak::tools
