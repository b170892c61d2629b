// IfThenElse: a choice of a host program.
#pragma once

#include "ir/fields.h"

namespace tokamak {

/// Runs `then_body` when the scalar `predicate` holds, else `else_body`.
struct IfThenElse {
  static constexpr OpInfo info{.name = "IF"};
  Scalar* predicate = nullptr;
  Block then_body;
  Block else_body;

  template <class V, class Self>
  static void describe(V& v, Self& self) {
    v.attribute("predicate", self.predicate);
    v.body("then", self.then_body);
    v.body("else", self.else_body);
  }
};

}  // namespace tokamak
