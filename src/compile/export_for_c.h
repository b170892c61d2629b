// An exported program as an object file and a header of C, to be linked with the library.
#pragma once

#include <string>
#include <string_view>

#include "base/export.h"
#include "ir/fusion.h"

namespace tokamak {

/// What a C program links and includes.
struct CExport {
  std::string object;  ///< of this machine: the file's bytes as a constant
  std::string header;  ///< functions that load and run it, over the interface for C
};

/// `file`: of exportProgram(), of this fusion; `name`: an identifier of C, which the functions begin with.
/// Errors: Usage for another name; Unsupported where there is no C compiler; Compile.
TOKAMAK_EXPORT CExport exportForC(const Fusion& fusion, std::string_view file, const std::string& name);

}  // namespace tokamak
