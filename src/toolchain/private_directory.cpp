#include "toolchain/private_directory.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/require.h"
#include "toolchain/file_descriptor.h"

namespace tokamak {

PrivateDirectory::PrivateDirectory() : owner_(getpid()) {
  const char* parent = std::getenv("TMPDIR");
  if (parent == nullptr || parent[0] != '/') parent = "/tmp";
  path_ = fmt::format("{}/tokamak-XXXXXX", parent);
  TK_REQUIRE(mkdtemp(path_.data()) != nullptr, Io, "compiling: no private folder can be made in '{}': {}", parent,
             std::strerror(errno));
  leftover_ = std::make_unique<LeftoverPath>(path_);
}

void PrivateDirectory::keep() {
  if (!is_kept_.exchange(true)) leftover_->release();
}

void PrivateDirectory::remove() const {
  if (is_kept_ || getpid() != owner_) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string PrivateDirectory::freshPath(std::string_view suffix) {
  return fmt::format("{}/k{}-{}{}", path_, getpid(), files_++, suffix);
}

void writePrivateFile(const std::string& path, std::string_view contents) {
  const FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  const bool is_written = file.isOpen() && writeAll(file.get(), contents);
  TK_REQUIRE(is_written, Io, "compiling: '{}' cannot be written: {}", path, std::strerror(errno));
}

ScopedFile::~ScopedFile() {
  if (!is_kept_) unlink(path_.c_str());
}

}  // namespace tokamak
