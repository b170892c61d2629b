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

// Squares of 8 x 8 keep the lines of both sides in the nearest cache, whatever the strides.
template <class T>
void transposeOne(void* out, int64_t out_stride, const void* in, int64_t in_stride, int64_t rows, int64_t columns) {
  auto* const to = static_cast<T*>(out);
  const auto* const from = static_cast<const T*>(in);
  constexpr int64_t side = 8;
  for (int64_t c = 0; c < columns; c += side) {
    for (int64_t r = 0; r < rows; r += side) {
      if (c + side <= columns && r + side <= rows) {
        T square[side][side];
        for (int64_t j = 0; j < side; ++j) std::memcpy(square[j], from + r + (c + j) * in_stride, sizeof(square[j]));
        for (int64_t i = 0; i < side; ++i) {
          for (int64_t j = 0; j < side; ++j) to[(r + i) * out_stride + c + j] = square[j][i];
        }
        continue;
      }
      for (int64_t i = r; i < rows && i < r + side; ++i) {
        for (int64_t j = c; j < columns && j < c + side; ++j) to[i * out_stride + j] = from[i + j * in_stride];
      }
    }
  }
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
