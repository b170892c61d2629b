// tokamak run --ranks: a program over ranks that are threads of this process.
#pragma once

#include "dist/communicator.h"
#include "tools/program_file.h"
#include "tools/run_command.h"

namespace tokamak::tools {

/// Runs the file's host program, or its fusion with meshes, on options.ranks ranks; with --check, the assembled outputs
/// are compared with the oracle of the program on one device. The exit code: 0, or 1 on a mismatch.
/// Errors: Usage for a fusion without meshes, and for options that have no effect here; those of ProgramOnRanks and
/// unshardedFusion().
/// `process`: the one rank that this process is (ProgramOnRanks); rank 0 reports, and its code is that of all. Errors
/// then are AgreedErrors, too. Null: the ranks are threads.
int runOnRanks(ProgramFile& file, const RunOptions& options, Communicator* process = nullptr);

/// Whether --comm says that each rank has a GPU.
bool isOnGpus(const RunOptions& options);

}  // namespace tokamak::tools
