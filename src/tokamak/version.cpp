#include "tokamak/version.h"

namespace tokamak {

const char* versionOfLibrary() { return TOKAMAK_VERSION; }

}  // namespace tokamak
