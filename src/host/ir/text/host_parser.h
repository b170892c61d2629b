// Host parser: reads the text of host programs; docs/host_text.md has the grammar.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

namespace tokamak {

class HostIrContainer;

/// Reads the form that printHostProgram writes; comments may stand anywhere. `file` is named in messages. Errors:
/// Parse, as "file:line:column: what was expected", the line and a caret.
std::unique_ptr<HostIrContainer> parseHostProgram(std::string_view text, std::string_view file);

enum class ProgramTextKind : uint8_t { Fusion, HostProgram, Kernel };

/// What a program's text begins as, behind comments; a fusion where it begins as nothing else.
ProgramTextKind kindOfProgramText(std::string_view text);

}  // namespace tokamak
