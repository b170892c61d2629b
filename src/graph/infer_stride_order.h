// Pass infer-stride-order: tensors are laid out like the inputs that they follow (docs/layouts.md).
//
// Three notions are kept apart (TensorDomain): the *requirement* `stride_order`, which the user sets and which is
// always honoured; the *hint* `stride_order_hint`, which this pass sets and which whoever cuts and schedules may take
// back; the *decision* `allocation`. A tensor without requirement and decision gets as a hint the order that comes to
// it from inputs whose order is not row-major, through ops that take each axis of theirs as a whole; where several
// operands have an order, the one with the most axes counts, then the first. What no input gives, such as `full`, has
// none. Library calls (matmul, linear) and ops that cut axes up pass nothing on: inputs [b, m, k] and [n, k] give [b,
// m, n] in row-major order. Outputs that update an input have its layout already.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "ir/fusion.h"

namespace tokamak {

/// The requirement: axis i of `output` is the order[i]-th fastest in memory, 0 the fastest. Errors: Definition when the
/// tensor is no output of its fusion, or when `order` is no permutation of its axes (without reductions).
void setOutputStrideOrder(TensorView& output, std::vector<int64_t> order);

/// Hints for these tensors of the fusion; who has one, or a requirement, or a decision, keeps it.
void hintStrideOrder(const Fusion& fusion, std::span<TensorView* const> tensors);

/// The pass: a copy with hints for the outputs.
std::unique_ptr<Fusion> inferStrideOrder(const Fusion& fusion);

}  // namespace tokamak
