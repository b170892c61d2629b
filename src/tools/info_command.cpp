#include "tools/info_command.h"

#include <fmt/format.h>

#include "ir/fields.h"
#include "ir/functions.h"
#include "runtime/cpu/cpu_device.h"

namespace tokamak::tools {

int infoCommand() {
  fmt::print("tokamak {}\n", TOKAMAK_VERSION);
  const CpuDevice device;
  const DeviceProperties& cpu = device.properties();
  fmt::print("device cpu: {}, {} threads, {:.1f} GiB\n", cpu.description, cpu.threads, static_cast<double>(cpu.memory_bytes) / (1 << 30));
  fmt::print("ops: {} structured, {} elementwise functions\n", allOpKinds().size(), std::size(kFunctions));
  return 0;
}

}  // namespace tokamak::tools
