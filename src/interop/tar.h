// Tar: archives of regular files in the ustar form of POSIX.1-1988, uncompressed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tokamak {

struct TarEntry {
  std::string name;  ///< at most 100 bytes
  std::string_view bytes;
};

/// An archive of these files, in this order: the same bytes for the same entries. Errors: Usage for a name that is too
/// long.
std::string writeTar(const std::vector<TarEntry>& entries);

/// The files of an archive, as views into it: what writeTar() makes, and nothing else. `fault` is empty when it is
/// whole; else it says what is wrong, and there are no entries.
struct TarContents {
  std::vector<TarEntry> entries;
  std::string fault;
};
TarContents readTar(std::string_view archive);

}  // namespace tokamak
