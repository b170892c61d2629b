// Product groups: a matrix product and the activation after it, which a library can apply as its epilogue.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/fusion.h"

namespace tokamak {

struct HostSegment;

/// The epilogue: a function of each element of a product (and bias).
enum class ProductActivation : uint8_t {
  None,
  Relu,      ///< relu of the function table
  GeluTanh,  ///< gelu_tanh as define/ composes it
};

/// "", "relu", "gelu_tanh".
std::string_view activationName(ProductActivation activation);

/// result = the product's type of activation(product).
struct ProductGroup {
  Expr* product = nullptr;  ///< a matmul or linear op of f32, f16 or bf16
  ProductActivation activation = ProductActivation::None;
  std::vector<Expr*> exprs;  ///< the product, then the ops of the activation, in topological order
  TensorView* result = nullptr;
};

/// The group that computes `result`, or nothing. Its ops are exactly those that define/ makes of the activation, with
/// casts to the compute type of half types and back. Only they read intermediate tensors, none of which is an output.
///
/// A library rounds once; op by op the product is rounded, too. For relu both are the same.
std::optional<ProductGroup> productGroupOf(const Fusion& fusion, TensorView& result);

/// The group that is all of a segment, or nothing.
std::optional<ProductGroup> productGroupOf(const HostSegment& segment);

/// All disjoint groups of the fusion whose intermediate tensors have no schedule, layout or memory type, in the order
/// of their results.
std::vector<ProductGroup> productGroups(const Fusion& fusion);

}  // namespace tokamak
