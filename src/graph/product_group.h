// Product groups: a matrix product and the activation behind it, which a library of products applies as it stores the
// result.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/fusion.h"

namespace tokamak {

struct HostSegment;

/// What is done to each element of a product (and bias) before it is stored.
enum class ProductActivation : uint8_t {
  None,
  Relu,      ///< as the row of the function table
  GeluTanh,  ///< as define/ makes of gelu_tanh
};

/// "", "relu", "gelu_tanh".
std::string_view activationName(ProductActivation activation);

/// result = the product's type of activation(product).
struct ProductGroup {
  Expr* product = nullptr;  ///< a matmul or linear op of f32, f16 or bf16
  ProductActivation activation = ProductActivation::None;
  std::vector<Expr*> exprs;  ///< the product, then what the activation is made of, each op behind its operands
  TensorView* result = nullptr;
};

/// The group that gives `result`, or nothing. Its ops are exactly those that define/ makes of the activation, with
/// casts to the type that half types compute in and back; nobody but them reads what is between product and result, and
/// it is no output.
///
/// A library that does all of it rounds to the type once, where the ops one by one round the product as well. For relu
/// that is the same.
std::optional<ProductGroup> productGroupOf(const Fusion& fusion, TensorView& result);

/// The group that a segment is, or nothing: then it is none, or has other ops, too.
std::optional<ProductGroup> productGroupOf(const HostSegment& segment);

/// All groups of the fusion of which nothing is said about what is between product and result (loops, layout, memory),
/// in the order of their results. No op is in two of them.
std::vector<ProductGroup> productGroups(const Fusion& fusion);

}  // namespace tokamak
