// OutputFile: a file that a caller named, which appears whole or not at all. Links are followed; devices and FIFOs
// are written directly.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/leftovers.h"

namespace tokamak {

class OutputFile {
 public:
  /// `operation` begins messages: "npy", "trace", "--output T2". Regular files are written beside their place first.
  /// Errors: Io, for folders, sockets, files without permission to write, and whatever the system refuses.
  OutputFile(std::string_view operation, const std::string& path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  /// Takes from group and others what permission to write the file would have: for files that are code.
  void keepToOwner();
  void write(std::span<const unsigned char> bytes);
  void write(std::string_view text);
  /// The file has its contents and its name now. What is not finished leaves nothing. Errors: Io.
  void finish();

  /// Raises what opening the file would, as far as that can be known without a reader of a FIFO; leaves nothing behind.
  static void requireWritable(std::string_view operation, const std::string& path);

 private:
  [[noreturn]] void fail(int error) const;

  std::string operation_;
  std::string path_;     // as the caller named it
  std::string target_;   // what the name stands for
  std::string scratch_;  // where the contents are until they are whole; empty: written directly
  std::unique_ptr<LeftoverPath> leftover_;
  int descriptor_ = -1;
};

}  // namespace tokamak
