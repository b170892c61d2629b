// ReductionOp: sum, prod, max, min over axes.
#pragma once

#include "ir/reduction_kind.h"
#include "ir/shape_rule.h"

namespace tokamak {

/// The name in host program dumps: add mul max min.
std::string_view reductionDumpName(ReductionKind kind);
/// The value a reduction over no elements gives: 0, 1, and the lowest and highest value of the type (infinite if it can
/// be).
ScalarValue reductionIdentity(ReductionKind kind, DataType dtype);

/// out[c] = the combination of in over `axes` (numbers of the operand's shape without its own reductions, sorted). The
/// result keeps them as reduction axes; consumers do not see them. max and min propagate NaN. Sums and products of bool
/// and integers are i64; half types are computed in f32 and give f32 (define/ inserts the casts).
struct ReductionOp {
  static constexpr OpInfo info{.name = "reduction"};
  TensorView* out = nullptr;
  TensorView* in = nullptr;
  ReductionKind op = ReductionKind::Sum;
  std::vector<int64_t> axes;

  template <class V, class Self>
  static void describe(V& v, Self& self) {
    v.result("out", self.out);
    v.spelling("op", self.op);
    v.operand("in", self.in);
    v.axes("axes", self.axes, self.in);
  }

  void infer(const ShapeRule& rule) {
    axes = rule.normalAxes(axes, *in);
    TK_REQUIRE(!axes.empty(), Definition, "{}: no axes to reduce on {}; name at least one", enumName(op),
               toString(*in));
    Axes result;
    size_t next = 0;
    int64_t position = 0;
    for (const IterDomain* axis : shapeOf(*in)) {
      const bool is_reduced = next < axes.size() && axes[next] == position++;
      if (is_reduced) ++next;
      result.push_back(is_reduced ? rule.reduction(*axis) : rule.like(*axis));
    }
    out = rule.tensor(in->dtype(), std::move(result));
  }
};

}  // namespace tokamak
