// CudaTimer: the GPU's time between two points of a stream.
#pragma once

#include <memory>

#include "runtime/cuda/cuda_device.h"

namespace tokamak {

class CudaTimer {
 public:
  /// Errors: Device.
  explicit CudaTimer(CudaDevice& device);
  ~CudaTimer();

  void start(Stream& stream);
  void stop(Stream& stream);
  /// Between the last start and stop; waits for them. Errors: Device.
  double microseconds();

 private:
  class Stamp;
  CudaDevice& device_;
  std::unique_ptr<Stamp> start_;
  std::unique_ptr<Stamp> stop_;
};

}  // namespace tokamak
