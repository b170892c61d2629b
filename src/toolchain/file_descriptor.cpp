#include "toolchain/file_descriptor.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <unistd.h>

namespace tokamak {

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this == &other) return *this;
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = std::exchange(other.descriptor_, -1);
  return *this;
}

FileDescriptor::~FileDescriptor() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool FileDescriptor::closeNow() { return close(std::exchange(descriptor_, -1)) == 0; }

bool readAll(int descriptor, size_t bytes, std::string& to) {
  to.resize(bytes);
  size_t done = 0;
  while (done < bytes) {
    const ssize_t count = read(descriptor, to.data() + done, bytes - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += static_cast<size_t>(count);
  }
  return true;
}

bool writeAll(int descriptor, std::string_view from) {
  while (!from.empty()) {
    const ssize_t count = write(descriptor, from.data(), from.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    from.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

}  // namespace tokamak
