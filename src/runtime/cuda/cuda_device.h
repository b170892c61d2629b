// A CUDA GPU as a device, over the driver's interface alone: streams, events, stream-ordered memory, kernels.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/trace.h"
#include "device/arena.h"
#include "device/capture.h"
#include "device/device.h"
#include "device/kernel_observer.h"
#include "device/kernel_target.h"
#include "device/work.h"
#include "runtime/cuda/cuda_device_options.h"
#include "runtime/cuda/cuda_memory.h"
#include "runtime/cuda/cuda_point.h"
#include "runtime/cuda/cuda_properties.h"
#include "runtime/cuda/cuda_queue.h"
#include "runtime/cuda/cuda_work.h"
#include "runtime/cuda/driver_context.h"

namespace tokamak {

class CaptureRemains;
class CudaProducts;
class CudaTrace;
class StreamPool;
struct KernelLaunch;
struct ProductGroup;

/// A destroyed stream's driver stream serves the next one. The device outlives its streams, events, buffers and work.
///
/// Work runs asynchronously. A failure on the GPU (an illegal address, say) loses the whole context: every later call
/// raises, with the first cause. Copies from and to pageable host memory may block the caller.
/// Thread safety: any threads may use it side by side, as Device says.
class CudaDevice : public Device {
 public:
  /// Errors: Unsupported without a driver or when the GPU lacks what is needed, Usage for a number that no device has,
  /// Device.
  explicit CudaDevice(int64_t ordinal, const CudaDeviceOptions& options = {});
  ~CudaDevice() override;

  const DeviceProperties& properties() const override { return properties_; }
  const CudaProperties& cudaProperties() const { return cuda_properties_; }
  const std::shared_ptr<DriverContext>& context() const { return context_; }

  std::unique_ptr<Stream> makeStream() override;
  std::unique_ptr<Event> createEvent() override;
  bool isWorkThread() const override;
  /// A stream (CUstream or cudaStream_t) that somebody else made in the primary context, and keeps until it was given
  /// back: work of ours goes there in order with his. He may capture it; graphs that he makes of it must be gone before
  /// the device. Null is the default stream. The last owner of what this gives waits for functions that the host runs
  /// there (flags in memory that the GPU does not reach, callbacks), and for nothing else; in such a function, and
  /// while he captures the stream, he keeps it until it is adopted again, or the device is gone.
  std::shared_ptr<Stream> adoptStream(void* stream);

  void* allocate(int64_t bytes, MemoryKind kind, Stream& stream) override;
  void release(void* address, int64_t bytes, MemoryKind kind, Stream& stream) override;
  MemoryStatistics memoryStatistics(MemoryKind kind) const override;
  void requireMemory(const void* address, MemoryKind kind) override;

  void record(Event& event, Stream& stream) override;
  void wait(Stream& stream, const Event& event) override;
  void waitOver(Stream& stream, const Event& event) override;
  void takeFailure(Stream& stream, const Event& event) override;
  void startAnew(Stream& stream) override;

  /// Between any memory of this device, pinned and pageable host memory, and memory of other devices.
  void copy(Stream& stream, void* to, const void* from, int64_t bytes) override;
  void fill(Stream& stream, void* to, uint8_t byte, int64_t bytes) override;
  std::shared_ptr<const Work> prepare(const WorkRequest& request) override;
  /// What kernels for this device are scheduled for.
  KernelTarget kernelTarget() const override;
  /// A kernel that is launched with the addresses of so many operands and, behind them, the values of so many
  /// parameters.
  std::shared_ptr<const CudaWork> makeKernelWork(KernelLaunch launch, size_t operand_count, size_t parameter_count = 0);
  /// `work` is a CudaWork.
  void launch(Stream& stream, const Work& work, std::span<void* const> addresses) override;
  std::unique_ptr<Replay> prepareReplay(ReplaySteps steps) override;
  std::unique_ptr<Capture> joinCapture(Stream& stream) override;
  void callback(Stream& stream, std::function<void()> function) override;
  /// The GPU itself writes and reads flags in its memory and in pinned or registered host memory; others are left to
  /// the host.
  void writeFlag(Stream& stream, uint64_t* flag, uint64_t value) override;
  void waitFlag(Stream& stream, const uint64_t* flag, uint64_t value) override;

  void synchronize(Stream& stream) override;
  void handOver(Stream& stream) override;
  void synchronize(const Event& event) override;
  bool isDone(const Event& event) override;
  void waitDone(const Event& event) override;
  std::exception_ptr failureOf(const Event& event) override;

  /// Whether kernels are launched before the work in front of them has ended (programmatic dependent launch).
  /// TOKAMAK_CUDA_OVERLAP=0 says no.
  bool overlapsLaunches() const;
  bool usesGraphs() const { return options_.uses_graphs && trace_ == nullptr; }
  /// Waits for all streams of this device, and reports the GPU's times to the observer of options.trace. Errors:
  /// Device.
  void reportTrace();
  /// Where the times of reportTrace() come from, in words; empty without options.trace.
  std::string traceSource() const;
  /// On which plans are captured.
  const std::shared_ptr<StreamPool>& captureStreams() const { return capture_streams_; }
  /// Of a stream that a CUDA device made.
  static CudaQueue& queueOf(Stream& stream);
  /// Errors: as requireOwn().
  CudaQueue& ownQueue(Stream& stream, std::string_view operation) const;

  /// Makes the n-th allocation from now on fail with OutOfMemory (1 is the next one); 0 takes that back.
  void failAllocation(int64_t n) { fail_in_.store(n); }
  /// Returns unused cached memory to the driver.
  void trimMemory();

 private:
  class CudaStream;
  class CudaEvent;

  CudaProducts& products();
  std::shared_ptr<const CudaWork> prepareKernel(const WorkRequest& request);
  std::shared_ptr<const CudaWork> prepareProduct(const WorkRequest& request);
  std::shared_ptr<const CudaWork> prepareProductGroup(const WorkRequest& request, const ProductGroup& group);

  Arena& arenaOf(MemoryKind kind) { return kind == MemoryKind::Device ? device_memory_ : host_memory_; }
  void giveBack(CudaQueue& queue);
  void waitFor(Stream& stream, const Event& event, WaitFor what) const;

  const CudaDeviceOptions options_;
  std::shared_ptr<DriverContext> context_;
  CudaProperties cuda_properties_;
  DeviceProperties properties_;
  CudaMemory memory_;
  Arena device_memory_;
  Arena host_memory_;  // pinned and pageable
  CudaPointPool points_;
  std::shared_ptr<StreamPool> capture_streams_;
  std::shared_ptr<CaptureRemains> capture_remains_;
  std::atomic<int64_t> fail_in_ = 0;
  std::mutex products_mutex_;
  std::shared_ptr<CudaProducts> products_;  // made when the first matrix product is
  mutable std::mutex queues_mutex_;
  std::unique_ptr<CudaTrace> trace_;
  std::vector<std::unique_ptr<CudaQueue>> queues_;
  std::vector<CudaQueue*> idle_queues_;
};

}  // namespace tokamak
