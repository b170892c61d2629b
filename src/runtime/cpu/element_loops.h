// Element loops: op-by-op execution on the CPU, derived from an op's element rule.
#pragma once

#include <memory>
#include <span>

#include "ir/expr.h"
#include "runtime/cpu/cpu_work.h"
#include "symbolic/scalar.h"

namespace tokamak {

/// Work that computes a math op. `operands`: its tensor operands in order of its inputs (one that is read twice stands
/// twice), then its result, with the sizes and strides of their visible shapes; addresses come in the same order.
/// `bindings` has the values of the symbols that attributes and sizes mention. When operands and result are parts of
/// larger ones along axes of the result that the op is independent along, `coordinate_offsets` says per such axis where
/// the part begins (may be shorter than the rank: the rest is 0). `parameters` are those of WorkRequest. The result may
/// be exactly one of the operands when the op computes each element from the same element of it. Results do not depend
/// on the number of threads. Not thread-safe for ops of one fusion: makes scalars in it. Errors: Bind when sizes do not
/// fit the op or each other.
std::shared_ptr<const CpuWork> prepareElementWork(const Expr& expr, std::span<const OperandDesc> operands,
                                                  const ScalarBindings& bindings,
                                                  std::span<const int64_t> coordinate_offsets = {},
                                                  std::span<const Scalar* const> parameters = {});

}  // namespace tokamak
