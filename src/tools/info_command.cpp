#include "tools/info_command.h"

#include <fmt/format.h>

#include "ir/fields.h"
#include "ir/functions.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/cpu/open_blas.h"
#include "runtime/no_cuda/cuda_probe.h"

namespace tokamak::tools {

int infoCommand() {
  fmt::print("tokamak {}\n", TOKAMAK_VERSION);
  const CpuDevice device;
  const DeviceProperties& cpu = device.properties();
  fmt::print("device cpu: {}, {} threads, {:.1f} GiB\n", cpu.description, cpu.threads,
             static_cast<double>(cpu.memory_bytes) / (1 << 30));
  fmt::print("device cuda: none: {}\n", reasonForNoCuda());
  fmt::print("matrix products: {}\n",
             OpenBlas::load() != nullptr ? "OpenBLAS" : "element loops (libopenblas.so.0 was not found)");
  fmt::print("ops: {} structured, {} elementwise functions\n", allOpKinds().size(), std::size(kFunctions));
  return 0;
}

}  // namespace tokamak::tools
