#include "device/device.h"

#include <chrono>
#include <thread>
#include <utility>

#include "base/require.h"
#include "device/capture.h"
#include "device/hazard_tracker.h"
#include "device/in_flight_calls.h"
#include "device/kernel_maker.h"

namespace tokamak {

Stream::~Stream() = default;

void Stream::synchronize() { device_->synchronize(*this); }

Device::Device()
    : hazards_(std::make_unique<HazardTracker>(*this)), in_flight_calls_(std::make_unique<InFlightCalls>(*this)) {}

Device::~Device() = default;

bool Device::makesKernels() { return kernel_maker_ != nullptr && kernel_maker_->makesKernels(); }

void Device::useKernels(std::unique_ptr<KernelMaker> maker) { kernel_maker_ = std::move(maker); }

std::unique_ptr<Capture> Device::joinCapture(Stream& /*stream*/) { return nullptr; }

KernelMaker& Device::kernelsFor(const WorkRequest& request) const {
  return request.kernels != nullptr ? *request.kernels : *kernel_maker_;
}

void Device::requireProcess() const {
  TK_REQUIRE(home_.isHere(), Device,
             "{}: the process was forked since the device was opened, whose threads are the parent's; open one in the "
             "child",
             properties().name);
}

std::shared_ptr<Stream> Device::createStream() {
  requireProcess();
  return owned(makeStream());
}

std::shared_ptr<Stream> Device::owned(std::unique_ptr<Stream> stream) {
  stream->device_ = this;
  // The stream goes before what keeps its device.
  return {stream.release(), [device = holder()](const Stream* it) { delete it; }};
}

void Device::requireOwn(const Stream& stream, std::string_view operation) const {
  if (stream.device_ == this && home_.isHere()) return;
  const std::string_view owner =
      stream.device_ == nullptr ? std::string_view("none") : std::string_view(stream.device_->properties().name);
  TK_REQUIRE(stream.device_ == this, Bind,
             "{}: a stream of another Device object ({}) was given; one of this device ({}) is legal", operation, owner,
             properties().name);
  requireProcess();
}

void Device::waitDone(const Event& event) {
  while (!isDone(event)) std::this_thread::sleep_for(std::chrono::microseconds(20));
}

}  // namespace tokamak
