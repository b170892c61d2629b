// OpContext: what the reference of one op works with: its operands' elements, sizes and scalars.
#pragma once

#include <unordered_map>
#include <vector>

#include "ir/op_lists.h"
#include "ir/tensor_view.h"
#include "oracle/rounding.h"
#include "oracle/tensor.h"
#include "symbolic/scalar.h"

namespace tokamak::oracle {

using TensorValues = std::unordered_map<const Val*, OracleTensor>;

class OpContext {
 public:
  OpContext(const TensorValues& values, const ScalarBindings& bindings, Mode mode)
      : values_(&values), bindings_(&bindings), mode_(mode) {}

  Mode mode() const { return mode_; }
  const OracleTensor& operator[](const TensorView* tensor) const { return values_->at(tensor); }
  int64_t integer(const Scalar* scalar) const;
  Element scalarAs(DataType dtype, const Scalar* scalar) const;
  /// The sizes a consumer of `tensor` sees: no reduction axes, expanded axes as expanded. Errors: Bind when one is
  /// negative.
  std::vector<int64_t> sizesOf(const TensorView& tensor) const;
  /// A tensor of zeros for the result `tensor`.
  OracleTensor result(const TensorView& tensor) const;

 private:
  const TensorValues* values_;
  const ScalarBindings* bindings_;
  Mode mode_;
};

/// The reference of each op, in oracle/ops/<op>.cpp: an op without one does not link. Errors: Bind for sizes and
/// indices that do not fit.
#define TK_DECLARE(Op) OracleTensor compute(const Op& op, const OpContext& context);
TK_MATH_OPS(TK_DECLARE)
#undef TK_DECLARE

}  // namespace tokamak::oracle
