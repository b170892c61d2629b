// CacheDirectory: the folder that keeps compiled kernels. Nobody but its owner can have put anything into it.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "toolchain/file_descriptor.h"

namespace tokamak {

/// A file's bytes, or why it is not to be used.
struct TrustedFile {
  std::string bytes;
  std::string fault;  ///< empty: `bytes` is all of it
};

/// What a folder says about one of its files.
struct DirectoryFile {
  std::string name;
  int64_t bytes = 0;
  timespec changed = {};
};

class CacheDirectory {
 public:
  /// Opens the folder, which is made with mode 0700 (and so are its parents) if it is not there.
  /// Errors: Io when it cannot be made or opened, is a symbolic link, belongs to another user or can be written by
  /// others.
  explicit CacheDirectory(const std::string& path);

  const std::string& path() const { return path_; }
  int descriptor() const { return folder_.get(); }

  /// Reads a file of the folder unless it is a link, no regular file, somebody else's or writable by others, and marks
  /// it as used now.
  TrustedFile read(const std::string& name) const;
  /// The same, leaving no mark.
  TrustedFile peek(const std::string& name) const;
  /// All regular files, in no order. What cannot be read is left out.
  std::vector<DirectoryFile> files() const;
  /// Whether there was such a file, now gone.
  bool remove(const std::string& name) const;

 private:
  std::string path_;
  FileDescriptor folder_;
};

/// $TOKAMAK_CACHE_DIR, else $XDG_CACHE_HOME/tokamak, else ~/.cache/tokamak. Errors: Io when there is no home either.
std::string defaultCacheDirectory();

}  // namespace tokamak
