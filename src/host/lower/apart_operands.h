// ApartOperands: an op that reads one tensor at several indices, as if each index read a tensor of its own.
#pragma once

#include <unordered_map>

#include "host/ir/host_ir_container.h"

namespace tokamak {

/// matmul(T0, T0) as matmul(T0, twin): one operand (the rows of a product) may be read in slices while another (its
/// columns) is read whole.
class ApartOperands {
 public:
  /// Makes the twins and the op on them in `program`, in no block of it.
  ApartOperands(HostIrContainer& program, const Expr& expr);

  const Expr& expr() const { return *expr_; }
  /// The tensor that a twin stands for; any other tensor is itself.
  TensorView* originalOf(TensorView* tensor) const;
  /// Twin -> tensor.
  const std::unordered_map<const TensorView*, TensorView*>& twins() const { return originals_; }

 private:
  const Expr* expr_;
  std::unordered_map<const TensorView*, TensorView*> originals_;
};

}  // namespace tokamak
