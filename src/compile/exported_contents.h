// ExportedContents: what a file says of one target but for its compiled code: host program, kernels, and what they fit.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compile/export_options.h"
#include "device/kernel_target.h"
#include "jit/exported_kernels.h"

namespace tokamak {

/// A program for one target.
struct ExportedContents {
  std::vector<std::string> symbols;  ///< symbolNamesOf() the host program
  std::string host_program;
  std::vector<ExportedLaunch> launches;
  std::vector<ExportedCode> codes;
};

/// Plans the program at sizes all over those that are asked for, and collects its kernels. Of the options only sizes,
/// views and layouts count. The fusion is the caller's alone.
/// Errors: as exportProgram(); nothing is compiled.
ExportedContents collectContents(const Fusion& fusion, const KernelTarget& target, const ExportOptions& options);

/// Errors: Usage.
void requireExportSizes(const std::map<std::string, ExportedExtent>& sizes);

}  // namespace tokamak
