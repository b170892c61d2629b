// FileDescriptor: an open file that closes itself, and reading and writing all of it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace tokamak {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  /// Takes over `descriptor`; negative: none.
  explicit FileDescriptor(int descriptor) : descriptor_(descriptor) {}
  FileDescriptor(FileDescriptor&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor();

  bool isOpen() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }
  /// Closes the file; false when what was written did not get through (errno).
  bool closeNow();

 private:
  int descriptor_ = -1;
};

/// Reads `bytes` bytes from the current position into `to`; false when there are fewer, or on an error (errno).
bool readAll(int descriptor, size_t bytes, std::string& to);

/// Writes all of `from` at the current position; false on an error (errno).
bool writeAll(int descriptor, std::string_view from);

}  // namespace tokamak
