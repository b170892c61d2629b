// CudaProbe: why there is no CUDA device, in a build that has no CUDA runtime.
#pragma once

#include <string>

namespace tokamak {

/// The first reason found: no driver library, a driver that does not start, no device, or that this build drives none.
std::string reasonForNoCuda();

}  // namespace tokamak
