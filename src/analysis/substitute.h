// Substitution: scalars with some symbols replaced.
#pragma once

#include <unordered_map>

#include "ir/fusion.h"

namespace tokamak {

class Substitution {
 public:
  explicit Substitution(Fusion& fusion) : fusion_(&fusion) {}

  void set(const Scalar& symbol, Scalar* value) { made_[&symbol] = value; }
  /// The simplified scalar.
  Scalar* operator()(Scalar* scalar);

 private:
  Fusion* fusion_;
  std::unordered_map<const Scalar*, Scalar*> made_;
};

}  // namespace tokamak
