// Programs with schedules, the parameters that are chosen for them, and the errors of what is done with them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/error.h"
#include "heuristics/cuda_schedule.h"
#include "heuristics/schedule_parameters.h"
#include "program_of.h"

namespace tokamak {

/// Shared, as lowering takes it.
inline std::shared_ptr<Fusion> parseScheduled(std::string_view text) { return fusionFrom(text); }

inline CudaScheduleParameters chosenFor(std::string_view text, const KernelTarget& target = hopperTarget()) {
  return chooseCudaParameters(requireReductionStructure(*parseScheduled(text)), target, {});
}

/// The message of the error that the action raises, which is of this kind.
inline std::string messageOf(ErrorCode code, const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.message();
  }
  return "nothing was raised";
}

}  // namespace tokamak
