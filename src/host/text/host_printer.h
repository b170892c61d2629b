// Host printer: host programs as text; docs/host_text.md has the grammar.
#pragma once

#include <string>

namespace tokamak {

class HostIrContainer;

/// The whole text, which parseHostProgram reads back into an equal program. Numbers are assigned here: equal programs have the
/// same text. Errors: HostProgram for a loop without an index.
std::string printHostProgram(const HostIrContainer& program);

}  // namespace tokamak
