// UnitMode: what a host unit becomes when a program runs; its meaning is the same.
#pragma once

#include <cstdint>

namespace tokamak {

enum class UnitMode : uint8_t {
  OpByOp,   ///< each op by itself
  Kernels,  ///< one kernel, or, on a device that makes none, each op by itself
};

}  // namespace tokamak
