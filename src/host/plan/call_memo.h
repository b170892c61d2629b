// CallMemo: what a caller keeps between calls that lie alike, so that the next one does not look for its plan.
#pragma once

#include <cstdint>

namespace tokamak {

/// Belongs to the calls of one program with tensors in the same places.
/// Thread safety: one call at a time.
struct CallMemo {
  /// The caller's: since the last call with this memo, no tensor has changed its element type, kind of memory, sizes,
  /// strides or alignment. Where it is not so, the plan is looked for by its key.
  bool lies_alike = false;
  /// The program's: of the plan of the last call (PlanCache::Found); 0 for none.
  uint64_t plan_number = 0;
};

}  // namespace tokamak
