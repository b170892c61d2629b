// tokamak run of an exported program (.tk).
#pragma once

#include <string>

#include "tools/run_command.h"

namespace tokamak::tools {

/// Told by its first bytes; not, too, for a file that cannot be read.
bool isExportedFile(const std::string& path);

/// Loads the program, runs it and reports. The exit code: 0. Errors are raised: Usage for options that an exported
/// program has no use for.
int runExported(const RunOptions& options);

}  // namespace tokamak::tools
