// tokamak run --comm mpi: a host program over ranks that are processes, which mpirun has started.
#pragma once

#include "tools/run_command.h"

namespace tokamak::tools {

/// As runOnRanks(): every process makes the inputs and runs its part; rank 0 assembles, checks and prints. The exit
/// code is the same on all ranks. Errors: Usage for options that have no effect here; AgreedErrors, which rank 0 alone
/// says: for files and options that differ among ranks (Device), and what fails on some of them; those of
/// mpiCommunicator(). Others, as for ranks that are gone, name the rank that raises them.
int runOverMpi(const RunOptions& options);

}  // namespace tokamak::tools
