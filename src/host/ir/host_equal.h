// Structural equality of host programs.
#pragma once

#include <string>

namespace tokamak {

class HostIrContainer;

/// Empty when the programs are the same: inputs, outputs, statements in order with all attributes, domains, memory,
/// meshes, aliases, segments. Numbers of communications, streams, segments and unnamed tensors are compared by what
/// they stand for, symbols by their canonical names. Else the first difference, in words.
std::string firstDifference(const HostIrContainer& a, const HostIrContainer& b);
inline bool isEqual(const HostIrContainer& a, const HostIrContainer& b) { return firstDifference(a, b).empty(); }

}  // namespace tokamak
