#include "device/device.h"

#include <chrono>
#include <thread>

#include "device/hazard_tracker.h"
#include "device/in_flight_calls.h"

namespace tokamak {

Device::Device()
    : hazards_(std::make_unique<HazardTracker>(*this)), in_flight_calls_(std::make_unique<InFlightCalls>(*this)) {}

Device::~Device() = default;

void Device::waitDone(const Event& event) {
  while (!isDone(event)) std::this_thread::sleep_for(std::chrono::microseconds(20));
}

}  // namespace tokamak
