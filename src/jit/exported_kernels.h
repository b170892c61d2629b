// Kernels as an exported program has them: compiled code, and for each use of it what it fits and how it is bound.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jit/bound_kernel.h"
#include "jit/kernel_choice.h"

namespace tokamak {

/// Values of a symbol, both ends included.
struct SymbolRange {
  int64_t least = 0;
  int64_t most = 0;

  bool operator==(const SymbolRange&) const = default;
};

/// A symbol of a kernel that is a symbol of its program over a number.
struct SymbolSource {
  size_t from = 0;
  int64_t divisor = 1;

  bool operator==(const SymbolSource&) const = default;
};

/// One use of a kernel's code: what it fits, and what its launches are bound to. Launches of a program are tried in
/// their order.
struct ExportedLaunch {
  std::string program;  ///< digestOfForm() of the program
  size_t code = 0;      ///< number of the code
  KernelShape shape;
  std::vector<std::optional<SymbolRange>> ranges;    ///< per symbol of the program
  std::vector<std::optional<SymbolSource>> symbols;  ///< per symbol of the kernel; nothing: its operands tell it
  std::vector<size_t> parameters;                    ///< as KernelCode has them
  std::vector<int64_t> limits;  ///< per symbol of a kernel with 32-bit indices, at most; empty: no limits

  bool operator==(const ExportedLaunch&) const = default;
};

/// Code of a kernel.
struct ExportedCode {
  kir::Kernel kernel;
  DataType index_type = DataType::I64;
};

/// Names a structural form: equal digests, equal forms. `form`: as KernelLibrary gives it.
std::string digestOfForm(const std::vector<int64_t>& form);

/// Launches as text, and back:
///
///     launch 9f0c... code 0 align 16 {
///       any in 1..65536, = 4096, * 16 in 16..4096
///       T dense 1 1 order 1 0 stored 0 1
///       from 0, 1 / 16, none
///       parameters 2 3
///       limits 100 200
///     }
///
/// The second line has an entry per symbol of the program, then come one line per operand, and the others where they
/// are not empty.
std::string printLaunches(const std::vector<ExportedLaunch>& launches);
/// Errors: Parse, with the place in `file`.
std::vector<ExportedLaunch> parseLaunches(std::string_view text, std::string_view file);

}  // namespace tokamak
