// Host printer: host programs as text; docs/host_text.md has the grammar.
#pragma once

#include <string>

namespace tokamak {

class Fusion;
class HostIrContainer;
class ProgramNames;

/// The whole text, which parseHostProgram reads back into an equal program. Numbers are assigned here: equal programs
/// have the same text. Errors: HostProgram for a loop without an index.
std::string printHostProgram(const HostIrContainer& program);

/// The text of a host program or of a segment's fusion, every line after `margin`; names the symbols of `names`.
std::string programText(const Fusion& program, ProgramNames& names, const std::string& margin);

}  // namespace tokamak
