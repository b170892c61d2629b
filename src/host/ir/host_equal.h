// Structural equality of host programs.
#pragma once

#include <string>

namespace tokamak {

class HostIrContainer;

/// The first difference as a sentence, or empty. It compares inputs, outputs, statements in order with all attributes,
/// domains, memory, meshes, aliases and segments. Numbers of communications, streams, segments and unnamed tensors are
/// compared by meaning, symbols by canonical name.
std::string firstDifference(const HostIrContainer& a, const HostIrContainer& b);
inline bool isEqual(const HostIrContainer& a, const HostIrContainer& b) { return firstDifference(a, b).empty(); }

}  // namespace tokamak
