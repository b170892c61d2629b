#include "base/say.h"

#include <cstdio>

namespace tokamak {

void say(std::string_view text) noexcept {
  // Of the C library, which reports failures and raises none; one call, so that lines of threads do not mix.
  std::fprintf(stderr, "tokamak: %.*s\n", static_cast<int>(text.size()), text.data());
}

}  // namespace tokamak
