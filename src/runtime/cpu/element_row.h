// ElementRow: runs an element program along rows, from one thread's scratch memory.
#pragma once

#include "runtime/cpu/element_program.h"

namespace tokamak {

/// A tile of a transposed operand has this many bytes (a cache line) along one dimension, and this many elements along
/// the other. Storing tiles directly to the result was slower, as its rows conflict in the cache.
inline constexpr int64_t kTileBytes = 64;
inline constexpr int64_t kTileColumns = 256;

/// A range of the reduced dimension along which a reduction is split over threads.
struct ReducedRange {
  size_t dimension = 0;
  int64_t begin = 0;
  int64_t end = 0;
};

/// The results of a split reduction: `pieces` arrays of accumulators, `stride` bytes apart; the second half of each has
/// the rounding errors (compensated summation).
struct Partials {
  const char* first = nullptr;
  int64_t pieces = 0;
  int64_t stride = 0;
};

class ElementRow {
 public:
  ElementRow(const ElementProgram& program, void* const* addresses);

  /// The start of the next row in the result, which the caller sets. Entries of reduced dimensions are internal.
  int64_t* at() { return at_; }

  /// Computes `n` elements from at() along the row dimension, for `tile_rows` positions along the tile dimension. n is
  /// at most maxRow(). A split reduction takes its accumulators from `partials`.
  void run(int64_t n, int64_t tile_rows, const Partials* partials = nullptr);
  /// For a program with one reduction: accumulates `n` elements over a part of the reduced dimension, in an array of
  /// `bytes` bytes.
  void accumulate(const ReducedRange& range, int64_t n, void* accumulators, int64_t bytes);

  static int64_t maxRow(const ElementProgram& program);

 private:
  const void* evaluate(size_t step, size_t along, int64_t n, void* to);
  const void* load(const ElementStep& step, size_t number, size_t along, int64_t n, void* to);
  const void* loadBent(const OperandAccess& access, size_t along, int64_t n, char* to);
  const void* loadStaged(const OperandAccess& access, int64_t n);
  const void* countAlong(const ElementStep& step, size_t along, int64_t n, char* to);
  const void* indexed(const ElementStep& step, size_t along, int64_t n, char* to);
  const void* choose(size_t number, size_t along, int64_t n, char* to);
  const void* reduce(const ElementStep& step, int64_t n, void* to);
  void accumulateAll(const ElementStep& step, int64_t n, char* accumulators, int64_t distance);
  void accumulateRows(const ElementStep& step, int64_t n, char* accumulators, int64_t distance);
  bool isInPlace(size_t step, size_t along) const;
  void accumulateElement(const ElementStep& step, char* accumulator, int64_t distance);
  void runRow(int64_t n);
  template <class Body>
  void overReduced(size_t except, const Body& body);
  int64_t reducedBegin(size_t d) const;
  int64_t reducedEnd(size_t d) const;

  char* addressOf(const OperandAccess& access) const;
  char* buffer(int32_t number) const { return buffers_ + int64_t{number} * kChunk * 8; }

  const ElementProgram& program_;
  void* const* addresses_;
  int64_t at_[kMaxDimensions] = {};
  int64_t positions_[kMaxDimensions] = {};
  char* buffers_;
  char* stages_;
  const void** filled_;  // per step: what its buffer is filled with
  const Partials* partials_ = nullptr;
  const ReducedRange* range_ = nullptr;
  int64_t stage_row_ = 0;  // where the tiles start
  int64_t stage_rows_ = 0;
  uint32_t staged_ = 0;  // bit i: tile i is read
};

}  // namespace tokamak
