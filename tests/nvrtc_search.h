// Whether there is an NVRTC, for tests that are skipped without one.
#pragma once

#include <string>

#include "base/error.h"
#include "toolchain/nvrtc.h"

namespace tokamak {

/// Why there is none; empty: there is one.
inline std::string reasonForNoNvrtc() {
  try {
    NvrtcLibrary::search();
    return {};
  } catch (const Error& error) {
    return error.message();
  }
}

}  // namespace tokamak
