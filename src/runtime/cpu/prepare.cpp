#include "runtime/cpu/cpu_device.h"
#include "runtime/cpu/element_loops.h"

namespace tokamak {

std::shared_ptr<const Work> CpuDevice::prepare(const WorkRequest& request) {
  return prepareElementWork(request.expr, request.operands, request.bindings);
}

}  // namespace tokamak
