// Rules for steps that do not depend on the order of streams: bounds, overlap within a step, lifetimes in list order.
#pragma once

#include <vector>

#include "host/check/checker.h"
#include "host/check/step_uses.h"

namespace tokamak {

/// All violations but races, by step. `uses`: of `list`.
std::vector<RaceReport> checkStepRules(const StepList& list, const StepUses& uses);

}  // namespace tokamak
