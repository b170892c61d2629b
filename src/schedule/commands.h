// The schedule commands by name, as a text's schedule section calls them.
#pragma once

#include "ir/text/schedule_applier.h"

namespace tokamak {

/// split, inner_split, outer_split, merge, reorder, parallelize, propagate.
const ScheduleApplier& scheduleCommands();

}  // namespace tokamak
