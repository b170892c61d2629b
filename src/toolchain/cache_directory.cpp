#include "toolchain/cache_directory.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/require.h"

namespace tokamak {

namespace {

// Larger than any kernel: what is larger was not written by us.
constexpr int64_t kMostBytes = int64_t{256} << 20;
constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;

// A link behind a trailing slash would be followed.
std::string withoutTrailingSlashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// Makes the folder and its parents; what is there already is left as it is. False on an error (errno).
bool makeFolders(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return true;
  const size_t parent = path.rfind('/');
  if (errno != ENOENT || parent == std::string::npos || parent == 0) return false;
  if (!makeFolders(path.substr(0, parent))) return false;
  return mkdir(path.c_str(), 0700) == 0 || errno == EEXIST;
}

std::string faultOfOwner(const struct stat& status) {
  if (status.st_uid != geteuid())
    return fmt::format("it belongs to user {}, this is user {}", status.st_uid, geteuid());
  if ((status.st_mode & kOthersWrite) != 0)
    return fmt::format("others may write to it (mode {:04o})", status.st_mode & 07777);
  return {};
}

std::string faultOfFile(const struct stat& status) {
  if (!S_ISREG(status.st_mode)) return "it is no regular file";
  if (status.st_size > kMostBytes) return fmt::format("it has {} bytes, more than any kernel", status.st_size);
  return faultOfOwner(status);
}

// Not blocking: a FIFO of that name is refused, not waited for.
FileDescriptor openFile(int folder, const std::string& name) {
  return FileDescriptor(openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
}

TrustedFile contentsOf(const FileDescriptor& file) {
  TrustedFile result;
  struct stat status = {};
  if (!file.isOpen() || fstat(file.get(), &status) != 0) {
    result.fault = std::strerror(errno);
    return result;
  }
  result.fault = faultOfFile(status);
  if (!result.fault.empty()) return result;
  if (!readAll(file.get(), static_cast<size_t>(status.st_size), result.bytes)) result.fault = "it cannot be read whole";
  return result;
}

const char* presentVariable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? nullptr : value;
}

}  // namespace

CacheDirectory::CacheDirectory(const std::string& path) : path_(withoutTrailingSlashes(path)) {
  TK_REQUIRE(makeFolders(path_), Io, "kernel cache: the folder '{}' cannot be made: {}", path_, std::strerror(errno));
  folder_ = FileDescriptor(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  TK_REQUIRE(folder_.isOpen(), Io, "kernel cache: '{}' cannot be used: {}", path_,
             errno == ELOOP || errno == ENOTDIR ? "it is a symbolic link or no folder" : std::strerror(errno));
  struct stat status = {};
  TK_REQUIRE(fstat(folder_.get(), &status) == 0, Io, "kernel cache: '{}' cannot be looked at: {}", path_,
             std::strerror(errno));
  const std::string fault = faultOfOwner(status);
  TK_REQUIRE(fault.empty(), Io,
             "kernel cache: '{}' is refused: {}; code is run only from a folder that nobody else can write to", path_,
             fault);
}

TrustedFile CacheDirectory::read(const std::string& name) const {
  const FileDescriptor file = openFile(folder_.get(), name);
  TrustedFile result = contentsOf(file);
  if (result.fault.empty()) futimens(file.get(), nullptr);
  return result;
}

TrustedFile CacheDirectory::peek(const std::string& name) const { return contentsOf(openFile(folder_.get(), name)); }

std::vector<DirectoryFile> CacheDirectory::files() const {
  std::vector<DirectoryFile> result;
  const int again = openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (again < 0) return result;
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(fdopendir(again), closedir);
  if (listing == nullptr) {
    close(again);
    return result;
  }
  while (const dirent* const entry = readdir(listing.get())) {
    struct stat status = {};
    if (fstatat(folder_.get(), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode)) continue;
    result.push_back({entry->d_name, status.st_size, status.st_mtim});
  }
  return result;
}

bool CacheDirectory::remove(const std::string& name) const { return unlinkat(folder_.get(), name.c_str(), 0) == 0; }

std::string defaultCacheDirectory() {
  if (const char* const own = presentVariable("TOKAMAK_CACHE_DIR")) return own;
  // The XDG convention: a path that is not absolute counts as none.
  if (const char* const shared = presentVariable("XDG_CACHE_HOME"); shared != nullptr && shared[0] == '/')
    return fmt::format("{}/tokamak", shared);
  const char* home = presentVariable("HOME");
  if (home == nullptr) {
    const passwd* const user = getpwuid(geteuid());
    if (user != nullptr) home = user->pw_dir;
  }
  TK_REQUIRE(home != nullptr && home[0] == '/', Io,
             "kernel cache: there is no home folder to keep it in; TOKAMAK_CACHE_DIR may name one");
  return fmt::format("{}/.cache/tokamak", home);
}

}  // namespace tokamak
