#include "device/gemm_problem.h"

#include <utility>

#include "base/require.h"
#include "device/work.h"
#include "ir/fields.h"
#include "ir/ops/math/linear_op.h"
#include "ir/ops/math/matmul_op.h"

namespace tokamak {

namespace {

// An operand's axis of size 1 repeats its element. `from_end`: 0 is the last axis; beyond the first one the size is 1.
struct Axis {
  int64_t size = 1;
  int64_t stride = 0;
};

Axis axisFromEnd(const OperandDesc& desc, size_t from_end) {
  if (from_end >= desc.sizes.size()) return {};
  const size_t i = desc.sizes.size() - 1 - from_end;
  return {desc.sizes[i], desc.sizes[i] == 1 ? 0 : desc.strides[i]};
}

void requireSame(const Expr& expr, const char* what, int64_t size, int64_t expected) {
  TK_REQUIRE(size == expected, Bind, "{}: the {} is {}; with the other operands it must be {}", callName(expr), what,
             size, expected);
}

// A result that repeats an element along an axis stores it once, so that one element of an operand is read.
Axis alongResult(const Expr& expr, size_t from_end, Axis of_operand, const Axis& of_result) {
  const Axes shape = shapeOf(*asTensor(expr.output(0)));
  const bool is_repeated =
      of_result.size == 1 && from_end < shape.size() && shape[shape.size() - 1 - from_end]->expandedExtent() != nullptr;
  return is_repeated ? Axis{} : of_operand;
}

void addBatches(const Expr& expr, std::span<const OperandDesc> operands, size_t a_skips, size_t b_skips, size_t c_skips,
                GemmProblem& problem) {
  const OperandDesc& c = operands[problem.c_operand];
  for (size_t i = c.sizes.size() - c_skips; i-- > 0;) {  // slowest first
    const Axis of_c = axisFromEnd(c, c_skips + i);
    const Axis of_a = alongResult(expr, c_skips + i, axisFromEnd(operands[problem.a_operand], a_skips + i), of_c);
    const Axis of_b = alongResult(expr, c_skips + i, axisFromEnd(operands[problem.b_operand], b_skips + i), of_c);
    if (of_a.size != 1) requireSame(expr, "size of a leading axis", of_a.size, of_c.size);
    if (of_b.size != 1) requireSame(expr, "size of a leading axis", of_b.size, of_c.size);
    problem.batches.push_back({of_c.size, of_a.stride, of_b.stride, of_c.stride});
  }
}

GemmProblem ofMatmul(const Expr& expr, std::span<const OperandDesc> operands) {
  GemmProblem problem;
  const OperandDesc& left = operands[0];
  const OperandDesc& right = operands[1];
  const OperandDesc& out = operands[2];
  const bool has_rows = left.sizes.size() > 1;
  const bool has_columns = right.sizes.size() > 1;
  const Axis out_n = has_columns ? axisFromEnd(out, 0) : Axis{};
  const Axis out_m = has_rows ? axisFromEnd(out, has_columns ? 1 : 0) : Axis{};
  const Axis left_k = axisFromEnd(left, 0);
  const Axis left_m = alongResult(expr, has_columns ? 1 : 0, axisFromEnd(left, 1), out_m);
  const Axis right_k = axisFromEnd(right, has_columns ? 1 : 0);
  const Axis right_n = has_columns ? alongResult(expr, 0, axisFromEnd(right, 0), out_n) : Axis{};
  requireSame(expr, "inner size of the right operand", right_k.size, left_k.size);
  requireSame(expr, "number of rows of the left operand", left_m.size, out_m.size);
  requireSame(expr, "number of columns of the right operand", right_n.size, out_n.size);
  problem.m = out_m.size;
  problem.n = out_n.size;
  problem.k = left_k.size;
  problem.a = {left_m.stride, left_k.stride};
  problem.b = {right_k.stride, right_n.stride};
  problem.c = {out_m.stride, out_n.stride};
  addBatches(expr, operands, has_rows ? 2 : 1, has_columns ? 2 : 1, (has_rows ? 1U : 0U) + (has_columns ? 1U : 0U),
             problem);
  return problem;
}

GemmProblem ofLinear(const Expr& expr, std::span<const OperandDesc> operands, bool has_bias) {
  GemmProblem problem;
  problem.c_operand = has_bias ? 3 : 2;
  const Axis in_k = axisFromEnd(operands[0], 0);
  const bool has_columns = operands[1].sizes.size() > 1;
  const Axis out_n = has_columns ? axisFromEnd(operands[problem.c_operand], 0) : Axis{};
  const Axis weight_n = alongResult(expr, 0, axisFromEnd(operands[1], 1), out_n);
  const Axis weight_k = axisFromEnd(operands[1], 0);
  requireSame(expr, "inner size of the weight", weight_k.size, in_k.size);
  requireSame(expr, "number of the weight's rows", weight_n.size, out_n.size);
  problem.n = out_n.size;
  problem.k = in_k.size;
  problem.a = {0, in_k.stride};
  problem.b = {weight_k.stride, weight_n.stride};
  problem.c = {0, out_n.stride};
  if (has_bias) {
    const Axis bias = alongResult(expr, 0, axisFromEnd(operands[2], 0), out_n);
    if (bias.size != 1) requireSame(expr, "size of the bias", bias.size, out_n.size);
    problem.bias_operand = 2;
    problem.bias = {0, bias.stride};
  }
  addBatches(expr, operands, 1, 2, has_columns ? 1 : 0, problem);
  // The weight has no leading axes: the batches are rows.
  for (GemmProblem::Batch& batch : problem.batches) batch.b = 0;
  return problem;
}

// The innermost batches that all share b and lie like rows become rows.
void mergeBatches(GemmProblem& problem) {
  while (!problem.batches.empty()) {
    const GemmProblem::Batch& last = problem.batches.back();
    if (last.size != 1) {
      if (last.b != 0) return;
      if (problem.m == 1)
        problem.a.row = last.a, problem.c.row = last.c;
      else if (last.a != problem.m * problem.a.row || last.c != problem.m * problem.c.row)
        return;
      problem.m *= last.size;
    }
    problem.batches.pop_back();
  }
}

}  // namespace

GemmProblem transposed(GemmProblem problem) {
  const auto exchange = [](MatrixStrides s) { return MatrixStrides{s.column, s.row}; };
  std::swap(problem.m, problem.n);
  const MatrixStrides a = problem.a;
  problem.a = exchange(problem.b);
  problem.b = exchange(a);
  problem.c = exchange(problem.c);
  problem.bias = exchange(problem.bias);
  std::swap(problem.a_operand, problem.b_operand);
  for (GemmProblem::Batch& batch : problem.batches) std::swap(batch.a, batch.b);
  return problem;
}

int64_t GemmProblem::batchCount() const {
  int64_t count = 1;
  for (const Batch& batch : batches) count *= batch.size;
  return count;
}

std::optional<GemmProblem> plainProblemOf(const Expr& expr, std::span<const OperandDesc> operands) {
  const auto* linear = expr.as<LinearOp>();
  if (linear == nullptr && !expr.is<MatmulOp>()) return std::nullopt;
  const size_t expected = linear != nullptr && linear->bias != nullptr ? 4 : 3;
  TK_REQUIRE(operands.size() == expected, Bind, "{}: {} operands are described; it has {} with its result",
             callName(expr), operands.size(), expected);
  GemmProblem problem =
      linear == nullptr ? ofMatmul(expr, operands) : ofLinear(expr, operands, linear->bias != nullptr);
  problem.dtype = operands[0].dtype;
  problem.result = operands[problem.c_operand].dtype;
  return problem;
}

std::optional<GemmProblem> gemmProblemOf(const Expr& expr, std::span<const OperandDesc> operands) {
  std::optional<GemmProblem> problem = plainProblemOf(expr, operands);
  if (!problem) return problem;
  mergeBatches(*problem);
  if (problem->c.column != 1 && problem->n != 1 && problem->c.row == 1) return transposed(*std::move(problem));
  return problem;
}

}  // namespace tokamak
