#include "graph/remove_dead.h"

#include "graph/rewriter.h"

namespace tokamak {

std::unique_ptr<Fusion> removeDead(const Fusion& fusion) {
  return rewriteFusion(fusion, [](const Expr&, Cloner&) { return false; });
}

}  // namespace tokamak
