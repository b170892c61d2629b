// Element loops: op-by-op execution on the CPU, derived from an op's element rule.
#pragma once

#include <memory>
#include <span>

#include "device/work.h"
#include "ir/expr.h"
#include "runtime/cpu/cpu_work.h"
#include "symbolic/scalar.h"

namespace tokamak {

/// Work that computes a math op.
/// - `operands`: tensor operands in order of its inputs (one that is read twice is there twice), then the result, with
///   sizes and strides of their visible shapes. Addresses come in the same order.
/// - `bindings`: of the symbols that attributes and sizes mention.
/// - `coordinate_offsets`: if operands and result are slices of larger ones, the starts of the slices per axis of the
///   result (the rest: 0). The op has to be independent along these axes.
/// - `parameters`: of WorkRequest.
///
/// The result may be exactly one of the operands if each element depends on the same element of it. Results do not
/// depend on the number of threads. Not thread-safe for ops of one fusion, as it makes scalars in it. Errors: Bind if
/// sizes do not fit the op or each other.
std::shared_ptr<const CpuWork> prepareElementWork(const Expr& expr, std::span<const OperandDesc> operands,
                                                  const ScalarBindings& bindings,
                                                  std::span<const int64_t> coordinate_offsets = {},
                                                  std::span<const Scalar* const> parameters = {});

}  // namespace tokamak
