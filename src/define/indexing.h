// Reading at positions that other tensors tell: take_along_axis, and what is made of it.
//
// Positions are i32 or i64. One outside of [0, size) is clamped into it; where the size is 0 the result is 0.
#pragma once

#include <optional>

#include "base/export.h"
#include "define/define_op.h"

namespace tokamak {

/// out[.., j, ..] = in[.., index[.., j, ..], ..] along `axis`; along the other axes both broadcast to a common shape,
/// as in NumPy.
TOKAMAK_EXPORT TensorView* take_along_axis(TensorView* in, TensorView* index, int64_t axis);
/// The same along `axis`. As PyTorch's gather the result has the shape of `index`, whose other axes
/// may be shorter than those of `in`; a part of `in` is read then.
TOKAMAK_EXPORT TensorView* gather(TensorView* in, int64_t axis, TensorView* index);
/// The rows (along `axis`) that `index`, of rank 1 or 0, tells.
TOKAMAK_EXPORT TensorView* index_select(TensorView* in, int64_t axis, TensorView* index);
struct EmbeddingOptions {
  std::optional<double> max_norm = {};  ///< not negative; left out: rows stay as they are
  double norm_type = 2;                 ///< the order of the norm, above 0; infinity: the largest magnitude
};

/// Rows of the matrix `weight`: out[i.., d] = weight[index[i..], d], for positions of any rank. A row whose norm
/// (sum |w|^p)^(1/p) is above max_norm is scaled by max_norm / (norm + 1e-7), as in PyTorch; the weight itself stays
/// as it is. Half types are scaled in f32 and rounded once. Errors: Definition for a weight that is no matrix, for
/// norms of integers, and for options that are out of range.
TOKAMAK_EXPORT TensorView* embedding(TensorView* weight, TensorView* index, EmbeddingOptions options = {});

namespace defining {
template <>
inline constexpr bool has_own_function<TakeAlongAxisOp> = true;
}  // namespace defining

}  // namespace tokamak
