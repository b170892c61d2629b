// Processor features: what code that was compiled for one processor needs of another.
#pragma once

#include <string>
#include <string_view>

#include "toolchain/c_compiler.h"

namespace tokamak {

/// The instruction sets that code for the target may use, by blanks: "avx2 fma bmi2". Errors: Unsupported for a macro
/// of the compiler that is not known here.
std::string featuresNeeded(const CTarget& target);

/// Those of `features` (by blanks) that this processor lacks, or that are not known here; empty: it has all.
std::string featuresLacking(std::string_view features);

}  // namespace tokamak
