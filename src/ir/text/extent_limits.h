// ExtentLimits: whether an extent can still be written; extents grow with the ops that they go through.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "symbolic/scalar.h"

namespace tokamak {

class ExtentLimits {
 public:
  /// Whether the scalar's text has a size that can be written and read.
  bool allows(const Scalar& scalar);

 private:
  struct Measure {
    int64_t nodes = 1;
    int depth = 0;
  };

  const Measure& measureOf(const Scalar& scalar);

  std::unordered_map<const Scalar*, Measure> measures_;
};

}  // namespace tokamak
