// The version of the library, for what it writes.
#pragma once

namespace tokamak {

/// "MAJOR.MINOR.PATCH".
const char* libraryVersion();

}  // namespace tokamak
