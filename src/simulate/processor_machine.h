// Processor machine: ranks that are threads or processes of one host, for who has no machine file.
#pragma once

#include "simulate/machine.h"

namespace tokamak {

/// Ranks with a processor each, by the transports "local" and "mpi". The figures are those of `tokamak measure-links
/// --ranks 2` on two cores of a server, rounded; products of half types, and MPI's latency, are assumed.
Machine processorMachine();

}  // namespace tokamak
