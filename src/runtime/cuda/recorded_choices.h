// RecordedChoices: which of the library's kernels was chosen for a product, kept on disk for later processes.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/cuda/cublas_library.h"
#include "toolchain/kernel_cache.h"

namespace tokamak {

/// What a choice depends on besides the product.
struct ChoiceConditions {
  std::string library;     ///< the library and its version
  std::string target;      ///< the GPU: its name, architecture, number of multiprocessors
  std::string preference;  ///< what the library is asked for
};

/// Entries of the kernel cache: the library's bytes for an algorithm, which mean the same to every process with this
/// version of it. A choice is never wrong for being old, but who takes it has it examined by the library: a file may
/// say anything.
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
