// Matrix products that tests of matrix libraries try.
#pragma once

#include <cstdint>
#include <vector>

#include "define/structured.h"
#include "program_of.h"

namespace tokamak {

/// a times b, or b as the weights of a linear op.
struct Product {
  std::vector<int64_t> a;
  std::vector<int64_t> b;
  bool is_linear = false;
  bool has_bias = false;
};

inline TensorView* defineProduct(Fusion& fusion, const Product& product, DataType type) {
  TensorView* a = inputOf(fusion, type, product.a);
  TensorView* b = inputOf(fusion, type, product.b);
  if (!product.is_linear) return define<MatmulOp>(a, b);
  if (!product.has_bias) return define<LinearOp>(a, b);
  return define<LinearOp>(a, b, inputOf(fusion, type, {product.b[0]}));
}

}  // namespace tokamak
