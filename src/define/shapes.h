// Data movement as a user calls it: types, shapes, ranges, and tensors made of nothing.
//
// Sizes and positions are integers or scalars of the fusion. Axes may be negative and then count from the end. Every
// function makes a new tensor. Errors: Definition, naming the function and the tensor.
#pragma once

#include <vector>

#include "base/export.h"
#include "define/define_op.h"

namespace tokamak {

/// A copy that is always its own step of a host program.
TOKAMAK_EXPORT TensorView* set(TensorView* in);
/// Every element (the scalar) as `dtype`.
TOKAMAK_EXPORT TensorView* cast(TensorView* in, DataType dtype);
TOKAMAK_EXPORT Scalar* cast(Scalar* in, DataType dtype);
TOKAMAK_EXPORT Val* cast(Val* in, DataType dtype);

/// One axis per flag: true a new broadcast axis, false the next axis of `in`.
TOKAMAK_EXPORT TensorView* broadcast(TensorView* in, const std::vector<bool>& flags);
/// Axis i of `in` becomes axis axes[i] of a tensor of this shape; the others are expanded broadcast axes.
TOKAMAK_EXPORT TensorView* broadcast_in_dim(TensorView* in, const Operands& shape, const std::vector<int64_t>& axes);
/// Broadcast axes shown with these sizes; -1 keeps an axis, additional leading sizes add axes.
TOKAMAK_EXPORT TensorView* expand(TensorView* in, const Operands& shape);
/// Without these broadcast axes of size 1.
TOKAMAK_EXPORT TensorView* squeeze(TensorView* in, const std::vector<int64_t>& axes);
/// With a new broadcast axis at position `axis` of the result.
TOKAMAK_EXPORT TensorView* unsqueeze(TensorView* in, int64_t axis);

/// The same elements in row-major order; one size may be -1 and is then what the others leave.
TOKAMAK_EXPORT TensorView* reshape(TensorView* in, const Operands& shape);
/// Axis i of the result is axis order[i] of `in`.
TOKAMAK_EXPORT TensorView* permute(TensorView* in, const std::vector<int64_t>& order);
/// Two axes exchanged.
TOKAMAK_EXPORT TensorView* transpose(TensorView* in, int64_t a = -2, int64_t b = -1);

/// Elements starts[i], starts[i] + steps[i], ... before stops[i] along every axis; steps are 1 when left out. Negative
/// integers count from the end; 0 <= start <= stop <= size.
TOKAMAK_EXPORT TensorView* slice(TensorView* in, const Operands& starts, const Operands& stops,
                                 const Operands& steps = {});
/// A range of one axis, all of the others.
TOKAMAK_EXPORT TensorView* slice(TensorView* in, int64_t axis, Operand start, Operand stop, Operand step = 1);
/// One index of an axis, which is gone in the result; a negative integer counts from the end.
TOKAMAK_EXPORT TensorView* select(TensorView* in, int64_t axis, Operand index);
/// widths[2i] elements of `value` before and widths[2i + 1] after those along axis i; negative widths cut.
TOKAMAK_EXPORT TensorView* pad(TensorView* in, const Operands& widths, Operand value = 0);
/// One after the other along `axis`, promoted to a common type.
TOKAMAK_EXPORT TensorView* cat(const std::vector<TensorView*>& ins, int64_t axis = 0);

/// A tensor of one value, converted to `dtype`.
TOKAMAK_EXPORT TensorView* full(Fusion& fusion, const Operands& shape, Operand value, DataType dtype);
TOKAMAK_EXPORT TensorView* zeros(Fusion& fusion, const Operands& shape, DataType dtype = DataType::F32);
TOKAMAK_EXPORT TensorView* ones(Fusion& fusion, const Operands& shape, DataType dtype = DataType::F32);
/// start, start + step, ...: `length` elements, computed in `dtype`.
TOKAMAK_EXPORT TensorView* iota(Fusion& fusion, Operand length, Operand start = 0, Operand step = 1,
                                DataType dtype = DataType::I64);

namespace defining {
#define TK_OWN(Op) \
  template <>      \
  inline constexpr bool has_own_function<Op> = true;
TK_OWN(LoadStoreOp)
TK_OWN(CastOp)
TK_OWN(BroadcastOp)
TK_OWN(ExpandOp)
TK_OWN(SqueezeOp)
TK_OWN(ReshapeOp)
TK_OWN(PermuteOp)
TK_OWN(SliceOp)
TK_OWN(SelectOp)
TK_OWN(PadOp)
TK_OWN(CatOp)
TK_OWN(FullOp)
TK_OWN(IotaOp)
#undef TK_OWN
}  // namespace defining

}  // namespace tokamak
