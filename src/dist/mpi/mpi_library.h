// The MPI library: libtokamak_mpi.so, which is found and loaded at run time.
#pragma once

#include <memory>
#include <string>

#include "dist/mpi/mpi_functions.h"

namespace tokamak {

class MpiWorld;

/// The functions of the library at $TOKAMAK_MPI, else of libtokamak_mpi.so beside this program or library, in ../lib or
/// lib of that folder, or where the loader looks. What was loaded stays. Errors: Unsupported, with everything that was
/// tried, or for a library of another version.
const MpiFunctions& mpiFunctions();
/// Of this file. Errors: Unsupported.
const MpiFunctions& mpiFunctionsOf(const std::string& file);

/// This process's end of all that mpirun started: one as long as the process, which starts with the first call.
/// Errors: those of mpiFunctions() and MpiWorld.
std::shared_ptr<MpiWorld> mpiWorld();

}  // namespace tokamak
