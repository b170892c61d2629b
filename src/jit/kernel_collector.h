// KernelCollector: a device without memory that only makes kernels ready, for GPUs that are not there.
#pragma once

#include <functional>

#include "device/planning_device.h"
#include "jit/kernel_library.h"
#include "jit/prepared_kernel.h"

namespace tokamak {

class KernelCollector final : public PlanningDevice {
 public:
  /// `take` is called for every kernel that is prepared, whether its code is new or not; for library calls, nothing is.
  /// `observer` may be null.
  KernelCollector(const KernelTarget& target, std::function<void(const PreparedKernel&)> take,
                  KernelPassOptions passes = {}, KernelObserver* observer = nullptr);

  /// How often a device would have compiled.
  int64_t codesMade() const { return codes_made_; }
  std::shared_ptr<const Work> prepare(const WorkRequest& request) override;

 private:
  KernelLibrary library_;
  int64_t codes_made_ = 0;
  std::function<void(const PreparedKernel&)> take_;
};

}  // namespace tokamak
