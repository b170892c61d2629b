// Typed loops: the innermost loops of op-by-op evaluation, found by type at preparation. Elements lie side by side
// unless a stride (in elements) is named; a destination may be exactly one of the sources.
#pragma once

#include <cstdint>

#include "ir/ops/math/reduction_op.h"
#include "symbolic/functions.h"

namespace tokamak {

/// How wide the vectors of a loop are: as all processors of the platform have them, or as most do. Both give the same
/// bits.
enum class VectorWidth : uint8_t { Narrow, Wide };
/// The widest that this processor has.
VectorWidth widestVectors();

/// out[i] = function(in[0][i], in[1][i], ...) for 0 <= i < n.
using FunctionLoop = void (*)(void* out, const void* const* in, int64_t n);
/// `operand`: the type that the function computes with (functionTypes), no half type; a condition is bool.
FunctionLoop functionLoop(FunctionId id, DataType operand, VectorWidth width = widestVectors());

/// out[i] = in[i] as another type, rounded once.
using CastLoop = void (*)(void* out, const void* in, int64_t n);
CastLoop castLoop(DataType to, DataType from, VectorWidth width = widestVectors());

/// Writes `n` elements of `value` as `dtype`.
void fillWith(const ScalarValue& value, DataType dtype, void* out, int64_t n);
/// Writes first, first + step, ... as `dtype`.
void fillCounting(int64_t first, int64_t step, DataType dtype, void* out, int64_t n);

/// out[i * out_stride] = in[i * in_stride], for elements of `size` bytes (1, 2, 4, 8).
void copyStrided(void* out, int64_t out_stride, const void* in, int64_t in_stride, int64_t n, int64_t size);
/// out[i] = in[i * in_stride + positions[i] * position_stride], for elements of `size` bytes.
void copyGathered(void* out, const void* in, int64_t in_stride, const int64_t* positions, int64_t position_stride,
                  int64_t n, int64_t size);
/// out[r * out_stride + c] = in[r + c * in_stride] for r < rows, c < columns.
void copyTransposed(void* out, int64_t out_stride, const void* in, int64_t in_stride, int64_t rows, int64_t columns,
                    int64_t size, VectorWidth width = widestVectors());

/// How a reduction accumulates: floating sums and products in f64, the rest in its own type. Sums of f64 may keep
/// beside each accumulator what rounding has lost, `distance` bytes behind it: accumulators take up two arrays then. A
/// distance of 0 says that there is no second array.
struct ReductionLoops {
  static constexpr int64_t kResults = 32;  ///< that add_all has of its own
  static constexpr int64_t kRows = 8;      ///< that add_rows takes

  int64_t accumulator_size;  ///< bytes, at most 8
  bool keeps_losses;
  /// accumulators[i] = the identity.
  void (*start)(void* accumulators, int64_t distance, int64_t n);
  /// accumulators[i] is combined with in[i]; no losses are kept.
  void (*add_each)(void* accumulators, const void* in, int64_t n);
  /// accumulators[i] is combined with element i of kRows rows, each `stride` bytes behind the one before; no losses are
  /// kept.
  void (*add_rows)(void* accumulators, const void* first, int64_t stride, int64_t n);
  /// *accumulator is combined with in[0], ..., in[n - 1], in an order that depends on n alone.
  void (*add_all)(void* accumulator, int64_t distance, const void* in, int64_t n);
  /// accumulators[i] is combined with others[i]. The distance is not 0.
  void (*merge)(void* accumulators, int64_t distance, const void* others, int64_t others_distance, int64_t n);
  /// out[i] = accumulators[i] in the reduction's type; apart from the accumulators. The distance is not 0.
  void (*finish)(void* out, const void* accumulators, int64_t distance, int64_t n);
};
const ReductionLoops& reductionLoops(ReductionKind kind, DataType dtype, VectorWidth width = widestVectors());

}  // namespace tokamak
