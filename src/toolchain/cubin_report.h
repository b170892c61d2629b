// Kernel resources: what the assembler says that each kernel of a cubin takes, read from its log.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tokamak {

struct KernelResources {
  std::string kernel;  ///< its (mangled) name
  int64_t registers = 0;
  int64_t stack_bytes = 0;
  int64_t spill_store_bytes = 0;
  int64_t spill_load_bytes = 0;
  int64_t shared_bytes = 0;  ///< static shared memory
  int64_t barriers = 0;

  bool operator==(const KernelResources&) const = default;
};

/// One row per kernel of a log written with --ptxas-options=-v, in its order. Other lines are passed over.
std::vector<KernelResources> resourcesIn(std::string_view log);

}  // namespace tokamak
