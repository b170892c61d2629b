// Matrix products on the CPU: OpenBLAS on fixed blocks that the pool's threads share.
#pragma once

#include <memory>
#include <span>

#include "device/work.h"
#include "ir/expr.h"
#include "runtime/cpu/cpu_work.h"
#include "runtime/cpu/open_blas.h"
#include "symbolic/scalar.h"

namespace tokamak {

/// Work for a MatmulOp or LinearOp, with operands as for prepareElementWork. Half types are converted block by block
/// and accumulated in f32, the bias is added before the one rounding to the result's type. Integers, and everything
/// where `library` is null, are computed by the element rule. Results do not depend on the number of threads. Errors:
/// Bind when sizes do not fit.
std::shared_ptr<const CpuWork> prepareMatmulWork(const Expr& expr, std::span<const OperandDesc> operands,
                                                 const ScalarBindings& bindings,
                                                 const OpenBlas* library = OpenBlas::load());

}  // namespace tokamak
