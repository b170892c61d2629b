// Promotion: the one type that operands of different types are brought to.
#pragma once

#include <span>

#include "define/operand.h"

namespace tokamak {

/// The promoted type of `operands`, as in PyTorch: tensors with axes outrank tensors without, these outrank scalars of
/// the fusion, these outrank numbers. The type is that of the highest rank present, unless a lower rank brings a higher
/// category (bool < integer < floating); then that category's type. With a tensor in the company (`beside_tensor`
/// counts one that is not in the list) a floating number or f64 scalar counts as f32; a constant of the fusion keeps
/// its type.
struct PromotionOptions {
  bool beside_tensor = false;
};
DataType promotedType(std::span<const Operand> operands, PromotionOptions options = {});

}  // namespace tokamak
