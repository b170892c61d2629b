#include <algorithm>
#include <cstring>
#include <utility>

#include "loops/lanes.h"

namespace tokamak {

namespace {

template <class T>
void fill(T* to, T value, int64_t n) {
  constexpr int64_t count = lanes::kLaneCount<lanes::kNarrowBytes, T>;
  const auto values = lanes::splat<lanes::Vector<T, count>>(value);
  int64_t i = 0;
  for (; i + count <= n; i += count) lanes::store(to + i, values);
  for (; i < n; ++i) to[i] = value;
}

template <class T>
void copyOne(void* out, int64_t out_stride, const void* in, int64_t in_stride, int64_t n) {
  auto* to = static_cast<T*>(out);
  const auto* from = static_cast<const T*>(in);
  if (out_stride == 1 && in_stride == 0) {
    fill(to, *from, n);
  } else if (out_stride == 1) {
    for (int64_t i = 0; i < n; ++i) to[i] = from[i * in_stride];
  } else {
    for (int64_t i = 0; i < n; ++i) to[i * out_stride] = from[i * in_stride];
  }
}

// Interleaves the lower (part 0) or upper (part 1) halves of two vectors.
template <size_t part, class V, size_t... I>
TK_LANES V interleaved(V a, V b, std::index_sequence<I...>) {
  constexpr size_t side = sizeof...(I);
  return __builtin_shufflevector(a, b, (I / 2 + part * side / 2 + I % 2 * side)...);
}

// A square as vectors, transposed by rounds that interleave row i with the row half a square further down.
template <class T, size_t... I>
TK_LANES void transposeSquare(T* to, int64_t to_stride, const T* from, int64_t from_stride,
                              std::index_sequence<I...> all) {
  constexpr int64_t side = sizeof...(I);
  using Row = lanes::Vector<T, side>;
  Row rows[] = {lanes::load<T, side>(from + static_cast<int64_t>(I) * from_stride)...};
  const auto interleave = [&]() __attribute__((always_inline)) {
    const Row next[] = {interleaved<I % 2>(rows[I / 2], rows[I / 2 + side / 2], all)...};
    ((rows[I] = next[I]), ...);
  };
  interleave();
  if constexpr (side >= 4) interleave();
  if constexpr (side >= 8) interleave();
  (lanes::store(to + static_cast<int64_t>(I) * to_stride, rows[I]), ...);
}

// Squares keep the lines of both sides in the nearest cache, whatever the strides.
template <class T>
struct Transpose {
  template <int64_t bytes>
  TK_LANES static void run(void* out, int64_t out_stride, const void* in, int64_t in_stride, int64_t rows,
                           int64_t columns) {
    constexpr int64_t side = std::min<int64_t>(8, lanes::kLaneCount<bytes, T>);
    auto* const to = static_cast<T*>(out);
    const auto* const from = static_cast<const T*>(in);
    for (int64_t c = 0; c < columns; c += side) {
      for (int64_t r = 0; r < rows; r += side) {
        if (c + side <= columns && r + side <= rows) {
          transposeSquare(to + r * out_stride + c, out_stride, from + r + c * in_stride, in_stride,
                          std::make_index_sequence<side>());
          continue;
        }
        for (int64_t i = r; i < rows && i < r + side; ++i) {
          for (int64_t j = c; j < columns && j < c + side; ++j) to[i * out_stride + j] = from[i + j * in_stride];
        }
      }
    }
  }
};

using TransposeLoop = void (*)(void* out, int64_t out_stride, const void* in, int64_t in_stride, int64_t rows,
                               int64_t columns);

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
                    int64_t size, VectorWidth width) {
  const auto transpose = [&](TransposeLoop loop) { loop(out, out_stride, in, in_stride, rows, columns); };
  switch (size) {
    case 1: return transpose(lanes::loopOf<Transpose<uint8_t>, TransposeLoop>(width));
    case 2: return transpose(lanes::loopOf<Transpose<uint16_t>, TransposeLoop>(width));
    case 4: return transpose(lanes::loopOf<Transpose<uint32_t>, TransposeLoop>(width));
    default: return transpose(lanes::loopOf<Transpose<uint64_t>, TransposeLoop>(width));
  }
}

}  // namespace tokamak
