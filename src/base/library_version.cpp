#include "base/library_version.h"

namespace tokamak {

const char* libraryVersion() { return TOKAMAK_LIBRARY_VERSION; }

}  // namespace tokamak
