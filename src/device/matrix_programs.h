// The parts of a matrix product that generated kernels compute, as programs with operands.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "device/device.h"
#include "device/gemm_problem.h"
#include "device/work.h"
#include "graph/product_group.h"
#include "ir/fusion.h"

namespace tokamak {

/// A program that a device can prepare as a segment of its own.
struct MatrixProgram {
  std::unique_ptr<Fusion> owner;
  const Expr* expr = nullptr;  ///< the segment
  std::vector<OperandDesc> operands;
  std::vector<size_t> numbers;  ///< which operand of the product each of them is
  ScalarBindings bindings;

  /// `kernels`: as in the request that it is a part of.
  WorkRequest request(KernelMaker* kernels = nullptr) const {
    return {.expr = *expr, .operands = operands, .bindings = bindings, .kernels = kernels};
  }
};

/// The operands of a group's product, its result last, and which operands of the segment they are.
struct GroupOperands {
  std::vector<OperandDesc> descs;
  std::vector<size_t> numbers;
};
GroupOperands operandsOf(const ProductGroup& group, std::span<const OperandDesc> of_segment);

/// The same elements, row-major and dense: what lies between a product and its activation where each is a kernel.
OperandDesc denseLike(const OperandDesc& operand);

/// Stores the bias into every element of the result. The problem has a bias. Of a plain problem, the program is the
/// same for all sizes and strides.
MatrixProgram biasProgram(const GemmProblem& problem, std::span<const OperandDesc> operands);

/// The whole product as sums of products, for any type and layout. Slow: operands are read again for every element of
/// the result.
MatrixProgram productProgram(const GemmProblem& problem, std::span<const OperandDesc> operands);

/// The group's activation of a product that is in memory. Its operands are the product and the group's result, which
/// `numbers` leaves out; `bindings`: of the symbols of the group's fusion.
MatrixProgram activationProgram(const ProductGroup& group, OperandDesc product, OperandDesc result,
                                const ScalarBindings& bindings);

}  // namespace tokamak
