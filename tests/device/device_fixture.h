// The conformance suite's parameter: how to make a device, and how to give it work and faults.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "device/device.h"
#include "device/work.h"

namespace tokamak {

/// One device under test. A device that cannot run work of its own kind leaves `make_add_one` out, or makes none.
struct DeviceCase {
  std::string name;
  std::function<std::shared_ptr<Device>()> make;
  /// Work on (in, out), `count` doubles each: out = in + 1, sharing out its elements over blocks.
  std::function<std::unique_ptr<Work>(Device&, int64_t count)> make_add_one;
  std::function<void(Device&, int64_t n)> fail_allocation;
  /// Why this machine has no such device, or an empty text.
  std::function<std::string()> reason_missing = {};
};

/// The devices that this build has.
std::vector<DeviceCase> deviceCases();

class DeviceTest : public testing::TestWithParam<DeviceCase> {
 protected:
  void SetUp() override {
    const std::string reason = GetParam().reason_missing ? GetParam().reason_missing() : std::string();
    if (!reason.empty()) GTEST_SKIP() << reason;
    device_ = GetParam().make();
  }
  std::shared_ptr<Device> device_;
};

}  // namespace tokamak
