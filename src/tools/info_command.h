// tokamak info: the version and what this machine offers.
#pragma once

namespace tokamak::tools {

int infoCommand();

}  // namespace tokamak::tools
