// Pass infer-stride-order: gives tensors the stride order of the inputs that they follow (docs/layouts.md).
//
// TensorDomain has three notions: the *requirement* `stride_order` is the user's, and always met; the *hint*
// `stride_order_hint` is this pass's, and segmentation or schedules may ignore it; the *decision* is `allocation`.
//
// A tensor without requirement and decision gets a hint from inputs that are not row-major, through ops that keep axes
// whole. Of several operands with an order, the one with most axes counts, then the first.
// Library calls (matmul, linear) and ops that split axes pass nothing on, nor do ops without operands (full). Outputs
// that update an input have its layout.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "ir/fusion.h"

namespace tokamak {

/// Sets the requirement: axis i of `output` is the order[i]-th fastest in memory, 0 the fastest. Errors: Definition if
/// the tensor is no output, or `order` is no permutation of its axes (without reductions).
void setOutputStrideOrder(TensorView& output, std::vector<int64_t> order);

/// Whether the tensor has a requirement, a hint or a decision.
bool hasLayout(const TensorView& tensor);

/// The order as tensor domains have it: per axis its rank, 0 the fastest. `slowest_first`: axes.
std::vector<int64_t> strideRanks(const std::vector<int64_t>& slowest_first);

/// Sets hints of these tensors, unless they have a hint, a requirement or a decision.
void hintStrideOrder(const Fusion& fusion, std::span<TensorView* const> tensors);

/// The pass: a copy of the fusion with hints for its outputs.
std::unique_ptr<Fusion> inferStrideOrder(const Fusion& fusion);

}  // namespace tokamak
