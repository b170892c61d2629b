// InterfaceNames: what callers call a program and its inputs, extents and outputs. The text of a host program numbers
// them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "host/ir/host_ir_container.h"

namespace tokamak {

struct InterfaceNames {
  std::string program;
  std::vector<std::string> inputs;  ///< of tensors
  std::vector<std::string> outputs;

  bool operator==(const InterfaceNames&) const = default;
};

InterfaceNames interfaceNamesOf(const Fusion& fusion);

/// A program's scalar inputs, and all symbols of its inputs' extents, in the order in which inputs have them.
std::vector<Scalar*> interfaceSymbols(const Fusion& program);

/// The names of a program's symbols, but for that of a host program's streams.
std::set<std::string> symbolNamesIn(const Fusion& program);

/// Of a host program's scalar inputs, and of the extents of its inputs, in the order in which inputs have them.
std::vector<std::string> symbolNamesOf(const HostIrContainer& program);

/// Names the program of a text as the one that it was printed from. Errors: HostProgram where it has other numbers of
/// inputs, outputs or symbols.
void giveNames(HostIrContainer& program, const InterfaceNames& names, const std::vector<std::string>& symbols);

}  // namespace tokamak
