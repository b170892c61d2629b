// SegmentMode: how a segment runs.
#pragma once

#include <cstdint>

namespace tokamak {

enum class SegmentMode : uint8_t {
  OpByOp,   ///< each op by itself
  Kernels,  ///< one kernel, or, on a device that makes none, each op by itself
};

}  // namespace tokamak
