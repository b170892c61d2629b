// tokamak export: compiles a program into a file that runs where nothing compiles.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tokamak::tools {

struct ExportCommandOptions {
  std::string file;
  std::string output;                   ///< empty: none
  std::string c_prefix;                 ///< of an object file and a header; empty: none
  std::vector<std::string> sizes;       ///< "n=1..65536", "m=128,4096"
  std::vector<std::string> processors;  ///< none, and no GPU: native
  std::vector<std::string> gpus;        ///< "sm_90a"
  int64_t threads = 0;
  std::string output_layouts = "inferred";
};

/// Writes the file and prints what is in it. The exit code: 0. Errors are raised.
int exportCommand(const ExportCommandOptions& options);

}  // namespace tokamak::tools
