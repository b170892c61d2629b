// Synchronize: the current stream waits for another one.
#pragma once

#include "ir/fields.h"

namespace tokamak {

/// Work enqueued on the current stream from now on starts after what is queued on `stream` now. The host does not
/// block.
struct Synchronize {
  static constexpr OpInfo info{.name = "Synchronize"};
  StreamVal* stream = nullptr;

  template <class V, class Self>
  static void describe(V& v, Self& self) {
    v.operand("stream", self.stream);
  }
};

}  // namespace tokamak
