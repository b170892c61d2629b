#include "device/replay.h"

#include <algorithm>
#include <utility>

#include "base/require.h"
#include "device/capture.h"

namespace tokamak {

namespace {

// One call of the device per step.
class StepwiseReplay final : public Replay {
 public:
  StepwiseReplay(Device& device, ReplaySteps steps) : device_(device), list_(std::move(steps)) {
    for (int32_t e = 0; e < list_.event_count; ++e) events_.push_back(device.createEvent());
    size_t most = 0;
    for (const ReplayStep& step : list_.steps) most = std::max<size_t>(most, step.slot_count);
    values_.resize(most);
  }

  void run(std::span<Stream* const> streams, std::span<void* const> bases, std::span<void* const> parameters) override {
    using Action = ReplayStep::Action;
    for (const ReplayStep& step : list_.steps) {
      Stream& on = *streams[static_cast<size_t>(step.stream)];
      for (uint32_t i = 0; i < step.slot_count; ++i)
        values_[i] = valueOf(list_.slots[step.first_slot + i], bases, parameters);
      switch (step.action) {
        case Action::Launch: device_.launch(on, *step.work, {values_.data(), step.slot_count}); break;
        case Action::Fill: device_.fill(on, values_[0], 0, step.bytes); break;
        case Action::Record: device_.record(*events_[static_cast<size_t>(step.event)], on); break;
        case Action::Wait: device_.wait(on, *events_[static_cast<size_t>(step.event)]); break;
      }
    }
  }

  // An event of a device is a few words.
  int64_t hostBytes() const override {
    constexpr size_t kEventBytes = 64;
    return static_cast<int64_t>(sizeof(StepwiseReplay) + values_.size() * sizeof(void*) +
                                events_.size() * kEventBytes) +
           list_.hostBytes();
  }

 private:
  static void* valueOf(const ReplaySlot& slot, std::span<void* const> bases, std::span<void* const> parameters) {
    if (slot.base == ReplaySlot::kParameter) return parameters[static_cast<size_t>(slot.offset)];
    return static_cast<std::byte*>(bases[static_cast<size_t>(slot.base)]) + slot.offset;
  }

  Device& device_;
  ReplaySteps list_;
  std::vector<std::unique_ptr<Event>> events_;
  std::vector<void*> values_;
};

}  // namespace

void Replay::runInto(Capture& /*capture*/, Stream& /*stream*/, std::span<void* const> /*bases*/,
                     std::span<void* const> /*parameters*/) {
  TK_RAISE(Unsupported, "recording a plan: this device records no streams");
}

std::unique_ptr<Replay> Device::prepareReplay(ReplaySteps steps) {
  return std::make_unique<StepwiseReplay>(*this, std::move(steps));
}

}  // namespace tokamak
