// OpenBLAS, loaded when a matrix product is first prepared.
#pragma once

#include <cstdint>

namespace tokamak {

enum class Transposed : uint8_t { No, Yes };

/// Row-major products on one thread: c = op(a) op(b) + beta * c with sizes m x n x k. Leading dimensions, in
/// elements, are those of the matrices as stored.
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

  /// The library, or null where there is none that can be used. The process keeps it.
  static const OpenBlas* load();

 private:
  template <class T>
  using Gemm = void (*)(int order, int a_transposed, int b_transposed, int m, int n, int k, T alpha, const T* a,
                        int lda, const T* b, int ldb, T beta, T* c, int ldc);
  template <class T>
  static void call(Gemm<T> gemm, const Product<T>& product);

  Gemm<float> sgemm_ = nullptr;
  Gemm<double> dgemm_ = nullptr;
};

}  // namespace tokamak
