// The messages of race reports.
#pragma once

#include <string>

#include "host/check/checker.h"
#include "host/check/step_uses.h"

namespace tokamak {

/// How the first and the second step of a report use the buffer.
struct AccessModes {
  AccessMode first = AccessMode::Write;
  AccessMode second = AccessMode::Write;
};

/// The sentence for a report: operation, buffer, bytes, streams, and what is legal.
std::string inWords(const StepList& list, const RaceReport& report, AccessModes modes);

}  // namespace tokamak
