// Matrix products that tests of matrix libraries try.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
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

/// Of the operands, and of the result where it is another one.
struct ProductType {
  ProductType(DataType of_operands, std::optional<DataType> of_result = {})
      : operands(of_operands), result(of_result) {}
  DataType operands;
  std::optional<DataType> result;
};

inline std::string toString(const ProductType& type) {
  return std::string(dataTypeName(type.operands)) +
         (type.result ? " to " + std::string(dataTypeName(*type.result)) : "");
}

inline TensorView* defineProduct(Fusion& fusion, const Product& product, const ProductType& type) {
  TensorView* a = inputOf(fusion, type.operands, product.a);
  TensorView* b = inputOf(fusion, type.operands, product.b);
  const DataType result = type.result.value_or(type.operands);
  if (!product.is_linear) return define<MatmulOp>(a, b, result);
  TensorView* bias = product.has_bias ? inputOf(fusion, type.operands, {product.b[0]}) : nullptr;
  return define<LinearOp>(a, b, bias, result);
}

}  // namespace tokamak
