// tokamak run --comm mpi, nccl and peer: a program over ranks that are processes, which somebody has started.
#pragma once

#include "tools/run_command.h"

namespace tokamak::tools {

/// As runOnRanks(): every process makes the inputs and runs its part; rank 0 assembles, checks and prints. The exit
/// code is the same on all ranks. With MPI these are the processes that mpirun has started, on processors; with NCCL
/// and peer copies each has a GPU, and they meet as the environment says (tcpBootstrapFromEnvironment()).
/// Errors: Usage for options that have no effect here; AgreedErrors, which rank 0 alone says: for files and options
/// that differ among ranks (Device), for a rank without a GPU or NCCL (Unsupported), and what fails on some of them;
/// those of mpiCommunicator(), ncclCommunicator(), peerCommunicator() and the bootstrap. Others, as for ranks that are
/// gone, name the rank that raises them.
int runOverProcesses(const RunOptions& options);

}  // namespace tokamak::tools
