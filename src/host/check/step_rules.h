// The rules for steps that hold whatever runs first: bounds, overlap inside a step, and life times in list order.
#pragma once

#include <vector>

#include "host/check/checker.h"
#include "host/check/step_uses.h"

namespace tokamak {

/// Every violation, by step; `uses` are those of `list`. All kinds of reports but races.
std::vector<RaceReport> checkStepRules(const StepList& list, const StepUses& uses);

}  // namespace tokamak
