// Machine files: what a model knows of a machine, as JSON.
#pragma once

#include <string>

#include "simulate/machine.h"

namespace tokamak::tools {

/// The members of the object are those of Machine; "source", anywhere, is text for people (docs/simulate.md).
/// Errors: Io; Parse, with the file, for what is no JSON; Usage, with the file and the member, for one that is missing,
/// unknown or of another kind, and for what requireLegal() refuses.
Machine readMachine(const std::string& path);

/// As readMachine() takes it. `source`: where the figures come from.
std::string machineText(const Machine& machine, const std::string& source);

}  // namespace tokamak::tools
