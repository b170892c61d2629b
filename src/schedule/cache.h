// Caches: copies before or after a tensor, so that each side has loops and memory of its own. They are ops of the
// fusion, made before the tensors are scheduled and inlined. Errors: Schedule.
#pragma once

#include "base/export.h"
#include "ir/cache_op.h"
#include "ir/tensor_view.h"

namespace tokamak {

/// T = f(...) becomes N = f(...), T = set(N). Returns N; readers of T do not change. T is computed, and not scheduled.
TOKAMAK_EXPORT TensorView* cache_before(TensorView* tensor, CacheOp op = kUsualCacheOp);

/// N = set(T), and readers of T read N. Returns N. T is no output.
TOKAMAK_EXPORT TensorView* cache_after(TensorView* tensor, CacheOp op = kUsualCacheOp);

/// For an output with readers: as cache_before, and readers of T read N. Returns N.
TOKAMAK_EXPORT TensorView* cache_fork(TensorView* tensor);

}  // namespace tokamak
