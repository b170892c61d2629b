#include "device/device.h"

#include <chrono>
#include <thread>

#include "device/hazard_tracker.h"

namespace tokamak {

Device::Device() : hazards_(std::make_unique<HazardTracker>(*this)) {}

Device::~Device() = default;

void Device::waitDone(const Event& event) {
  while (!isDone(event)) std::this_thread::sleep_for(std::chrono::microseconds(20));
}

}  // namespace tokamak
