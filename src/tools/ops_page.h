// The ops page: every callable with signature, types, meaning and an example, for `tokamak info --ops` and docs/ops.md.
#pragma once

#include <string>

namespace tokamak::tools {

/// One line for each callable: name, parameters with defaults, meaning.
std::string opList();
/// Signature, meaning, operators, types and example of one. Errors: Usage for a name that there is not.
std::string opText(const std::string& name);
/// All of them as Markdown.
std::string opsPage();

}  // namespace tokamak::tools
