#include "ir/expr.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/cpu/element_loops.h"
#include "runtime/cpu/gemm.h"

namespace tokamak {

std::shared_ptr<const Work> CpuDevice::prepare(const WorkRequest& request) {
  if (request.expr.info().is_library) return prepareMatmulWork(request.expr, request.operands, request.bindings);
  return prepareElementWork(request.expr, request.operands, request.bindings, {}, request.parameters);
}

}  // namespace tokamak
