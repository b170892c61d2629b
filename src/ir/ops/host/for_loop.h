// ForLoop: a loop of a host program.
#pragma once

#include "ir/fields.h"

namespace tokamak {

/// Runs `body` for index = start, start + step, ... < stop. Each iteration rebinds `index` and forgets what was
/// computed from it. `axis`, if there is one, is the axis whose elements the iterations stand for.
struct ForLoop {
  static constexpr OpInfo info{.name = "FOR"};
  Scalar* index = nullptr;
  Scalar* start = nullptr;
  Scalar* stop = nullptr;
  Scalar* step = nullptr;
  IterDomain* axis = nullptr;
  Block body;

  template <class V, class Self>
  static void describe(V& v, Self& self) {
    v.attribute("index", self.index);
    v.attribute("start", self.start);
    v.attribute("stop", self.stop);
    v.attribute("step", self.step);
    v.attribute("axis", self.axis);
    v.body("body", self.body);
  }
};

}  // namespace tokamak
