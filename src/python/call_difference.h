// Call difference: in what a call's inputs are other than those of calls before.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compile/argument.h"

namespace tokamak::python {

/// "f32[4, 8], i64 3": types, sizes and numbers; strides where they are not those of a row-major array.
std::string inputsText(std::span<const Argument> inputs);

/// What differs from the call before that differs least: "input 0: axis 1 had 8 elements, has 16"; "first call" where
/// there is none. Calls have one number of inputs.
std::string differenceFromNearest(std::span<const std::vector<Argument>> known, std::span<const Argument> inputs);

}  // namespace tokamak::python
