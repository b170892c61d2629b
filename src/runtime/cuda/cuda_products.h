// CudaProducts: a device's matrix products by cuBLASLt: the library's handle, its choices per product, its workspaces.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/arena.h"
#include "runtime/cuda/cublas_library.h"
#include "runtime/cuda/cuda_work.h"
#include "runtime/cuda/driver_context.h"
#include "runtime/cuda/library_product.h"
#include "runtime/cuda/recorded_choices.h"

namespace tokamak {

class CublasDescriptors;

/// The library's choice for a product is kept and recorded on disk, so that equal products always run the same kernel,
/// in every plan, on every stream, and in later processes. A stream gets a workspace at its first product that needs
/// one, for the device's lifetime. Thread-safe.
class CudaProducts {
 public:
  /// Loads the library (CublasLibrary::load()) and opens it for the context's device; `target` tells that device from
  /// others that the library may choose something else for. Errors: Unsupported without a library; Device.
  CudaProducts(std::shared_ptr<DriverContext> context, Arena& memory, const std::string& library, std::string target,
               std::shared_ptr<KernelCache> records);
  CudaProducts(const CudaProducts&) = delete;
  CudaProducts& operator=(const CudaProducts&) = delete;
  ~CudaProducts();

  /// Takes the addresses of the op that the product was made from. Null where the library has no kernel for the
  /// product. `name`: of the work.
  std::shared_ptr<const CudaWork> make(const LibraryProduct& product, std::string name);
  const CublasLibrary& library() const { return library_; }
  cublas::Handle handle() const { return handle_; }
  /// The workspace of everything that runs on `stream`; made when first asked for. Errors: OutOfMemory.
  void* workspaceOf(driver::Stream stream);
  /// Errors: Device, OutOfMemory, Unsupported, as the library's status says.
  void check(cublas::Status status, const char* operation, const std::string& product) const;

 private:
  std::optional<cublas::Choice> choose(const LibraryProduct& product, const CublasDescriptors& descriptors);
  std::optional<cublas::Choice> recordedChoice(const std::string& product, const CublasDescriptors& descriptors);
  std::optional<cublas::Choice> askLibrary(const LibraryProduct& product, const CublasDescriptors& descriptors);

  std::shared_ptr<DriverContext> context_;
  Arena& memory_;
  const CublasLibrary& library_;
  RecordedChoices records_;
  cublas::Handle handle_ = nullptr;
  std::mutex mutex_;
  std::map<std::string, std::optional<cublas::Choice>> choices_;
  std::vector<std::pair<driver::Stream, void*>> workspaces_;
};

}  // namespace tokamak
