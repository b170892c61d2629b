// Allocate: a buffer for a tensor of a host program.
#pragma once

#include "ir/fields.h"
#include "ir/memory_kind.h"

namespace tokamak {

/// Gives `buffer` memory on the current stream; does nothing when the tensor already has some. `size` is the number of
/// elements. In a loop: once per iteration. A freshly given buffer is undefined unless `zero_init`; `resets_to_zero`
/// promises that whoever uses it leaves zeros behind.
struct Allocate {
  static constexpr OpInfo info{.name = "ALLOCATE"};
  TensorView* buffer = nullptr;
  Scalar* size = nullptr;
  bool zero_init = false;
  bool resets_to_zero = false;

  template <class V, class Self>
  static void describe(V& v, Self& self) {
    v.result("buffer", self.buffer);
    v.attribute("size", self.size);
    v.attribute("zero_init", self.zero_init);
    v.attribute("resets_to_zero", self.resets_to_zero);
  }
};

}  // namespace tokamak
