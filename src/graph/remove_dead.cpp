#include "graph/remove_dead.h"

#include "graph/rebuild.h"

namespace tokamak {

std::unique_ptr<Fusion> removeDead(const Fusion& fusion) {
  return rebuild(fusion, [](const Expr&, Cloner&) { return false; });
}

}  // namespace tokamak
