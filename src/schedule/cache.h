// Caches: copies that a schedule puts before or after a tensor, so that each side has loops and memory of its own. They
// are ops of the fusion. Caches are made before the tensors at hand are scheduled and inlined. Errors: Schedule.
#pragma once

#include "base/export.h"
#include "ir/cache_op.h"
#include "ir/tensor_view.h"

namespace tokamak {

/// T = f(...) becomes N = f(...), T = set(N); gives N. What reads T still does. T is computed, and not yet scheduled.
TOKAMAK_EXPORT TensorView* cache_before(TensorView* tensor, CacheOp op = kUsualCacheOp);

/// N = set(T); all that read T read N; gives N. T is an input or computed, and no output.
TOKAMAK_EXPORT TensorView* cache_after(TensorView* tensor, CacheOp op = kUsualCacheOp);

/// For an output that is read inside as well: as cache_before, and what read T reads N; gives N. T only is the output
/// then.
TOKAMAK_EXPORT TensorView* cache_fork(TensorView* tensor);

}  // namespace tokamak
