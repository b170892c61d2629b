#include <cstring>

#include "base/error.h"
#include "runtime/cpu/typed_loops.h"

namespace tokamak {

namespace {

template <class T>
void copyOne(void* out, int64_t out_stride, const void* in, int64_t in_stride, int64_t n) {
  auto* to = static_cast<T*>(out);
  const auto* from = static_cast<const T*>(in);
  if (out_stride == 1 && in_stride == 0) {
    const T value = *from;
    for (int64_t i = 0; i < n; ++i) to[i] = value;
  } else if (out_stride == 1) {
    for (int64_t i = 0; i < n; ++i) to[i] = from[i * in_stride];
  } else {
    for (int64_t i = 0; i < n; ++i) to[i * out_stride] = from[i * in_stride];
  }
}

constexpr int64_t kSide = 8;

// A square of 8 x 8 as eight vectors, transposed by three rounds of interleaving row i with row i + 4.
template <class T>
inline void transposeSquare(T* to, int64_t to_stride, const T* from, int64_t from_stride) {
  typedef T Row __attribute__((vector_size(kSide * sizeof(T))));
  Row rows[kSide];
  for (int64_t i = 0; i < kSide; ++i) std::memcpy(&rows[i], from + i * from_stride, sizeof(Row));
  for (int round = 0; round < 3; ++round) {
    Row next[kSide];
    for (int64_t i = 0; i < kSide / 2; ++i) {
      next[2 * i] = __builtin_shufflevector(rows[i], rows[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
      next[2 * i + 1] = __builtin_shufflevector(rows[i], rows[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
    }
    std::memcpy(rows, next, sizeof(rows));
  }
  for (int64_t i = 0; i < kSide; ++i) std::memcpy(to + i * to_stride, &rows[i], sizeof(Row));
}

// Squares keep the lines of both sides in the nearest cache, whatever the strides.
template <class T>
TK_PER_PROCESSOR void transposeOne(void* out, int64_t out_stride, const void* in, int64_t in_stride, int64_t rows,
                                   int64_t columns) {
  auto* const to = static_cast<T*>(out);
  const auto* const from = static_cast<const T*>(in);
  for (int64_t c = 0; c < columns; c += kSide) {
    for (int64_t r = 0; r < rows; r += kSide) {
      if (c + kSide <= columns && r + kSide <= rows) {
        transposeSquare(to + r * out_stride + c, out_stride, from + r + c * in_stride, in_stride);
        continue;
      }
      for (int64_t i = r; i < rows && i < r + kSide; ++i) {
        for (int64_t j = c; j < columns && j < c + kSide; ++j) to[i * out_stride + j] = from[i + j * in_stride];
      }
    }
  }
}

template <class T>
void gatherOne(void* out, const void* in, int64_t in_stride, const int64_t* positions, int64_t position_stride,
               int64_t n) {
  auto* const to = static_cast<T*>(out);
  const auto* const from = static_cast<const T*>(in);
  for (int64_t i = 0; i < n; ++i) to[i] = from[i * in_stride + positions[i] * position_stride];
}

}  // namespace

void copyStrided(void* out, int64_t out_stride, const void* in, int64_t in_stride, int64_t n, int64_t size) {
  if (out_stride == 1 && in_stride == 1) {
    if (out != in) std::memmove(out, in, static_cast<size_t>(n * size));
    return;
  }
  switch (size) {
    case 1: return copyOne<uint8_t>(out, out_stride, in, in_stride, n);
    case 2: return copyOne<uint16_t>(out, out_stride, in, in_stride, n);
    case 4: return copyOne<uint32_t>(out, out_stride, in, in_stride, n);
    default: return copyOne<uint64_t>(out, out_stride, in, in_stride, n);
  }
}

void copyGathered(void* out, const void* in, int64_t in_stride, const int64_t* positions, int64_t position_stride,
                  int64_t n, int64_t size) {
  switch (size) {
    case 1: return gatherOne<uint8_t>(out, in, in_stride, positions, position_stride, n);
    case 2: return gatherOne<uint16_t>(out, in, in_stride, positions, position_stride, n);
    case 4: return gatherOne<uint32_t>(out, in, in_stride, positions, position_stride, n);
    default: return gatherOne<uint64_t>(out, in, in_stride, positions, position_stride, n);
  }
}

void copyTransposed(void* out, int64_t out_stride, const void* in, int64_t in_stride, int64_t rows, int64_t columns,
                    int64_t size) {
  switch (size) {
    case 1: return transposeOne<uint8_t>(out, out_stride, in, in_stride, rows, columns);
    case 2: return transposeOne<uint16_t>(out, out_stride, in, in_stride, rows, columns);
    case 4: return transposeOne<uint32_t>(out, out_stride, in, in_stride, rows, columns);
    default: return transposeOne<uint64_t>(out, out_stride, in, in_stride, rows, columns);
  }
}

}  // namespace tokamak
