// Tensor numbers: which number the named tensors of a program have in dumps that know numbers only.
#pragma once

#include <string>

namespace tokamak {
class Fusion;
}

namespace tokamak::tools {

/// A comment, "// x is T0, y is T2", and a line end; empty for a program without names.
std::string tensorNumbers(const Fusion& program);

}  // namespace tokamak::tools
