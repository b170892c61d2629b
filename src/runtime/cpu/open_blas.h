// OpenBLAS, loaded when a matrix product is first prepared.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tokamak {

enum class Transposed : uint8_t { No, Yes };

/// Row-major products on one thread: c = op(a) op(b) + beta * c with sizes m x n x k. Leading dimensions, in
/// elements, are those of the matrices as stored. Thread safety: any threads may call all of it.
class OpenBlas {
 public:
  template <class T>
  struct Product {
    Transposed a_transposed;
    Transposed b_transposed;
    int32_t m, n, k;
    const T* a;
    int32_t lda;
    const T* b;
    int32_t ldb;
    T beta;
    T* c;
    int32_t ldc;
  };
  void multiply(const Product<float>& product) const;
  void multiply(const Product<double>& product) const;

  /// The library: the file that TOKAMAK_OPENBLAS names, else the loader's libopenblas.so.0, else the first offered
  /// file of use; null where there is none. The process keeps it. Errors: Unsupported for a named file of no use,
  /// Compile for one that cannot be loaded twice.
  static const OpenBlas* load();
  /// A file to load where the machine has no OpenBLAS, as NumPy's. Its names may begin with scipy_ and end with 64_.
  /// Without effect after load().
  static void offer(std::string file);
  /// What computes products, in words: the library's version and file, or element loops. Errors: those of load().
  static std::string describe();

 private:
  /// Of a library that others of the process may use: a copy of our own has its own number of threads.
  enum class Instance : uint8_t { Shared, Own };
  bool take(const std::string& name, Instance instance);
  static std::optional<OpenBlas> find();
  template <class T>
  void multiplyWith(void* gemm, const Product<T>& product) const;

  void* sgemm_ = nullptr;
  void* dgemm_ = nullptr;
  bool has_wide_sizes_ = false;  ///< sizes are integers of 64 bits
  std::string description_;
};

}  // namespace tokamak
