// Scaled dot-product attention.
#pragma once

#include <optional>

#include "base/export.h"
#include "ir/tensor_view.h"

namespace tokamak {

struct AttentionOptions {
  bool is_causal = false;            ///< query i sees keys 0 to i only
  std::optional<double> scale = {};  ///< left out: 1 / sqrt(E)
  TensorView* bias = nullptr;        ///< floating; added to the scaled scores, broadcast to [.., S, K]
  TensorView* mask = nullptr;        ///< bool, broadcast to [.., S, K]; false: the query does not see the key
};

struct Attention {
  TensorView* out = nullptr;
  /// log(sum(exp(scores))) of each query, [.., S], in the type of the scores; -infinity for a query that sees no key.
  TensorView* logsumexp = nullptr;
};

/// softmax(q k^T * scale + bias) v with q [.., S, E], k [.., K, E], v [.., K, V], usually [batch, heads, ..]; gives
/// [.., S, V] of the operands' type. A query that sees no key gives 0.
///
/// Scores, bias and softmax are f32 (f64 for f64) whatever the operands are. The softmax is not divided by its sum
/// before the product with v but after it, as in FlashAttention (Dao et al. 2022, arXiv:2205.14135): of halves, the
/// product takes exp(score - largest score) rounded to their type and gives f32, and the sum is that of the rounded
/// ones, so that the weights add up to 1. The result is rounded once.
///
/// Errors: Definition for ranks below 2, types that differ or are not floating, a bias that is not floating, a mask
/// that is not bool, more axes of these than the scores have, and matmul's own.
TOKAMAK_EXPORT TensorView* attention(TensorView* q, TensorView* k, TensorView* v, AttentionOptions options = {});
/// The same, with the logarithms that a gradient is computed from.
TOKAMAK_EXPORT Attention attention_with_logsumexp(TensorView* q, TensorView* k, TensorView* v,
                                                  AttentionOptions options = {});

}  // namespace tokamak
