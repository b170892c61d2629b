// Options of the CUDA device.
#pragma once

#include <cstdint>
#include <string>

#include "base/trace.h"
#include "device/kernel_observer.h"

namespace tokamak {

struct CudaDeviceOptions {
  std::string driver;                 ///< the driver's file; empty: found as DriverLibrary::start() says
  std::string products_library;       ///< cuBLASLt's file; empty: found as CublasLibrary::load() says
  int64_t memory_limit = 0;           ///< of the GPU's memory, in bytes; 0: all of it
  bool poisons_memory = false;        ///< fresh allocations are filled with 0xFF: NaN in every floating-point type
  bool uses_graphs = true;            ///< plans of more than one launch become graphs of the driver
  bool overlaps_launches = true;      ///< kernels begin while the one before ends, and wait for it themselves
  KernelObserver* kernels = nullptr;  ///< told about kernels; outlives the device
  TraceObserver* trace = nullptr;     ///< told by reportTrace(); outlives the device, which makes no graphs then
};

}  // namespace tokamak
