// LibraryProduct: a matrix product in the form that cuBLASLt takes: column-major, one stride between the matrices of a
// batch.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/gemm_problem.h"
#include "device/work.h"
#include "graph/product_group.h"

namespace tokamak {

/// A matrix as it lies in memory, column-major: element (i, j) at i + j * leading.
struct StoredMatrix {
  size_t operand = 0;
  int64_t rows = 1;
  int64_t columns = 1;
  int64_t leading = 1;
  int64_t batch_stride = 0;
  bool is_transposed = false;  ///< the product takes it transposed
  int64_t alignment = 1;       ///< of every matrix' address, in bytes
};

/// d = activation(op(a) op(b), + bias), for every matrix of the batch; and all of that `calls` times, at other places.
struct LibraryProduct {
  enum class Bias : uint8_t {
    None,
    Epilogue,  ///< a vector along d's columns, dense: the library adds it
    Before,    ///< d holds it already; it is added to
  };
  struct Call {
    int64_t a = 0, b = 0, d = 0;  ///< offsets, in elements
  };
  DataType dtype = DataType::F32;   ///< of a and b
  DataType result = DataType::F32;  ///< of d, and of a bias that the library adds
  int64_t inner = 1;                ///< how many products are added up
  StoredMatrix a, b, d;
  int64_t batch_count = 1;
  Bias bias = Bias::None;
  size_t bias_operand = 0;
  int64_t bias_alignment = 1;
  ProductActivation activation = ProductActivation::None;  ///< None where d is added to
  std::vector<Call> calls;
  int32_t multiprocessors = 0;  ///< how many the library's kernel had better use; 0: all

  /// What the library's choice depends on, in words: "bf16 64x32x128, a 64x128 ld 128 transposed, ...".
  std::string toString() const;
};

/// Nothing where the library cannot take the operands as they lie: types that are not floating, two strides that are
/// not 1, elements that are stored more than once, sizes beyond 31 bits, nothing to add up. `operands` as the problem
/// was made from.
std::optional<LibraryProduct> libraryProductOf(const GemmProblem& problem, std::span<const OperandDesc> operands);

/// The number of multiprocessors for a product of which `concurrency` run at a time; 0: all. A product that is large
/// enough for all of them uses all. Smaller ones get a third more than their share, as streams wait between launches
/// (docs/gpu_performance.md).
int32_t multiprocessorsFor(const LibraryProduct& product, int64_t concurrency, int64_t multiprocessors);

}  // namespace tokamak
