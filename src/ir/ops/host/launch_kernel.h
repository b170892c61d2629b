// LaunchKernel: a compiled kernel with its launch geometry.
#pragma once

#include "ir/fields.h"

namespace tokamak {

/// Launches kernel number `kernel` of the program over `grid` blocks of `block` threads (three extents each,
/// expressions of the program), reading `ins` and writing `outs`.
struct LaunchKernel {
  static constexpr OpInfo info{.name = "LaunchKernel"};
  int64_t kernel = 0;
  std::vector<Val*> ins;
  std::vector<TensorView*> outs;
  std::vector<Scalar*> grid;
  std::vector<Scalar*> block;

  template <class V, class Self>
  static void describe(V& v, Self& self) {
    v.attribute("kernel", self.kernel);
    v.operands("ins", self.ins);
    v.results("outs", self.outs);
    v.attribute("grid", self.grid);
    v.attribute("block", self.block);
  }
};

}  // namespace tokamak
