// GetCurrentStream: catches the current stream under a name.
#pragma once

#include "ir/fields.h"

namespace tokamak {

struct GetCurrentStream {
  static constexpr OpInfo info{.name = "GetCurrentStream"};
  StreamVal* stream = nullptr;

  template <class V, class Self>
  static void describe(V& v, Self& self) {
    v.result("stream", self.stream);
  }
};

}  // namespace tokamak
