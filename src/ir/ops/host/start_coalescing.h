// StartCoalescing: the communications up to EndCoalescing are posted as one.
#pragma once

#include "ir/fields.h"

namespace tokamak {

struct StartCoalescing {
  static constexpr OpInfo info{.name = "StartCoalescing"};
  template <class V, class Self>
  static void describe(V&, Self&) {}
};

}  // namespace tokamak
