// The passes over host programs by name, in the order in which the lowering runs them.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "host/ir/host_ir_container.h"

namespace tokamak {

struct HostPass {
  std::string_view name;
  std::string_view sentence;  ///< what it does
  void (*run)(HostIrContainer&);
};

std::span<const HostPass> hostPasses();
/// Null when there is none.
const HostPass* findHostPass(std::string_view name);

}  // namespace tokamak
