// tokamak compile: makes a program's kernels for a GPU, with or without one, and says what they take.
#pragma once

#include <string>
#include <vector>

namespace tokamak::tools {

struct CompileOptions {
  std::string file;
  std::vector<std::string> sizes;  ///< "i0=4"
  std::string architecture = "sm_90a";
  std::string grouping = "fused";
  std::string output_layouts = "inferred";
  std::string dump;
};

/// Prints per kernel its launch, registers, shared memory, spills, and the narrowest access to global memory. The exit
/// code: 0. Errors are raised.
int compileCommand(const CompileOptions& options);

}  // namespace tokamak::tools
