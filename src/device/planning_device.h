// PlanningDevice: a device without memory: programs can be planned on it, not run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "device/device.h"
#include "device/kernel_target.h"
#include "device/work.h"

namespace tokamak {

/// Addresses are never looked at, nothing is computed. Derived classes say what becomes of the works.
/// Thread safety: one thread at a time.
class PlanningDevice : public Device {
 public:
  /// It has what devices of the target's kind have.
  explicit PlanningDevice(const KernelTarget& target);

  const DeviceProperties& properties() const override { return properties_; }
  KernelTarget kernelTarget() const override { return target_; }
  bool makesKernels() override { return true; }
  std::unique_ptr<Event> createEvent() override;
  /// A multiple of 256 that is no memory.
  void* allocate(int64_t bytes, MemoryKind kind, Stream& stream) override;
  void release(void*, int64_t, MemoryKind, Stream&) override {}
  MemoryStatistics memoryStatistics(MemoryKind) const override { return {}; }
  void record(Event&, Stream&) override {}
  void wait(Stream&, const Event&) override {}
  void copy(Stream&, void*, const void*, int64_t) override {}
  void fill(Stream&, void*, uint8_t, int64_t) override {}
  void launch(Stream&, const Work&, std::span<void* const>) override {}
  void callback(Stream&, std::function<void()>) override {}
  void writeFlag(Stream&, uint64_t*, uint64_t) override {}
  void waitFlag(Stream&, const uint64_t*, uint64_t) override {}
  void synchronize(Stream&) override {}
  void synchronize(const Event&) override {}
  bool isDone(const Event&) override { return true; }

 protected:
  /// With these properties.
  PlanningDevice(const KernelTarget& target, DeviceProperties properties)
      : target_(target), properties_(std::move(properties)) {}
  /// Whether no kernel is made for it: a product, or on a GPU a product with its activation.
  bool isLibraryCall(const WorkRequest& request) const;
  std::unique_ptr<Stream> makeStream() override;

 private:
  KernelTarget target_;
  DeviceProperties properties_;
  uintptr_t next_ = uintptr_t{1} << 44;
};

}  // namespace tokamak
