#include "ir/expr.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/cpu/element_loops.h"
#include "runtime/cpu/gemm.h"
#include "runtime/cpu/kernel_work.h"

namespace tokamak {

std::shared_ptr<const Work> CpuDevice::prepare(const WorkRequest& request) {
  if (request.expr.info().is_library) return prepareMatmulWork(request.expr, request.operands, request.bindings);
  if (const auto* post = request.expr.as<PostOnStream>())
    return prepareKernelWork(*post, request.operands, request.bindings);
  return prepareElementWork(request.expr, request.operands, request.bindings, {}, request.parameters);
}

}  // namespace tokamak
