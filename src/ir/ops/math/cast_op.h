// CastOp: conversion of every element to another type.
#pragma once

#include "ir/shape_rule.h"

namespace tokamak {

/// out[c] = in[c] as `dtype`: to a narrower floating type rounds to nearest even; floating to integer truncates,
/// saturates and takes NaN to 0; to bool is "not zero".
struct CastOp {
  static constexpr OpInfo info{.name = "cast"};
  TensorView* out = nullptr;
  TensorView* in = nullptr;
  DataType dtype = DataType::F32;

  template <class V, class Self>
  static void describe(V& v, Self& self) {
    v.result("out", self.out);
    v.operand("in", self.in);
    v.attribute("dtype", self.dtype);
  }

  void infer(const ShapeRule& rule) {
    Axes axes;
    for (const IterDomain* axis : shapeOf(*in)) axes.push_back(rule.like(*axis));
    out = rule.tensor(dtype, std::move(axes));
  }
};

}  // namespace tokamak
