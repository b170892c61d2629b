// Wait: orders the current stream after a communication.
#pragma once

#include "ir/fields.h"

namespace tokamak {

/// Work enqueued on the current stream from now on starts after the communication posted last under this number.
struct Wait {
  static constexpr OpInfo info{.name = "Wait"};
  int64_t communication = 0;

  template <class V, class Self>
  static void describe(V& v, Self& self) {
    v.attribute("communication", self.communication);
  }
};

}  // namespace tokamak
