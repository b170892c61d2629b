// ApartOperands: an op that reads one tensor as several operands, with a separate tensor (a twin) for each.
#pragma once

#include <unordered_map>

#include "host/ir/host_ir_container.h"

namespace tokamak {

/// matmul(T0, T0) becomes matmul(T0, twin), so that one operand may be a slice and the other one the whole tensor.
class ApartOperands {
 public:
  /// Makes the twins and the op on them in `program`, outside of its blocks.
  ApartOperands(HostIrContainer& program, const Expr& expr);

  const Expr& expr() const { return *expr_; }
  /// The original of a twin; any other tensor itself.
  TensorView* originalOf(TensorView* tensor) const;
  /// Twin -> tensor.
  const std::unordered_map<const TensorView*, TensorView*>& twins() const { return originals_; }

 private:
  const Expr* expr_;
  std::unordered_map<const TensorView*, TensorView*> originals_;
};

}  // namespace tokamak
