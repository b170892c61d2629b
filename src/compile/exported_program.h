// Exported programs: a compiled program as a file (.tk) that runs where nothing compiles (docs/exported_programs.md).
//
//   const std::string file = exportProgram(fusion, {.sizes = {{"n", ExportedExtent::range(1, 65536)}, {"m", {4096}}}});
//   ...
//   Program program = loadProgram("softmax.tk", *device);
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "compile/export_options.h"
#include "compile/program.h"

namespace tokamak {

/// Compiles a program for all these sizes, and gives the bytes of its file. `report`, if given, gets a line per target.
/// Errors: Bind for an extent without sizes, or that the program does not have; Usage for sizes that are none;
/// Unsupported where an extent is a range and has to be a constant, or there is no C compiler (for GPUs: no NVRTC); as
/// compile().
TOKAMAK_EXPORT std::string exportProgram(const Fusion& fusion, const ExportOptions& options,
                                         std::vector<ExportReport>* report = nullptr);

/// A program from its file. Nothing is compiled. Calls give the bits that the process which exported it gives with the
/// file's kernels. The file may change or go once it is loaded.
/// Errors: Io for a file that cannot be read, is damaged, or belongs to others; Unsupported for a file of a newer
/// version, or without code for this device, with what it has. Of calls: Bind for sizes that the file has no kernel
/// for.
TOKAMAK_EXPORT Program loadProgram(const std::string& path, Device& device, const LoadOptions& options = {});
/// The same for the bytes of a file; `name`: in messages.
TOKAMAK_EXPORT Program loadProgram(std::string contents, std::string_view name, Device& device,
                                   const LoadOptions& options = {});

}  // namespace tokamak
