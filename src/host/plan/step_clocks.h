// StepClocks: what is known to be done before each step of a list.
#pragma once

#include <cstdint>
#include <vector>

#include "host/check/step_list.h"

namespace tokamak {

/// Per stream, how many of its steps are done; every stream starts at 0 but the caller's, whose entry counts as one.
using DoneCounts = std::vector<int32_t>;

/// before[i][s]: how many steps of stream s are done when step i starts (of its own stream: all earlier ones). Records
/// and waits do not count as steps. position[i]: the number of step i on its stream, from 1 (from 2 on the caller's).
struct StepClocks {
  std::vector<DoneCounts> before;
  std::vector<int32_t> position;
  DoneCounts at_exit;  ///< when the caller's stream has got past all steps
};

/// For lists without communications.
StepClocks computeClocks(const StepList& list);

/// The same steps with as few waits as the order of the steps allows: waits implied by others are gone, and a point
/// that several streams wait for is recorded once. Lists with communications are returned as they are.
StepList dropImpliedWaits(const StepList& list);

/// The number of Wait steps.
int64_t countWaits(const StepList& list);

}  // namespace tokamak
