// tokamak info: the version and what this machine offers; or the table of elementwise functions, or device code, for
// programs to read.
#pragma once

#include <set>
#include <string>

namespace tokamak::tools {

struct InfoOptions {
  bool functions = false;         ///< print the function table as JSON instead
  std::string ops;                ///< of --ops: only this one
  bool markdown = false;          ///< the ops as a page
  std::string completion;         ///< print the completions of this shell instead
  std::string device_code;        ///< print the CUDA text of these helpers instead: "exp_f32,tanh_f32"
  std::set<std::string> written;  ///< the options that are given: "--ops"
};

/// Errors: Usage where several options ask for something else each.
void requireOneAnswer(const InfoOptions& options);

int infoCommand(const InfoOptions& options);

}  // namespace tokamak::tools
