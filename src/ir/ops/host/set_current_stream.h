// SetCurrentStream: later work goes to this stream.
#pragma once

#include "ir/fields.h"

namespace tokamak {

struct SetCurrentStream {
  static constexpr OpInfo info{.name = "SetCurrentStream"};
  StreamVal* stream = nullptr;

  template <class V, class Self>
  static void describe(V& v, Self& self) {
    v.operand("stream", self.stream);
  }
};

}  // namespace tokamak
