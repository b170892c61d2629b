// BoundKernel: the code of a kernel, and what a launch of it at one size is.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/kernel_launch.h"
#include "device/kernel_maker.h"
#include "device/work.h"
#include "jit/kernel_choice.h"
#include "jit/shaped_program.h"
#include "kernel/kernel.h"

namespace tokamak {

/// A lowered program, and what became of it on the device.
struct KernelCode {
  KernelChoice choice;
  std::string reason;  ///< why there was no such code yet
  kir::Kernel kernel;  ///< its parameters come first among its symbols
  std::vector<ShapedProgram::Symbol> symbols;
  std::vector<size_t> parameters;            ///< per parameter of the kernel its number among the program's symbols
  std::shared_ptr<const KernelImage> image;  ///< null: it is not run, or it is interpreted
};

/// Code with everything that a launch at one size passes and has as its geometry.
struct BoundKernel {
  std::shared_ptr<const KernelCode> code;
  ScalarBindings bindings;  ///< of the kernel's symbols, without parameters
  /// As kernel.symbols, each as 8 bytes: the bits of an f64 for floating types, else an i64; 0 for parameters.
  std::vector<int64_t> symbols;
  std::vector<int64_t> extents;   ///< as kernel.dimensions
  std::vector<int64_t> elements;  ///< per tensor of the kernel: how many may be accessed
};

/// Binds everything but `code`. `operands`: the kernel's; `values`: of the program's symbols, nothing for those that
/// are not known and for parameters.
/// Errors: Bind when they do not fit the code.
BoundKernel bindCode(const KernelCode& code, std::span<const OperandDesc> operands,
                     std::span<const std::optional<ScalarValue>> values);

/// What is asked of a program at these sizes before any kernel is bound. Errors: Bind, Schedule.
void requireBindable(const Fusion& program, bool is_scheduled, const ScalarBindings& sizes);

/// The kernels of one program.
/// Thread safety: any threads may ask side by side.
class ProgramKernels {
 public:
  ProgramKernels() = default;
  ProgramKernels(const ProgramKernels&) = delete;
  ProgramKernels& operator=(const ProgramKernels&) = delete;
  virtual ~ProgramKernels() = default;

  /// `operands`: the program's tensor inputs, then its outputs; `values`: of its symbols, as structuralFormOf() numbers
  /// them, nothing for those that are not known and for parameters.
  /// Errors: Schedule or Unsupported when it cannot be one kernel; Bind; of compilers.
  virtual std::shared_ptr<const BoundKernel> bind(std::span<const OperandDesc> operands,
                                                  std::span<const std::optional<ScalarValue>> values) = 0;
  /// All code so far in words, oldest first.
  virtual std::vector<CodeNote> codeNotes() const { return {}; }
  /// In words, of code of this program.
  virtual CodeNote noteOn(const KernelCode& code) const { return {.choice = {}, .reason = code.reason}; }
  /// Of the program that they were made for.
  virtual const std::string& name() const = 0;
};

}  // namespace tokamak
