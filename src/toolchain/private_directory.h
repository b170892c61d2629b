// PrivateDirectory: a folder that nobody else may read or write, for the files of one compiler; removed with its last
// user.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "base/leftovers.h"

namespace tokamak {

class PrivateDirectory {
 public:
  /// A fresh folder of mode 0700 in $TMPDIR or /tmp. Errors: Io.
  PrivateDirectory();
  PrivateDirectory(const PrivateDirectory&) = delete;
  PrivateDirectory& operator=(const PrivateDirectory&) = delete;
  /// Removes the folder unless something in it was kept, and only in the process that made it.
  ~PrivateDirectory() { remove(); }

  const std::string& path() const { return path_; }
  /// The path of a file that does not exist, under a name that is never given again, in forked processes neither.
  std::string freshPath(std::string_view suffix);
  /// The folder outlives this object: a message names a file in it.
  void keep();
  /// Removes it now, unless something in it was kept: nobody may want a file of it any more.
  void remove() const;

 private:
  std::string path_;
  int owner_ = 0;
  std::unique_ptr<LeftoverPath> leftover_;
  std::atomic<int64_t> files_{0};
  std::atomic<bool> is_kept_{false};
};

/// A new file at `path` with these contents, readable by the owner only. Errors: Io.
void writePrivateFile(const std::string& path, std::string_view contents);

/// A file that is removed at the end of the scope.
class ScopedFile {
 public:
  explicit ScopedFile(std::string path) : path_(std::move(path)) {}
  ScopedFile(const ScopedFile&) = delete;
  ScopedFile& operator=(const ScopedFile&) = delete;
  ~ScopedFile();

  const std::string& path() const { return path_; }
  /// Leaves the file where it is.
  void keep() { is_kept_ = true; }

 private:
  std::string path_;
  bool is_kept_ = false;
};

}  // namespace tokamak
