#include "runtime/cpu/gemm.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>

#include "base/ceil_divide.h"
#include "base/require.h"
#include "device/gemm_problem.h"
#include "device/work.h"
#include "ir/expr_summary.h"
#include "ir/fields.h"
#include "loops/typed_loops.h"
#include "runtime/cpu/element_loops.h"
#include "runtime/cpu/thread_scratch.h"

namespace tokamak {

namespace {

// One task computes a block of the result. Operands that need conversion or packing are prepared for kBlockInner of k
// at a time.
constexpr int64_t kBlockRows = 256;
constexpr int64_t kBlockColumns = 512;
constexpr int64_t kBlockInner = 1024;
constexpr int64_t kLeastWork = 32 * 384 * 96;  // multiply-adds that are worth a task of their own
constexpr int64_t kLeastTasks = 4;

/// How a result is cut: into blocks as equal as whole vectors allow, by its sizes alone.
struct Blocks {
  int64_t rows;
  int64_t columns;
};

int64_t evenPart(int64_t size, int64_t parts) {
  constexpr int64_t kUnit = 16;
  return std::max<int64_t>(ceilDivide(ceilDivide(size, parts), kUnit) * kUnit, kUnit);
}

Blocks blocksOf(int64_t batches, int64_t m, int64_t n, int64_t k) {
  batches = std::max<int64_t>(batches, 1);
  int64_t across_rows = std::max<int64_t>(ceilDivide(m, kBlockRows), 1);
  int64_t across_columns = std::max<int64_t>(ceilDivide(n, kBlockColumns), 1);
  if (batches * across_rows * across_columns < kLeastTasks) {
    const int64_t tasks = std::clamp<int64_t>(batches * m * n * k / kLeastWork, 1, kLeastTasks);
    if (m >= n)
      across_rows = std::max(across_rows, ceilDivide(tasks, across_columns * batches));
    else
      across_columns = std::max(across_columns, ceilDivide(tasks, across_rows * batches));
  }
  return {evenPart(m, across_rows), evenPart(n, across_columns)};
}

constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();

/// A part of an operand: rows x columns with strides in elements.
struct Region {
  const char* data = nullptr;
  int64_t rows = 0;
  int64_t columns = 0;
  MatrixStrides strides;
};

/// A region in the library's form.
template <class T>
struct Panel {
  const T* data = nullptr;
  int64_t leading = 0;
  Transposed transposed = Transposed::No;
};

// The region in place, if one stride is 1 and the other is large enough for the library.
template <class T>
std::optional<Panel<T>> panelInPlace(const Region& region) {
  const auto* const data = reinterpret_cast<const T*>(region.data);
  const auto fits = [](int64_t count, int64_t length, int64_t inner, int64_t outer) {
    return (inner == 1 || length == 1) && (count == 1 || (outer >= length && outer <= kLargest));
  };
  if (fits(region.rows, region.columns, region.strides.column, region.strides.row)) {
    return Panel<T>{data, std::max(region.columns, region.rows == 1 ? 1 : region.strides.row), Transposed::No};
  }
  if (fits(region.columns, region.rows, region.strides.row, region.strides.column)) {
    return Panel<T>{data, std::max(region.rows, region.columns == 1 ? 1 : region.strides.column), Transposed::Yes};
  }
  return std::nullopt;
}

// A copy of the region as T, dense along the axis with the smaller stride.
template <class T>
Panel<T> packPanel(const Region& region, DataType dtype, T* to) {
  constexpr DataType type = std::is_same_v<T, float> ? DataType::F32 : DataType::F64;
  const CastLoop cast = castLoop(type, dtype);
  const int64_t size = sizeOf(dtype);
  const bool is_transposed = std::abs(region.strides.row) < std::abs(region.strides.column);
  const int64_t lines = is_transposed ? region.columns : region.rows;
  const int64_t length = is_transposed ? region.rows : region.columns;
  const int64_t line_stride = is_transposed ? region.strides.column : region.strides.row;
  const int64_t stride = is_transposed ? region.strides.row : region.strides.column;
  for (int64_t line = 0; line < lines; ++line) {
    const char* const from = region.data + line * line_stride * size;
    T* const row = to + line * length;
    if (stride == 1) {
      cast(row, from, length);
    } else {
      constexpr int64_t chunk = 256;
      alignas(64) char gathered[chunk * 8];
      for (int64_t i = 0; i < length; i += chunk) {
        const int64_t count = std::min(chunk, length - i);
        copyStrided(gathered, 1, from + i * stride * size, stride, count, size);
        cast(row + i, gathered, count);
      }
    }
  }
  return {to, length, is_transposed ? Transposed::Yes : Transposed::No};
}

/// The operands and the destination of a block.
struct BlockPlace {
  Region a;
  Region b;
  char* c = nullptr;
  const char* bias = nullptr;
};

template <class T>
class GemmWork final : public CpuWork {
 public:
  GemmWork(std::string name, GemmProblem problem, const OpenBlas& library)
      : name_(std::move(name)),
        problem_(std::move(problem)),
        library_(library),
        blocks_(blocksOf(problem_.batchCount(), problem_.m, problem_.n, problem_.k)),
        row_blocks_(ceilDivide(problem_.m, blocks_.rows)),
        column_blocks_(ceilDivide(problem_.n, blocks_.columns)) {}

