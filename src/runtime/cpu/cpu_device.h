// The processor as a device: asynchronous streams (a thread each), a pool of threads for blocks, stream-ordered memory.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "base/spin_lock.h"
#include "base/trace.h"
#include "device/arena.h"
#include "device/device.h"
#include "device/kernel_observer.h"
#include "device/work.h"
#include "runtime/cpu/block_pool.h"
#include "runtime/cpu/cpu_device_options.h"
#include "runtime/cpu/cpu_work.h"
#include "runtime/cpu/stream_queue.h"

namespace tokamak {

/// A destroyed stream's thread serves the next stream. The device outlives its streams, events and buffers.
/// Thread safety: any threads may use it side by side, as Device says.
class CpuDevice : public Device {
 public:
  explicit CpuDevice(const CpuDeviceOptions& options = {});
  ~CpuDevice() override;

  const DeviceProperties& properties() const override { return properties_; }
  KernelTarget kernelTarget() const override;
  std::unique_ptr<Stream> makeStream() override;
  std::unique_ptr<Event> createEvent() override;

  void* allocate(int64_t bytes, MemoryKind kind, Stream& stream) override;
  void release(void* address, int64_t bytes, MemoryKind kind, Stream& stream) override;
  MemoryStatistics memoryStatistics(MemoryKind kind) const override;

  void record(Event& event, Stream& stream) override;
  void wait(Stream& stream, const Event& event) override;
  void waitOver(Stream& stream, const Event& event) override;
  void takeFailure(Stream& stream, const Event& event) override;
  void startAnew(Stream& stream) override;

  void copy(Stream& stream, void* to, const void* from, int64_t bytes) override;
  void fill(Stream& stream, void* to, uint8_t byte, int64_t bytes) override;
  std::shared_ptr<const Work> prepare(const WorkRequest& request) override;
  /// `work` is a CpuWork.
  void launch(Stream& stream, const Work& work, std::span<void* const> addresses) override;
  void callback(Stream& stream, std::function<void()> function) override;
  void writeFlag(Stream& stream, uint64_t* flag, uint64_t value) override;
  void waitFlag(Stream& stream, const uint64_t* flag, uint64_t value) override;

  void synchronize(Stream& stream) override;
  void synchronize(const Event& event) override;
  bool isDone(const Event& event) override;
  void waitDone(const Event& event) override;
  bool isWorkThread() const override;
  std::exception_ptr failureOf(const Event& event) override;
  /// Not with a timeline, which tells work by its stream.
  bool tryEnterStream(Stream& stream) override;
  void leaveStream(Stream& stream) override;

  /// What segments become.
  KernelRunner runner() const { return options_.runner; }
  /// Makes the n-th allocation from now on fail with OutOfMemory (1 is the next one); 0 takes that back.
  void failAllocation(int64_t n) { arena_.failAllocation(n); }
  /// Returns unused cached memory to the system.
  void trimMemory();

 private:
  class HostMemory final : public MemorySource {
   public:
    void* allocate(int64_t bytes, MemoryKind kind) override;
    void release(void* address, int64_t bytes, MemoryKind kind) override;
  };
  class CpuStream;
  class CpuEvent;

  static StreamQueue& queueOf(Stream& stream);
  /// Errors: as requireOwn().
  StreamQueue& ownQueue(Stream& stream, std::string_view operation) const;
  void giveBack(StreamQueue& queue);
  static void waitFor(const StreamPoint& point, const char* operation);
  void waitFor(Stream& stream, const Event& event, WaitFor what) const;

  const CpuDeviceOptions options_;
  DeviceProperties properties_;
  HostMemory memory_;
  Arena arena_;
  BlockPool pool_;
  mutable SpinLock queues_lock_;
  std::vector<std::unique_ptr<StreamQueue>> queues_;
  std::vector<StreamQueue*> idle_queues_;
};

}  // namespace tokamak
