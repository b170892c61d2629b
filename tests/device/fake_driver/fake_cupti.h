// The fake CUPTI's eyes in the fake driver: what streams are given is watched while somebody records activities.
#pragma once

#include <cstdint>
#include <functional>

namespace fake {

enum class Activity : uint8_t { Kernel, Copy, Fill };

/// The work, and a record of when it ran where activities of its kind are recorded. To be called in the driver's call
/// that gives the work to a stream.
std::function<void()> watched(Activity activity, std::function<void()> work);

}  // namespace fake
