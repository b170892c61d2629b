// The interface a host program drives: memory, streams, events, work. Every device passes one conformance suite.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "base/home_process.h"
#include "device/failure.h"
#include "device/work_observer.h"
#include "ir/memory_kind.h"
#include "symbolic/data_type.h"
#include "symbolic/scalar.h"

namespace tokamak {

class KernelMaker;    // device/kernel_maker.h
struct KernelTarget;  // device/kernel_target.h

struct DeviceProperties {
  std::string name;                       ///< "cpu", "interpreter", "cuda:0"
  std::string description;                ///< for people: the processor's name
  int64_t threads = 1;                    ///< worker threads (CPU) or multiprocessors (GPU)
  int64_t memory_bytes = 0;               ///< memory that allocations are served from
  bool host_reads_device_memory = false;  ///< host code may dereference MemoryKind::Device addresses
  int64_t ordinal = -1;                   ///< of a GPU; -1: the device's memory is the host's
  std::string architecture;               ///< of a GPU: "sm_90a", as its compilers name it
  bool takes_parameters = false;          ///< WorkRequest::parameters may be given
  bool activates_products = false;        ///< a segment that is a product group (graph/product_group.h) is one work
  bool has_copy_engines = false;          ///< copies between host and device run beside kernels, and take none of them
};

/// What the allocations of one memory kind take, in bytes.
struct MemoryStatistics {
  int64_t bytes_in_use = 0;  ///< as asked for, handed out and not released
  int64_t peak_bytes_in_use = 0;
  int64_t bytes_reserved = 0;      ///< held from the system: in use and cached
  int64_t system_allocations = 0;  ///< requests that went to the system, ever
};

class Device;

/// A FIFO of work: what is enqueued later runs later. Two streams are unordered but for events. The last owner of a
/// stream waits for its work; a failure that nobody synchronized for is dropped then.
/// Thread safety: any threads may give work to one stream side by side, by its device; who comes first is up to them.
/// Nobody uses it any more when it is destroyed.
class TOKAMAK_EXPORT Stream {
 public:
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream();

  /// Whose stream it is; it lives as long as the stream where it is counted (openCpuDevice(), openCudaDevice()).
  Device& device() const { return *device_; }
  /// Blocks until the work enqueued so far is done. Errors: of that work, once; Device in a callback of this stream.
  void synchronize();
  /// A GPU's CUstream, which is a cudaStream_t, too, for allocators and other libraries; null for other devices, and
  /// for the default stream of a GPU. The stream's as long as the stream.
  virtual void* nativeHandle() const { return nullptr; }

 private:
  friend class Device;
  Device* device_ = nullptr;
};

/// A point in a stream. Waiting for an event that was never recorded does not wait. Recording again moves the point;
/// waits that were enqueued before keep the old one.
/// Thread safety: any threads may record it and wait for it side by side, by its device. Nobody uses it any more when
/// it is destroyed.
class TOKAMAK_EXPORT Event {
 public:
  virtual ~Event() = default;
};

class Capture;  // device/capture.h
class HazardTracker;
class InFlightCalls;
class Replay;
class Work;  // device/work.h, with what it is made from
struct ReplaySteps;
struct WorkRequest;

/// A failure of asynchronous work is remembered by its stream: later work there, and on streams that waited for it, is
/// skipped (waits for events and flag writes still happen, so that nobody hangs), until a synchronize raises the cause.
/// Work enqueued after that runs again, on all these streams, unless it waits for an event behind what failed or was
/// skipped. Whoever waits for such work is told: the first who asks gets the cause, each other one a SkippedError, each
/// recorded event once, and a stream once for what was skipped since somebody was told of it.
/// Thread safety: any threads may use a CpuDevice or CudaDevice side by side; what they do to one stream is in the
/// order in which they come. prepare() may make scalars in the fusion of its op: the ops of one fusion are prepared by
/// one thread at a time. A device that only records (host/plan/recorder.h) belongs to one thread.
///
/// A device that openCpuDevice() or openCudaDevice() gave is counted: buffers, streams and programs hold it, so that
/// they may go in any order. A device that is made in another way has to outlive them.
class TOKAMAK_EXPORT Device : public std::enable_shared_from_this<Device> {
 public:
  Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device();

  /// Who accessed which memory last. A device with events of its own has it forget them before it goes.
  HazardTracker& hazards() { return *hazards_; }
  /// What calls hold on to until they are done.
  InFlightCalls& inFlightCalls() { return *in_flight_calls_; }
  /// How often a failure was raised.
  RaiseCount& raiseCount() { return raise_count_; }
  /// Who is told of the work of a CpuDevice; other devices tell nobody.
  WorkObserverSlot& workObserver() { return work_observer_; }

  virtual const DeviceProperties& properties() const = 0;
  /// What programs are grouped for and kernels are scheduled for.
  virtual KernelTarget kernelTarget() const = 0;
  /// Whether a segment can be one work, a kernel. Where not, its ops are given one by one. May look for a compiler.
  /// Errors: Unsupported where the device was told to have one.
  virtual bool makesKernels();
  /// Where the device gets its kernels from, from now on: before it is given anything that may be a kernel.
  void useKernels(std::unique_ptr<KernelMaker> maker);
  /// Null: the device has no kernels.
  KernelMaker* kernelMaker() const { return kernel_maker_.get(); }
  /// Who gives the request's kernels.
  KernelMaker& kernelsFor(const WorkRequest& request) const;

