// Reduced streams: loops over an axis that an op reduces. Iterations compute terms, which are combined in their order.
#pragma once

#include <optional>
#include <vector>

#include "host/ir/host_ir_container.h"
#include "host/lower/stream_axis.h"

namespace tokamak {

/// The Stream axis of the op's result, if that is one of the axes that the op reduces. An axis of one element has
/// nothing to deal out, and loses its mark. Errors: HostProgram, naming the mark, as findStreamAxis(), and for a second
/// mark, a merged axis, and an expanded operand along the axis.
std::optional<StreamAxis> findReducedStream(const Expr& expr);

/// A product or reduction that is streamed along an axis that it reduces, in parts:
///
///     total = full(identity)            before the loop
///     term_i = op(slices of operands)   in iteration i, on its worker
///     total = total + term_i            behind it, on the caller's stream: in the order of iterations
///     result = cast(total + bias)       after the loop, where there is a bias, or sums of halves are to be rounded
class ReducedStatement {
 public:
  /// Takes the reduction axes off the result, which has its value of another statement from now on. `axis` is what
  /// findReducedStream() gives.
  ReducedStatement(HostIrContainer& program, const Expr& expr, const StreamAxis& axis);

  /// The op on whole operands, without bias, whose result no statement has.
  const Expr& op() const { return *op_; }
  /// Which axis of the result (logical) the loop runs along.
  int64_t axis() const { return axis_; }
  TensorView& total() const { return *total_; }
  Expr* identity();
  /// A tensor like the result of op(), of `extent` elements along the reduced axis.
  TensorView* makeTerm(Scalar* extent);
  Expr* combine(TensorView& term);
  /// The statements after the loop.
  std::vector<Expr*> results();

 private:
  TensorView* like(const TensorView& tensor, DataType dtype);
  TensorView* alongLastAxis(TensorView& bias);
  Expr* pointwise(TensorView* out, TensorView* a, TensorView* b, ReductionKind kind);

  HostIrContainer& program_;
  TensorView* result_;
  TensorView* bias_ = nullptr;
  const Expr* op_ = nullptr;
  int64_t axis_ = 0;
  ReductionKind reduction_ = ReductionKind::Sum;
  TensorView* total_ = nullptr;
};

/// The axis of each operand of the op (of its visible shape) along axis `axis` of its result (logical), which it
/// reduces; nothing for operands without one, and for what is no tensor.
std::vector<std::optional<int64_t>> operandAxesReduced(const Expr& op, int64_t axis);

}  // namespace tokamak
