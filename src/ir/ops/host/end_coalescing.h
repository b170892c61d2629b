// EndCoalescing: posts the communications since StartCoalescing as one; a Wait may name it.
#pragma once

#include "ir/fields.h"

namespace tokamak {

struct EndCoalescing {
  static constexpr OpInfo info{.name = "EndCoalescing"};
  int64_t number = 0;

  template <class V, class Self>
  static void describe(V& v, Self& self) {
    v.attribute("number", self.number);
  }
};

}  // namespace tokamak
