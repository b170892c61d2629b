// ArrayOutput: standard output as the place of one array, "--output y=-".
#pragma once

#include <string>

#include "device/tensor.h"

namespace tokamak::tools {

/// From its making on standard output is the array's: whatever else is printed goes to standard error.
class ArrayOutput {
 public:
  /// `option` begins messages: "--output y=-". Errors: Usage where standard output is a terminal.
  explicit ArrayOutput(std::string option);
  ArrayOutput(const ArrayOutput&) = delete;
  ArrayOutput& operator=(const ArrayOutput&) = delete;
  ~ArrayOutput();

  /// As a .npy file. Errors: Io; what writeNpy raises.
  void write(const Tensor& tensor);

 private:
  void writeAll(int from) const;
  [[noreturn]] void fail(int error) const;

  std::string option_;
  int descriptor_ = -1;
};

}  // namespace tokamak::tools
