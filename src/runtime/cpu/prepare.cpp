#include "base/error.h"
#include "ir/expr.h"
#include "runtime/cpu/cpu_device.h"

namespace tokamak {

std::shared_ptr<const Work> CpuDevice::prepare(const WorkRequest& request) {
  TK_RAISE(Unsupported, "{}: not on the CPU yet", request.expr.name());
}

}  // namespace tokamak
