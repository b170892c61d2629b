// KernelCollector: a device without memory that only makes kernels ready, for GPUs that are not there.
#pragma once

#include <functional>

#include "device/device.h"
#include "jit/kernel_library.h"
#include "jit/prepared_kernel.h"

namespace tokamak {

/// Programs can be planned on it, not run: addresses are never looked at, nothing is computed.
class KernelCollector final : public Device {
 public:
  /// `take` is called for every kernel that is prepared, whether its code is new or not; for library calls, nothing is.
  /// `observer` may be null.
  KernelCollector(const KernelTarget& target, std::function<void(const PreparedKernel&)> take,
                  KernelPassOptions passes = {}, KernelObserver* observer = nullptr);

  /// How often a device would have compiled.
  int64_t codesMade() const { return codes_made_; }

  const DeviceProperties& properties() const override { return properties_; }
  KernelTarget kernelTarget() const override { return target_; }
  bool makesKernels() override { return true; }
  std::unique_ptr<Stream> makeStream() override;
  std::unique_ptr<Event> createEvent() override;
  /// A multiple of 256 that is no memory.
  void* allocate(int64_t bytes, MemoryKind kind, Stream& stream) override;
  void release(void*, int64_t, MemoryKind, Stream&) override {}
  MemoryStatistics memoryStatistics(MemoryKind) const override { return {}; }
  void record(Event&, Stream&) override {}
  void wait(Stream&, const Event&) override {}
  std::shared_ptr<const Work> prepare(const WorkRequest& request) override;
  void copy(Stream&, void*, const void*, int64_t) override {}
  void fill(Stream&, void*, uint8_t, int64_t) override {}
  void launch(Stream&, const Work&, std::span<void* const>) override {}
  void callback(Stream&, std::function<void()>) override {}
  void writeFlag(Stream&, uint64_t*, uint64_t) override {}
  void waitFlag(Stream&, const uint64_t*, uint64_t) override {}
  void synchronize(Stream&) override {}
  void synchronize(const Event&) override {}
  bool isDone(const Event&) override { return true; }

 private:
  KernelTarget target_;
  KernelLibrary library_;
  int64_t codes_made_ = 0;
  std::function<void(const PreparedKernel&)> take_;
  DeviceProperties properties_;
  uintptr_t next_ = uintptr_t{1} << 40;
};

}  // namespace tokamak
