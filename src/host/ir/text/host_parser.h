// Host parser: reads the text of host programs; docs/host_text.md has the grammar.
#pragma once

#include <memory>
#include <string_view>

namespace tokamak {

class HostIrContainer;

/// Reads the form that printHostProgram writes; comments may stand anywhere. `file` is named in messages. Errors:
/// Parse, as "file:line:column: what was expected", the line and a caret.
std::unique_ptr<HostIrContainer> parseHostProgram(std::string_view text, std::string_view file);

}  // namespace tokamak
