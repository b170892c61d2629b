// Scaled dot-product attention.
#pragma once

#include <optional>

#include "ir/tensor_view.h"

namespace tokamak {

struct AttentionOptions {
  bool is_causal = false;            ///< query i sees keys 0 to i only
  std::optional<double> scale = {};  ///< left out: 1 / sqrt(E)
};

/// softmax(q k^T * scale) v with q [.., S, E], k [.., K, E], v [.., K, V], usually [batch, heads, ..]; gives [.., S, V] of the
/// operands' type. Scores and softmax are computed in f32 (f64 for f64); the scores pass through the operands' type as matmul
/// gives it. Errors: Definition for ranks below 2, types that differ or are not floating, and matmul's own.
TensorView* attention(TensorView* q, TensorView* k, TensorView* v, AttentionOptions options = {});

}  // namespace tokamak
