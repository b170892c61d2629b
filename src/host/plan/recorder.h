// Recorder: a device that runs nothing, and records a StepList.
#pragma once

#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "device/device.h"
#include "device/work.h"
#include "host/check/step_list.h"
#include "host/check/step_uses.h"

namespace tokamak {

/// Its addresses are no memory: they identify buffers. The device that will replay the list prepares work; without one,
/// steps can only be checked.
/// Thread safety: one thread at a time, though devices are else for many.
class Recorder final : public Device {
 public:
  /// `replay_device` may be null. No work is prepared once `cancel` asks for it. Errors then: Cancelled.
  explicit Recorder(Device* replay_device, std::stop_token cancel = {})
      : replay_device_(replay_device), cancel_(std::move(cancel)) {}

  /// An address range for a tensor of the caller.
  void* registerBuffer(StepBuffer buffer);
  /// Names the next steps in messages, and the next allocation.
  void describeNext(std::string text, std::string name = "");
  /// The caller's stream, number 0. createStream() numbers the others.
  Stream& callerStream() { return caller_; }

  /// The buffer and byte of an address from this recorder.
  StepAddress resolve(const void* address) const;
  StepList& steps() { return steps_; }

  /// What records of a stream that is not made by this recorder, as a communicator's are. It lives as long.
  Stream& recordedStream(Stream& stream);
  /// The stream that records of stream number `number`, or null where this recorder made it.
  Stream* streamOf(int32_t number) const;
  /// Memory that a work uses.
  struct Touched {
    OperandDesc operand;
    void* address = nullptr;
    AccessMode mode = AccessMode::Read;
  };
  /// A work that somebody else made ready, with its addresses and all that it accesses.
  void launchPrepared(Stream& stream, std::shared_ptr<const Work> work, std::span<void* const> addresses,
                      std::span<const Touched> touched);
  /// Starts communication number `communication` with these accesses (read, written).
  void post(Stream& stream, int32_t communication, std::span<const OperandDesc> operands,
            std::span<void* const> addresses, size_t result_count);
  void join(Stream& stream, int32_t communication);
  int32_t newEvent() { return steps_.event_count++; }

  const DeviceProperties& properties() const override;
  KernelTarget kernelTarget() const override;
  std::unique_ptr<Stream> makeStream() override;
  std::unique_ptr<Event> createEvent() override;
  void* allocate(int64_t bytes, MemoryKind kind, Stream& stream) override;
  void release(void* address, int64_t bytes, MemoryKind kind, Stream& stream) override;
  MemoryStatistics memoryStatistics(MemoryKind kind) const override;
  void record(Event& event, Stream& stream) override;
  void wait(Stream& stream, const Event& event) override;
  std::shared_ptr<const Work> prepare(const WorkRequest& request) override;
  void copy(Stream& stream, void* to, const void* from, int64_t bytes) override;
  void fill(Stream& stream, void* to, uint8_t byte, int64_t bytes) override;
  void launch(Stream& stream, const Work& work, std::span<void* const> addresses) override;
  void callback(Stream& stream, std::function<void()> function) override;
  void writeFlag(Stream& stream, uint64_t* flag, uint64_t value) override;
  void waitFlag(Stream& stream, const uint64_t* flag, uint64_t value) override;
  void synchronize(Stream& stream) override;
  void synchronize(const Event& event) override;
  bool isDone(const Event& event) override;

 private:
  struct RecordedStream final : Stream {
    int32_t number = 0;
  };
  struct RecordedEvent final : Event {
    int32_t number = 0;
  };

  void requireNotCancelled() const;
  Step& append(StepKind kind, Stream& stream);
  Access wholeBuffer(int32_t buffer) const;
  Access accessOf(const OperandDesc& operand, const void* address, bool is_write) const;

  Device* replay_device_;
  const std::stop_token cancel_;
  StepList steps_;
  RecordedStream caller_;
  std::map<Stream*, std::unique_ptr<Stream>> others_;  // what records of streams of somebody else
  std::map<uintptr_t, int32_t> bases_;
  uintptr_t next_address_ = uintptr_t{1} << 44U;
  int64_t intermediates_ = 0;
  std::string text_;
  std::string next_name_;
};

}  // namespace tokamak
