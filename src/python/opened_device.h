// OpenedDevice: a device, and the arrays of other libraries that its work uses.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "device/device.h"
#include "interop/dlpack.h"
#include "python/profile.h"

namespace tokamak::python {

/// Thread safety: any threads may use it side by side; with the interpreter's lock, as arrays are let go here. Programs
/// that threads of other libraries let go keep it without that lock.
struct OpenedDevice : std::enable_shared_from_this<OpenedDevice> {
  explicit OpenedDevice(std::shared_ptr<Device> opened) : device(std::move(opened)), arrays(*device) {
    arrays.deferDeleters();
    observeDevice(device);
  }

  /// As DLPack tells it.
  dlpack::Device place() const {
    const int64_t ordinal = device->properties().ordinal;
    if (ordinal < 0) return {};
    return {.type = dlpack::DeviceType::Cuda, .id = static_cast<int32_t>(ordinal)};
  }

  const std::shared_ptr<Device> device;
  DlpackExchange arrays;
};

}  // namespace tokamak::python
