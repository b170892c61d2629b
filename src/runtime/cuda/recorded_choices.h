// RecordedChoices: the library's kernels chosen for products, on disk for later processes.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/cuda/cublas_library.h"
#include "toolchain/kernel_cache.h"

namespace tokamak {

/// The conditions of a choice besides the product.
struct ChoiceConditions {
  std::string library;     ///< the library and its version
  std::string target;      ///< the GPU: its name, architecture, number of multiprocessors
  std::string preference;  ///< what the library is asked for
};

/// Entries of the kernel cache: the library's bytes for an algorithm, valid for this version of the library. An old
/// choice is never wrong, but the library has to check it, as a file may be corrupt.
class RecordedChoices {
 public:
  RecordedChoices(std::shared_ptr<KernelCache> cache, ChoiceConditions conditions);

  /// `product`: LibraryProduct::toString().
  std::optional<cublas::Algorithm> find(const std::string& product) const;
  void store(const std::string& product, const cublas::Algorithm& algorithm);
  CacheKey keyOf(const std::string& product) const;

 private:
  std::shared_ptr<KernelCache> cache_;
  ChoiceConditions conditions_;
};

}  // namespace tokamak
