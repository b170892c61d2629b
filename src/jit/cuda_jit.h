// CudaJit: kernels that NVRTC compiles.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "device/kernel_maker.h"
#include "device/kernel_observer.h"
#include "device/kernel_target.h"
#include "device/work.h"
#include "symbolic/data_type.h"

namespace tokamak {

struct PreparedKernel;

/// NVRTC is looked for when the first kernel is asked for. Code that was made outlives its maker as long as somebody
/// uses it.
/// Thread safety: as KernelMaker.
class CudaJit final : public KernelMaker {
 public:
  /// `architecture`: "sm_90a". `observer` may be null; outlives this.
  CudaJit(const KernelTarget& target, std::string architecture, KernelObserver* observer = nullptr);
  ~CudaJit() override;

  KernelLaunch find(const WorkRequest& request) override;
  KernelNotes notesOn(const WorkRequest& request) override;
  /// Compiles a kernel that somebody else lowered, which computes indices in this type. Errors: Compile; Unsupported
  /// for what CUDA source cannot say.
  KernelLaunch compile(const PreparedKernel& prepared, DataType index_type);

 private:
  struct Kernels;
  Kernels& kernels();

  const KernelTarget target_;
  const std::string architecture_;
  KernelObserver* const observer_;
  std::mutex mutex_;
  std::unique_ptr<Kernels> kernels_;  // made when the first one is
};

}  // namespace tokamak
