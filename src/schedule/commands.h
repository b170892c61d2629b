// The schedule commands by their names in a text's schedule section.
#pragma once

#include "ir/text/schedule_applier.h"

namespace tokamak {

/// Every command of schedule/, in the order of docs/text.md.
const ScheduleApplier& scheduleCommands();

}  // namespace tokamak
