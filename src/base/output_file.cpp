#include "base/output_file.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/require.h"

namespace tokamak {

namespace {

struct Target {
  std::string path;
  bool is_direct = false;      // a device, a FIFO, or what the process has open already
  std::optional<mode_t> mode;  // of the regular file that is there
};

// What links stand for. /proc names what a process has open, which no other file can take the place of.
Target followLinks(const std::string& path) {
  constexpr int kMostLinks = 40;
  std::filesystem::path at = path;
  std::error_code error;
  for (int links = 0; links < kMostLinks && std::filesystem::is_symlink(at, error); ++links) {
    const std::filesystem::path folder =
        std::filesystem::weakly_canonical(at.parent_path().empty() ? "." : at.parent_path(), error);
    if (folder.native().starts_with("/proc/")) return {.path = path, .is_direct = true, .mode = {}};
    const std::filesystem::path link = std::filesystem::read_symlink(at, error);
    if (error) break;
    at = link.is_absolute() ? link : folder / link;
  }
  return {.path = at.native(), .is_direct = false, .mode = {}};
}

Target targetOf(std::string_view operation, const std::string& path) {
  Target target = followLinks(path);
  struct stat status = {};
  if (stat(target.path.c_str(), &status) != 0) {
    TK_REQUIRE(errno != ELOOP, Io, "{}: '{}' cannot be written: {}", operation, path, std::strerror(ELOOP));
    return target;
  }
  const bool is_regular = S_ISREG(status.st_mode);
  const bool is_stream = S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode) || S_ISFIFO(status.st_mode);
  TK_REQUIRE(is_regular || is_stream, Io,
             "{}: '{}' cannot be written: it is a folder or a socket; name a file, a device or a FIFO", operation,
             path);
  // The owner of the system may write what is read-only for everybody, but did not mean to.
  constexpr mode_t kAnyWrite = S_IWUSR | S_IWGRP | S_IWOTH;
  const bool is_read_only = (is_regular && !target.is_direct && (status.st_mode & kAnyWrite) == 0) ||
                            faccessat(AT_FDCWD, target.path.c_str(), W_OK, AT_EACCESS) != 0;
  TK_REQUIRE(!is_read_only, Io, "{}: '{}' cannot be written: it is read-only; name another file", operation, path);
  if (is_stream) target.is_direct = true;
  if (is_regular) target.mode = status.st_mode;
  return target;
}

std::string scratchPath(const std::string& target) { return fmt::format("{}.{}.part", target, getpid()); }

}  // namespace

OutputFile::OutputFile(std::string_view operation, const std::string& path) : operation_(operation), path_(path) {
  const Target target = targetOf(operation, path);
  target_ = target.path;
  if (target.is_direct) {
    descriptor_ = open(target_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  } else {
    scratch_ = scratchPath(target_);
    leftover_ = std::make_unique<LeftoverPath>(scratch_);
    descriptor_ = open(scratch_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor_ < 0) scratch_.clear();
    if (descriptor_ >= 0 && target.mode) fchmod(descriptor_, *target.mode & 0777);
  }
  if (descriptor_ < 0) fail(errno);
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!scratch_.empty()) unlink(scratch_.c_str());
}

void OutputFile::fail(int error) const {
  TK_RAISE(Io, "{}: '{}' cannot be written: {}", operation_, path_, std::strerror(error));
}

void OutputFile::keepToOwner() {
  constexpr mode_t kPermissions = 07777;
  constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;
  struct stat status = {};
  if (scratch_.empty() || fstat(descriptor_, &status) != 0 || (status.st_mode & kOthersWrite) == 0) return;
  if (fchmod(descriptor_, status.st_mode & kPermissions & ~kOthersWrite) != 0) fail(errno);
}

void OutputFile::write(std::span<const unsigned char> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(errno);
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
}

void OutputFile::write(std::string_view text) {
  write({reinterpret_cast<const unsigned char*>(text.data()), text.size()});
}

void OutputFile::finish() {
  // Some file systems report a full disk only here.
  if (close(std::exchange(descriptor_, -1)) != 0) fail(errno);
  if (scratch_.empty()) return;
  if (rename(scratch_.c_str(), target_.c_str()) != 0) fail(errno);
  scratch_.clear();
}

void OutputFile::requireWritable(std::string_view operation, const std::string& path) {
  if (targetOf(operation, path).is_direct) return;
  const OutputFile opened(operation, path);
}

}  // namespace tokamak
