#include "runtime/cuda/library_product.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/ceil_divide.h"
#include "device/work.h"

namespace tokamak {

namespace {

constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();
constexpr int64_t kMostCalls = 4096;  // of one work; more of them are slower than a kernel
// What a multiprocessor computes at a time, at its best.
constexpr int64_t kTileRows = 256;
constexpr int64_t kTileColumns = 128;

bool isLibraryType(DataType dtype) {
  return dtype == DataType::F32 || dtype == DataType::F64 || dtype == DataType::F16 || dtype == DataType::BF16;
}

// rows x columns with strides, one of which has to be 1.
std::optional<StoredMatrix> stored(int64_t rows, int64_t columns, const MatrixStrides& strides) {
  if (rows > kLargest || columns > kLargest) return std::nullopt;
  const auto fits = [](int64_t count, int64_t length, int64_t inner, int64_t outer) {
    return (inner == 1 || length == 1) && (count == 1 || (outer >= length && outer <= kLargest));
  };
  if (fits(columns, rows, strides.row, strides.column))
    return StoredMatrix{.rows = rows, .columns = columns, .leading = columns == 1 ? rows : strides.column};
  if (fits(rows, columns, strides.column, strides.row))
    return StoredMatrix{
        .rows = columns, .columns = rows, .leading = rows == 1 ? columns : strides.row, .is_transposed = true};
  return std::nullopt;
}

// Neighbouring axes that are one for all three matrices become one.
std::vector<GemmProblem::Batch> mergedBatches(const std::vector<GemmProblem::Batch>& batches) {
  std::vector<GemmProblem::Batch> merged;
  for (const GemmProblem::Batch& batch : batches) {
    if (batch.size == 1) continue;
    if (!merged.empty()) {
      GemmProblem::Batch& outer = merged.back();
      if (outer.a == batch.size * batch.a && outer.b == batch.size * batch.b && outer.c == batch.size * batch.c) {
        outer = {outer.size * batch.size, batch.a, batch.b, batch.c};
        continue;
      }
    }
    merged.push_back(batch);
  }
  return merged;
}

// The longest axis is the library's batch, the others are calls.
bool setBatches(const GemmProblem& problem, LibraryProduct& product) {
  std::vector<GemmProblem::Batch> batches = mergedBatches(problem.batches);
  const auto isLegal = [](const GemmProblem::Batch& batch) {
    return batch.a >= 0 && batch.b >= 0 && batch.c > 0 && batch.size <= kLargest;
  };
  const auto longest = std::ranges::max_element(
      batches, {}, [&](const GemmProblem::Batch& batch) { return isLegal(batch) ? batch.size : -1; });
  if (longest != batches.end() && isLegal(*longest)) {
    product.batch_count = longest->size;
    product.a.batch_stride = longest->b;  // the library's a is the problem's b
    product.b.batch_stride = longest->a;
    product.d.batch_stride = longest->c;
    batches.erase(longest);
  }
  product.calls = {{}};
  for (const GemmProblem::Batch& batch : batches) {
    if (std::ssize(product.calls) * batch.size > kMostCalls) return false;
    std::vector<LibraryProduct::Call> calls;
    for (const LibraryProduct::Call& call : product.calls) {
      for (int64_t i = 0; i < batch.size; ++i)
        calls.push_back({call.a + i * batch.b, call.b + i * batch.a, call.d + i * batch.c});
    }
    product.calls = std::move(calls);
  }
  return true;
}

// Of the operand's address and of every place that a call or a batch starts at.
int64_t alignmentOf(const OperandDesc& operand, int64_t batch_stride, const std::vector<LibraryProduct::Call>& calls,
                    int64_t LibraryProduct::Call::* offset) {
  const int64_t size = sizeOf(operand.dtype);
  int64_t alignment = std::gcd(std::max<int64_t>(operand.alignment, size), int64_t{256});
  alignment = std::gcd(alignment, batch_stride * size);
  for (const LibraryProduct::Call& call : calls) alignment = std::gcd(alignment, call.*offset * size);
  return alignment;
}

std::string textOf(const char* name, const StoredMatrix& matrix) {
  return fmt::format("{} {}x{} leading {} batch {}{} aligned {}", name, matrix.rows, matrix.columns, matrix.leading,
                     matrix.batch_stride, matrix.is_transposed ? " transposed" : "", matrix.alignment);
}

LibraryProduct::Bias biasOf(const GemmProblem& problem) {
  if (!problem.bias_operand) return LibraryProduct::Bias::None;
  const bool is_column = (problem.bias.column == 1 || problem.n == 1) && (problem.bias.row == 0 || problem.m == 1);
  // The library takes a bias of the result's type only.
  return is_column && problem.dtype == problem.result ? LibraryProduct::Bias::Epilogue : LibraryProduct::Bias::Before;
}

// A row-major c of m x n is a column-major d of n x m, and d = transposed(b) transposed(a).
std::optional<LibraryProduct> asItLies(const GemmProblem& problem, std::span<const OperandDesc> operands) {
  LibraryProduct product{.dtype = problem.dtype, .result = problem.result, .inner = problem.k};
  const auto exchange = [](const MatrixStrides& s) { return MatrixStrides{s.column, s.row}; };
  const auto a = stored(problem.n, problem.k, exchange(problem.b));
  const auto b = stored(problem.k, problem.m, exchange(problem.a));
  const auto d = stored(problem.n, problem.m, exchange(problem.c));
  if (!a || !b || !d || d->is_transposed) return std::nullopt;
  product.a = *a;
  product.b = *b;
  product.d = *d;
  product.a.operand = problem.b_operand;
  product.b.operand = problem.a_operand;
  product.d.operand = problem.c_operand;
  if (!setBatches(problem, product)) return std::nullopt;
  using Call = LibraryProduct::Call;
  const auto alignment = [&](const StoredMatrix& matrix, int64_t Call::* offset) {
    return alignmentOf(operands[matrix.operand], matrix.batch_stride, product.calls, offset);
  };
  product.a.alignment = alignment(product.a, &Call::a);
  product.b.alignment = alignment(product.b, &Call::b);
  product.d.alignment = alignment(product.d, &Call::d);
  product.bias = biasOf(problem);
  if (problem.bias_operand) {
    const OperandDesc& bias = operands[*problem.bias_operand];
    product.bias_operand = *problem.bias_operand;
    product.bias_alignment = std::gcd(std::max<int64_t>(bias.alignment, sizeOf(bias.dtype)), int64_t{256});
  }
  return product;
}

}  // namespace

std::string LibraryProduct::toString() const {
  std::string text = fmt::format("{} {}x{}x{} times {}, {}, {}, {}", dataTypeName(dtype), d.rows, d.columns, inner,
                                 batch_count, textOf("a", a), textOf("b", b), textOf("d", d));
  if (result != dtype) text += fmt::format(", giving {}", dataTypeName(result));
  if (bias == Bias::Epilogue) text += fmt::format(", bias aligned {}", bias_alignment);
  if (bias == Bias::Before) text += ", added to d";
  if (activation != ProductActivation::None) text += fmt::format(", {}", activationName(activation));
  if (multiprocessors > 0) text += fmt::format(", on {} multiprocessors", multiprocessors);
  return text;
}

std::optional<LibraryProduct> libraryProductOf(const GemmProblem& problem, std::span<const OperandDesc> operands) {
  if (!isLibraryType(problem.dtype) || problem.k == 0) return std::nullopt;
  if (auto product = asItLies(problem, operands)) return product;
  return asItLies(transposed(problem), operands);
}

int32_t multiprocessorsFor(const LibraryProduct& product, int64_t concurrency, int64_t multiprocessors) {
  int64_t tiles = 1;
  for (const int64_t count :
       {ceilDivide(product.d.rows, kTileRows), ceilDivide(product.d.columns, kTileColumns), product.batch_count})
    tiles = std::min(tiles * count, multiprocessors);
  const int64_t wanted = std::max(tiles, ceilDivide(4 * multiprocessors, 3 * concurrency));
  return wanted < multiprocessors ? static_cast<int32_t>(wanted) : 0;
}

}  // namespace tokamak