  std::string_view name() const override { return name_; }
  int64_t hostBytes() const override { return static_cast<int64_t>(sizeof(GemmWork)); }
  void run(void* const* addresses, BlockPool& pool) const override {
    pool.parallelFor(problem_.batchCount() * row_blocks_ * column_blocks_,
                     [&](int64_t block) { runBlock(place(addresses, block)); });
  }

 private:
  static constexpr DataType kType = std::is_same_v<T, float> ? DataType::F32 : DataType::F64;

  BlockPlace place(void* const* addresses, int64_t block) const;
  void runBlock(const BlockPlace& place) const;
  void multiply(const Region& a, const Region& b, T* c, int64_t leading, char* scratch) const;
  void addBias(const BlockPlace& place, T* c, int64_t leading) const;

  std::string name_;
  GemmProblem problem_;
  const OpenBlas& library_;
  Blocks blocks_;
  int64_t row_blocks_;
  int64_t column_blocks_;
};

template <class T>
BlockPlace GemmWork<T>::place(void* const* addresses, int64_t block) const {
  const GemmProblem& p = problem_;
  const int64_t size = sizeOf(p.dtype);
  const int64_t column = block % column_blocks_ * blocks_.columns;
  block /= column_blocks_;
  const int64_t row = block % row_blocks_ * blocks_.rows;
  int64_t batch = block / row_blocks_;
  int64_t a = row * p.a.row;
  int64_t b = column * p.b.column;
  int64_t c = row * p.c.row + column * p.c.column;
  for (size_t i = p.batches.size(); i-- > 0;) {
    const int64_t position = batch % p.batches[i].size;
    batch /= p.batches[i].size;
    a += position * p.batches[i].a;
    b += position * p.batches[i].b;
    c += position * p.batches[i].c;
  }
  const int64_t rows = std::min(blocks_.rows, p.m - row);
  const int64_t columns = std::min(blocks_.columns, p.n - column);
  const auto at = [&](size_t operand, int64_t offset) {
    return static_cast<char*>(addresses[operand]) + offset * size;
  };
  char* const result = static_cast<char*>(addresses[p.c_operand]) + c * sizeOf(p.result);
  return {.a = {at(p.a_operand, a), rows, p.k, p.a},
          .b = {at(p.b_operand, b), p.k, columns, p.b},
          .c = result,
          .bias = p.bias_operand ? at(*p.bias_operand, row * p.bias.row + column * p.bias.column) : nullptr};
}

// Computes a block in the result if that is dense along rows, else in a buffer that is converted row by row.
template <class T>
void GemmWork<T>::runBlock(const BlockPlace& place) const {
  const int64_t rows = place.a.rows;
  const int64_t columns = place.b.columns;
  constexpr int64_t elements = kBlockRows * kBlockColumns + kBlockColumns;
  constexpr int64_t packed = kBlockRows * kBlockInner + kBlockInner * kBlockColumns;
  char* const scratch = threadScratch((elements + packed) * static_cast<int64_t>(sizeof(T)));
  const bool is_direct = problem_.result == kType && (problem_.c.column == 1 || columns == 1) &&
                         (rows == 1 || (problem_.c.row >= columns && problem_.c.row <= kLargest));
  T* const c = is_direct ? reinterpret_cast<T*>(place.c) : reinterpret_cast<T*>(scratch);
  const int64_t leading = is_direct && rows > 1 ? problem_.c.row : columns;
  multiply(place.a, place.b, c, leading, scratch + elements * static_cast<int64_t>(sizeof(T)));
  if (place.bias != nullptr) addBias(place, c, leading);
  if (is_direct) return;
  const int64_t size = sizeOf(problem_.result);
  const CastLoop cast = castLoop(problem_.result, kType);
  T* const converted = c + kBlockRows * kBlockColumns;
  for (int64_t row = 0; row < rows; ++row) {
    char* const to = place.c + row * problem_.c.row * size;
    if (problem_.c.column == 1) {
      cast(to, c + row * leading, columns);
    } else {
      cast(converted, c + row * leading, columns);
      copyStrided(to, problem_.c.column, converted, 1, columns, size);
    }
  }
}

template <class T>
void GemmWork<T>::multiply(const Region& a, const Region& b, T* c, int64_t leading, char* scratch) const {
  if (problem_.k == 0) {
    for (int64_t row = 0; row < a.rows; ++row) std::fill_n(c + row * leading, b.columns, T(0));
    return;
  }
  const bool is_stored_as_computed = problem_.dtype == kType;
  const auto whole_a = is_stored_as_computed ? panelInPlace<T>(a) : std::nullopt;
  const auto whole_b = is_stored_as_computed ? panelInPlace<T>(b) : std::nullopt;
  const bool is_cut = !whole_a || !whole_b || problem_.k > kLargest;
  const int64_t length = is_cut ? kBlockInner : problem_.k;
  auto* const packed = reinterpret_cast<T*>(scratch);
  const int64_t size = sizeOf(problem_.dtype);
  for (int64_t k = 0; k < problem_.k; k += length) {
    const int64_t count = std::min(length, problem_.k - k);
    const Region part_a{a.data + k * a.strides.column * size, a.rows, count, a.strides};
    const Region part_b{b.data + k * b.strides.row * size, count, b.columns, b.strides};
    const std::optional<Panel<T>> left =
        whole_a ? panelInPlace<T>(part_a) : packPanel<T>(part_a, problem_.dtype, packed);
    const std::optional<Panel<T>> right =
        whole_b ? panelInPlace<T>(part_b) : packPanel<T>(part_b, problem_.dtype, packed + kBlockRows * kBlockInner);
    const auto narrow = [](int64_t value) { return static_cast<int32_t>(value); };
    library_.multiply(OpenBlas::Product<T>{.a_transposed = left->transposed,
                                           .b_transposed = right->transposed,
                                           .m = narrow(a.rows),
                                           .n = narrow(b.columns),
                                           .k = narrow(count),
                                           .a = left->data,
                                           .lda = narrow(left->leading),
                                           .b = right->data,
                                           .ldb = narrow(right->leading),
                                           .beta = k == 0 ? T(0) : T(1),
                                           .c = c,
                                           .ldc = narrow(leading)});
  }
}

template <class T>
void GemmWork<T>::addBias(const BlockPlace& place, T* c, int64_t leading) const {
  T bias[kBlockColumns];
  const MatrixStrides& strides = problem_.bias;
  const int64_t columns = place.b.columns;
  for (int64_t row = 0; row < place.a.rows; ++row) {
    if (row == 0 || strides.row != 0) {
      // (One row, with a large row stride, so that it is packed as a row.)
      const Region line{
          place.bias + row * strides.row * sizeOf(problem_.dtype), 1, columns, {kLargest, strides.column}};
      packPanel<T>(line, problem_.dtype, bias);
    }
    T* const to = c + row * leading;
    for (int64_t i = 0; i < columns; ++i) to[i] += bias[i];
  }
}

}  // namespace

std::shared_ptr<const CpuWork> prepareMatmulWork(const Expr& expr, std::span<const OperandDesc> operands,
                                                 const ScalarBindings& bindings, const OpenBlas* library) {
  auto problem = gemmProblemOf(expr, operands);
  TK_CHECK(problem.has_value(), "{} is no matrix product", callName(expr));
  if (library == nullptr || !isFloatingType(problem->dtype)) return prepareElementWork(expr, operands, bindings);
  std::string name = summaryOf(expr);
  if (problem->dtype == DataType::F64) {
    return std::make_shared<GemmWork<double>>(std::move(name), std::move(*problem), *library);
  }
  return std::make_shared<GemmWork<float>>(std::move(name), std::move(*problem), *library);
}

}  // namespace tokamak