  std::shared_ptr<Stream> createStream();
  virtual std::unique_ptr<Event> createEvent() = 0;
  /// As all that gives work to a stream, or waits for it, asks. Errors: Bind, naming `operation`, for a stream of
  /// another device; as requireProcess().
  void requireOwn(const Stream& stream, std::string_view operation) const;
  /// Errors: Device in a process that was forked since the device was opened: its threads, and the GPU's context, are
  /// the parent's.
  void requireProcess() const;
  /// Whether this is not such a process.
  bool isOfThisProcess() const { return home_.isHere(); }
  /// What keeps the device, or null for one that is not counted.
  std::shared_ptr<Device> holder() { return weak_from_this().lock(); }
  /// Whether the calling thread runs work of this device: it must not wait for all of that.
  virtual bool isWorkThread() const { return false; }

  /// Memory that work enqueued on `stream` from now on may use, aligned to 256 bytes; contents are undefined. Zero
  /// bytes give a unique non-null address. Errors: OutOfMemory, with the device unharmed.
  virtual void* allocate(int64_t bytes, MemoryKind kind, Stream& stream) = 0;
  /// Gives memory back once the work enqueued on `stream` so far is done.
  virtual void release(void* address, int64_t bytes, MemoryKind kind, Stream& stream) = 0;
  virtual MemoryStatistics memoryStatistics(MemoryKind kind) const = 0;
  /// Errors: Bind when somebody else's memory at `address` is, as far as the device can tell, none of this kind that
  /// its work reaches.
  virtual void requireMemory(const void* /*address*/, MemoryKind /*kind*/) {}

  virtual void record(Event& event, Stream& stream) = 0;
  /// Work enqueued on `stream` from now on starts after `event`, and is skipped where work before that failed or was.
  virtual void wait(Stream& stream, const Event& event) = 0;
  /// The same for work that relies on nothing that was written before the event: a failure there is not this stream's.
  virtual void waitOver(Stream& stream, const Event& event) { wait(stream, event); }
  /// The opposite, for an event that the stream's work comes after anyway: only what failed or was skipped before it
  /// counts.
  virtual void takeFailure(Stream& stream, const Event& event) { wait(stream, event); }
  /// Work enqueued on `stream` from now on runs, whatever failed there before: the stream gets a new user.
  virtual void startAnew(Stream& /*stream*/) {}

  /// Makes an op ready to be launched. Errors: Unsupported.
  virtual std::shared_ptr<const Work> prepare(const WorkRequest& request) = 0;

  virtual void copy(Stream& stream, void* to, const void* from, int64_t bytes) = 0;
  virtual void fill(Stream& stream, void* to, uint8_t byte, int64_t bytes) = 0;
  /// Runs `work` with these operand addresses, in the order in which the work was prepared, and its parameters' values.
  /// They are copied; `work` must live until it has run.
  virtual void launch(Stream& stream, const Work& work, std::span<void* const> addresses) = 0;
  /// Makes a plan's steps ready to be enqueued many times. The works and the streams that it is run with outlive it.
  virtual std::unique_ptr<Replay> prepareReplay(ReplaySteps steps);
  /// The recording that a caller makes of the stream at present; null when its work runs. Events that are recorded
  /// meanwhile stand for nothing, and waits for others are left out: what was enqueued before has to be over when the
  /// recording runs.
  virtual std::unique_ptr<Capture> joinCapture(Stream& stream);
  /// Runs `function` on the host when the stream gets there; the stream goes on when it returns.
  virtual void callback(Stream& stream, std::function<void()> function) = 0;
  /// Stores `value` into the 8-byte `flag` after all earlier work of the stream.
  virtual void writeFlag(Stream& stream, uint64_t* flag, uint64_t value) = 0;
  /// Later work of the stream starts once the 8-byte `flag` is >= `value`.
  virtual void waitFlag(Stream& stream, const uint64_t* flag, uint64_t value) = 0;

  /// Blocks the calling thread until the work enqueued so far is done, and lets go of what done calls used. A failure
  /// of that work is raised here, once.
  virtual void synchronize(Stream& stream) = 0;
  virtual void synchronize(const Event& event) = 0;

  /// Blocks until a caller's stream (adoptCudaStream()) itself has all work that it was given so far, so that what its
  /// owner gives it next comes after that. Of work behind a communication this library's thread of the stream has some
  /// until the communication is over. Returns at once for other streams: nobody else gives them work.
  virtual void handOver(Stream& /*stream*/) {}
  /// Whether what the event stands for is done; never blocks.
  virtual bool isDone(const Event& event) = 0;
  /// Of an event that is done: why work before it failed or was skipped, whoever was told of that; or null.
  virtual std::exception_ptr failureOf(const Event& /*event*/) { return nullptr; }
  /// From now on, until leaveStream(), launches, fills and copies that this thread gives to the stream run at once, on
  /// this thread, as long as it
  /// gives nothing else. Their failures are the stream's. False, with nothing changed, where the device cannot do that
  /// or the stream has work left.
  virtual bool tryEnterStream(Stream& /*stream*/) { return false; }
  virtual void leaveStream(Stream& /*stream*/) {}
  /// Blocks like synchronize(), but leaves a failure to those who do.
  virtual void waitDone(const Event& event);

 protected:
  virtual std::unique_ptr<Stream> makeStream() = 0;
  /// The stream as its users hold it: it knows the device, and keeps it.
  std::shared_ptr<Stream> owned(std::unique_ptr<Stream> stream);

 private:
  std::unique_ptr<HazardTracker> hazards_;
  std::unique_ptr<InFlightCalls> in_flight_calls_;
  std::unique_ptr<KernelMaker> kernel_maker_;
  RaiseCount raise_count_;
  WorkObserverSlot work_observer_ = nullptr;
  const HomeProcess home_;
};

}  // namespace tokamak
