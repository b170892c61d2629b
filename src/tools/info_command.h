// tokamak info: the version and what this machine offers; or the table of elementwise functions, for programs to read.
#pragma once

namespace tokamak::tools {

struct InfoOptions {
  bool functions = false;  ///< print the function table as JSON instead
};

int infoCommand(const InfoOptions& options);

}  // namespace tokamak::tools
