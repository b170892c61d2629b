// StepClocks: the steps that are done before each step of a list (vector clocks).
#pragma once

#include <cstdint>
#include <vector>

#include "host/check/step_list.h"

namespace tokamak {

/// Per stream, the number of its steps that are done: 0 at first, but 1 for the caller's, whose entry counts.
using DoneCounts = std::vector<int32_t>;

/// before[i][s]: the number of steps of stream s that are done when step i starts (of its own stream: all earlier
/// ones). position[i]: the number of step i on its stream, from 1 (on the caller's from 2). Records and waits do not
/// count.
struct StepClocks {
  std::vector<DoneCounts> before;
  std::vector<int32_t> position;
  DoneCounts at_exit;  ///< after all steps of the caller's stream
};

/// For lists without communications.
StepClocks computeClocks(const StepList& list);

/// The same steps without implied waits, and with one record for a point that several streams wait for. Lists with
/// communications are returned as they are.
StepList dropImpliedWaits(const StepList& list);

/// The number of Wait steps.
int64_t countWaits(const StepList& list);

}  // namespace tokamak
