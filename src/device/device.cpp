#include "device/device.h"

#include <chrono>
#include <thread>
#include <utility>

#include "device/hazard_tracker.h"
#include "device/in_flight_calls.h"
#include "device/kernel_maker.h"

namespace tokamak {

Device::Device()
    : hazards_(std::make_unique<HazardTracker>(*this)), in_flight_calls_(std::make_unique<InFlightCalls>(*this)) {}

Device::~Device() = default;

bool Device::makesKernels() { return kernel_maker_ != nullptr && kernel_maker_->makesKernels(); }

void Device::useKernels(std::unique_ptr<KernelMaker> maker) { kernel_maker_ = std::move(maker); }

void Device::waitDone(const Event& event) {
  while (!isDone(event)) std::this_thread::sleep_for(std::chrono::microseconds(20));
}

}  // namespace tokamak
