#include "runtime/cpu/open_blas.h"

#include <dlfcn.h>

namespace tokamak {

namespace {

// The values of the C interface's enumerations.
constexpr int kRowMajor = 101;
constexpr int transposition(Transposed transposed) { return transposed == Transposed::Yes ? 112 : 111; }

template <class Function>
Function symbol(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

template <class T>
void OpenBlas::call(Gemm<T> gemm, const Product<T>& p) {
  gemm(kRowMajor, transposition(p.a_transposed), transposition(p.b_transposed), p.m, p.n, p.k, T(1), p.a, p.lda, p.b,
       p.ldb, p.beta, p.c, p.ldc);
}

void OpenBlas::multiply(const Product<float>& product) const { call(sgemm_, product); }
void OpenBlas::multiply(const Product<double>& product) const { call(dgemm_, product); }

const OpenBlas* OpenBlas::load() {
  static const OpenBlas* const loaded = []() -> const OpenBlas* {
    // Never closed: the library has threads and exit handlers of its own.
    void* const library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return nullptr;
    static OpenBlas blas;
    blas.sgemm_ = symbol<Gemm<float>>(library, "cblas_sgemm");
    blas.dgemm_ = symbol<Gemm<double>>(library, "cblas_dgemm");
    if (blas.sgemm_ == nullptr || blas.dgemm_ == nullptr) return nullptr;
    // Blocks are shared out here, so that results do not depend on how many threads there are.
    const auto set_threads = symbol<void (*)(int)>(library, "openblas_set_num_threads");
    if (set_threads != nullptr) set_threads(1);
    return &blas;
  }();
  return loaded;
}

}  // namespace tokamak
