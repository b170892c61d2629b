// CudaModule: compiled code of a GPU in the driver, with its functions; unloaded with its last user.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "runtime/cuda/driver_context.h"

namespace tokamak {

class CudaModule;

/// What one function of a module takes of a multiprocessor.
struct CudaFunctionResources {
  int64_t registers = 0;            ///< of a thread
  int64_t local_bytes = 0;          ///< of a thread: spilled registers and arrays that are indexed
  int64_t static_shared_bytes = 0;  ///< of a block
  int64_t max_threads = 0;          ///< of a block
};

struct CudaFunction {
  std::shared_ptr<const CudaModule> module;
  driver::Function handle = nullptr;
  std::string name;
  CudaFunctionResources resources;
};

class CudaModule : public std::enable_shared_from_this<CudaModule> {
 public:
  /// Loads a cubin, a fatbin or PTX text. Errors: Compile when the driver refuses it, OutOfMemory, Device.
  static std::shared_ptr<const CudaModule> load(std::shared_ptr<DriverContext> context, std::string_view image);
  CudaModule(const CudaModule&) = delete;
  CudaModule& operator=(const CudaModule&) = delete;
  ~CudaModule();

  /// Errors: Compile when there is none of that name.
  CudaFunction function(const std::string& name) const;

  /// The function may be launched with that much dynamic shared memory from now on; what was allowed before stays
  /// allowed.
  /// Errors: Device when the GPU has less.
  void requireSharedBytes(const CudaFunction& function, int64_t bytes) const;
  /// Clusters of more than 8 blocks may be launched, where the GPU can.
  void allowAnyClusterSize(const CudaFunction& function) const;

 private:
  CudaModule(std::shared_ptr<DriverContext> context, driver::Module module)
      : context_(std::move(context)), module_(module) {}
  int attribute(driver::Function handle, int number, const std::string& name) const;

  std::shared_ptr<DriverContext> context_;
  driver::Module module_;
  mutable std::mutex mutex_;
  mutable std::map<driver::Function, int64_t> shared_bytes_;  // what each function may be launched with
};

}  // namespace tokamak
