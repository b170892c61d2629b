#include "tools/array_output.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/require.h"
#include "interop/npy.h"

namespace tokamak::tools {

ArrayOutput::ArrayOutput(std::string option) : option_(std::move(option)) {
  TK_REQUIRE(isatty(STDOUT_FILENO) == 0, Usage, "{}: standard output is a terminal; lead it into a file or a pipe",
             option_);
  std::fflush(stdout);
  descriptor_ = dup(STDOUT_FILENO);
  if (descriptor_ < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) fail(errno);
}

ArrayOutput::~ArrayOutput() {
  if (descriptor_ >= 0) close(descriptor_);
}

void ArrayOutput::fail(int error) const {
  TK_RAISE(Io, "{}: the standard output cannot be written: {}", option_, std::strerror(error));
}

void ArrayOutput::write(const Tensor& tensor) {
  // Whole before the first byte goes out: what standard output stands for can be neither opened again nor renamed.
  const int whole = memfd_create("tokamak-npy", MFD_CLOEXEC);
  if (whole < 0) fail(errno);
  try {
    writeNpy(fmt::format("/proc/self/fd/{}", whole), tensor);
    writeAll(whole);
  } catch (...) {
    close(whole);
    throw;
  }
  close(whole);
}

void ArrayOutput::writeAll(int from) const {
  std::array<char, 1 << 16> piece;
  for (;;) {
    const ssize_t count = read(from, piece.data(), piece.size());
    if (count < 0) fail(errno);
    if (count == 0) return;
    for (ssize_t done = 0; done < count;) {
      const ssize_t written = ::write(descriptor_, piece.data() + done, static_cast<size_t>(count - done));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail(errno);
      done += written;
    }
  }
}

}  // namespace tokamak::tools
