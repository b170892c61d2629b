// OpenedDevice: a device, and the arrays of other libraries that its work uses.
#pragma once

#include <memory>
#include <utility>

#include "device/device.h"
#include "interop/dlpack.h"

namespace tokamak::python {

/// Thread safety: any threads may use it side by side; with the interpreter's lock, as arrays are let go here.
struct OpenedDevice {
  explicit OpenedDevice(std::shared_ptr<Device> opened) : device(std::move(opened)), arrays(*device) {
    arrays.deferDeleters();
  }

  const std::shared_ptr<Device> device;
  DlpackExchange arrays;
};

}  // namespace tokamak::python
