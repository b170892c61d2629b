// Replay: the steps of a plan, made ready by a device to be enqueued again and again with other addresses.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device/capture.h"
#include "device/device.h"
#include "device/work.h"

namespace tokamak {

struct ReplayStep {
  enum class Action : uint8_t { Launch, Fill, Record, Wait };
  Action action = Action::Launch;
  int32_t stream = 0;  ///< 0 is the caller's
  int32_t event = -1;
  uint32_t first_slot = 0;
  uint32_t slot_count = 0;
  const Work* work = nullptr;
  int64_t bytes = 0;  ///< that a Fill sets to zero
};

/// What a step passes: a byte of a buffer, or a parameter.
struct ReplaySlot {
  static constexpr int32_t kParameter = -1;
  int32_t base = 0;    ///< which buffer
  int64_t offset = 0;  ///< in it; of a parameter: which one
};

/// Each step passes a run of `slots`.
struct ReplaySteps {
  std::vector<ReplayStep> steps;
  std::vector<ReplaySlot> slots;
  int32_t stream_count = 1;
  int32_t event_count = 0;
  size_t base_count = 0;
  size_t parameter_count = 0;
  int64_t hostBytes() const {
    return static_cast<int64_t>(steps.size() * sizeof(ReplayStep) + slots.size() * sizeof(ReplaySlot));
  }
};

/// Made by Device::prepareReplay().
/// Thread safety: one call at a time. Replays that share works run side by side.
class Replay {
 public:
  virtual ~Replay() = default;
  /// Enqueues all steps. streams[i]: the step list's stream i; bases[i]: where buffer i starts; parameters[i]:
  /// parameterBits() of parameter i.
  virtual void run(std::span<Stream* const> streams, std::span<void* const> bases,
                   std::span<void* const> parameters) = 0;
  /// Records all steps into what a caller records of `stream`; the memory at the bases is held by others. Errors:
  /// Unsupported, Device.
  virtual void runInto(Capture& capture, Stream& stream, std::span<void* const> bases,
                       std::span<void* const> parameters);
  /// What it takes on the host's heap, by estimate, without what a driver keeps for it.
  virtual int64_t hostBytes() const = 0;
};

}  // namespace tokamak
