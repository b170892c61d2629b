// Error places: where in a program's text stands the tensor that an error is about.
#pragma once

#include "base/error.h"
#include "tools/program_file.h"

namespace tokamak::tools {

/// An error about what `file` holds, its message preceded by "file:line:column: ", the definition of the first tensor
/// that it names (of a race, the statement of its second step), and followed by that line. Unchanged where it says a
/// place already, names no tensor of the text, or is no error of the program.
Error withPlace(const Error& error, const ProgramFile& file);

}  // namespace tokamak::tools
