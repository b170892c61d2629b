// CatOp: tensors one after the other along an axis.
#pragma once

#include "ir/shape_rule.h"

namespace tokamak {

/// The operands have the same type and rank, and equal sizes but along `axis`, where they follow each other.
struct CatOp {
  static constexpr OpInfo info{.name = "cat"};
  TensorView* out = nullptr;
  std::vector<TensorView*> ins;
  int64_t axis = 0;

  template <class V, class Self>
  static void describe(V& v, Self& self) {
    v.result("out", self.out);
    v.operands("in", self.ins);
    v.axis("axis", self.axis, self.out);
  }

  void infer(const ShapeRule& rule);
};

}  // namespace tokamak
