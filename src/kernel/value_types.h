// Type rules of values.
#pragma once

#include <optional>
#include <string>

#include "kernel/value.h"

namespace tokamak::kir {

/// What is wrong with the type of this value (not of its operands), as a sentence; nothing if it is right.
std::optional<std::string> problemOfValue(const Value& value);

}  // namespace tokamak::kir
