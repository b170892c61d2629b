#include "base/require.h"
#include "device/kernel_maker.h"
#include "device/work.h"
#include "ir/expr.h"
#include "ir/expr_summary.h"
#include "ir/ops/host/launch_kernel.h"
#include "ir/ops/host/post_on_stream.h"
#include "ir/ops/math/reduction_op.h"
#include "ir/tensor_view.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/cpu/element_loops.h"
#include "runtime/cpu/gemm.h"
#include "runtime/cpu/kernel_work.h"

namespace tokamak {

std::shared_ptr<const Work> CpuDevice::prepare(const WorkRequest& request) {
  const auto* reduction = request.expr.as<ReductionOp>();
  TK_REQUIRE(reduction == nullptr || reduction->out->domain().root.empty(), Unsupported,
             "{} comes from an rfactor: a part of a reduction is computed by a kernel, not as an op of its own",
             toString(*reduction->out));
  if (request.expr.info().is_library) return prepareMatmulWork(request.expr, request.operands, request.bindings);
  const bool is_segment = request.expr.is<PostOnStream>() || request.expr.is<LaunchKernel>();
  // Kernels of another maker are of segments alone.
  if (is_segment || (options_.runner == KernelRunner::Interpreted && request.kernels == nullptr)) {
    TK_REQUIRE(request.kernels != nullptr || makesKernels(), Unsupported,
               "{}: this device makes no kernels; segments run op by op here, which their evaluator has to ask for",
               summaryOf(request.expr));
    return makeKernelWork(kernelsFor(request).find(request), request.operands.size());
  }
  return prepareElementWork(request.expr, request.operands, request.bindings, {}, request.parameters);
}

}  // namespace tokamak
