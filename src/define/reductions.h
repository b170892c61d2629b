// Reductions as a user calls them: sum, prod, max, min over axes.
#pragma once

#include <optional>
#include <vector>

#include "base/export.h"
#include "define/define_op.h"

namespace tokamak {

enum class ReductionKind : uint8_t;

struct ReductionOptions {
  bool keepdim = false;                ///< the reduced axes stay as broadcast axes of size 1
  std::optional<DataType> dtype = {};  ///< the operand is converted to it first (half types: computed in f32)
};

/// The combination of `in` over `axes` (negative ones count from the end; none: all). sum and prod of bool and integers
/// give i64; half types give f32. Axes that need no loop get none: a broadcast axis is squeezed; over an expanded one
/// of constant size a sum is a product by the size, a prod a power, max and min take one element; over a constant 0
/// elements the result is the reduction's identity. Errors: Definition for an axis out of range or named twice.
TOKAMAK_EXPORT TensorView* reduce(ReductionKind kind, TensorView* in, const std::vector<int64_t>& axes = {},
                                  ReductionOptions options = {});

TOKAMAK_EXPORT TensorView* sum(TensorView* in, const std::vector<int64_t>& axes = {}, ReductionOptions options = {});
TOKAMAK_EXPORT TensorView* prod(TensorView* in, const std::vector<int64_t>& axes = {}, ReductionOptions options = {});
/// NaN if an element is NaN.
TOKAMAK_EXPORT TensorView* max(TensorView* in, const std::vector<int64_t>& axes = {}, ReductionOptions options = {});
/// NaN if an element is NaN.
TOKAMAK_EXPORT TensorView* min(TensorView* in, const std::vector<int64_t>& axes = {}, ReductionOptions options = {});

/// `reduced` with broadcast axes of size 1 at `axes` of the result.
TOKAMAK_EXPORT TensorView* keepAxes(TensorView* reduced, const std::vector<int64_t>& axes);
/// The numbers in [0, rank), sorted; all of them for an empty list. Errors: Definition, naming `op`.
TOKAMAK_EXPORT std::vector<int64_t> reducedAxes(std::string_view op, const TensorView& in,
                                                const std::vector<int64_t>& axes);

namespace defining {
template <>
inline constexpr bool has_own_function<PointwiseOp> = true;
template <>
inline constexpr bool has_own_function<ReductionOp> = true;
}  // namespace defining

}  // namespace tokamak
