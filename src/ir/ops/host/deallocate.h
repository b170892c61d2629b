// Deallocate: the last use of a buffer is over.
#pragma once

#include "ir/fields.h"

namespace tokamak {

/// Gives the memory of `buffer` back once the work enqueued on the current stream so far is done.
struct Deallocate {
  static constexpr OpInfo info{.name = "DEALLOCATE"};
  TensorView* buffer = nullptr;

  template <class V, class Self>
  static void describe(V& v, Self& self) {
    v.operand("buffer", self.buffer);
  }
};

}  // namespace tokamak
