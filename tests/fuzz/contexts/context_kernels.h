// ContextKernels: the CUDA texts of kernels, compiled many to a file by the system's C++ compiler and run as contexts.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "contexts/context_grid.h"
#include "jit/prepared_kernel.h"
#include "kernel/interpreter/kernel_interpreter.h"

namespace tokamak::contexts {

/// The text of a kernel for CUDA with its assembly and its shared declarations in the words of cuda_words.h. Errors:
/// Internal where assembly is left.
std::string contextText(const std::string& cuda);

class ContextKernels {
 public:
  ContextKernels();
  ~ContextKernels();

  /// Adds a kernel; gives its number. `index_type`: of the indices of its text.
  size_t add(const PreparedKernel& prepared, DataType index_type);
  /// Adds a kernel with another text, as textOf gives it.
  size_t add(const PreparedKernel& prepared, DataType index_type, std::string text);
  size_t count() const { return kernels_.size(); }
  /// The CUDA text of a kernel, without the functions that it calls.
  const std::string& textOf(size_t number) const;

  /// Compiles what was added since the last time. Gives the compiler's messages where it fails, else nothing.
  std::optional<std::string> compile();

  /// Runs it in order with early copies, then twice from a seed with late ones. Gives what is wrong, or nothing; then
  /// the buffers have the results.
  std::optional<std::string> run(size_t number, std::span<const KernelBuffer> buffers, uint64_t seed);

 private:
  struct Kernel;
  struct Memory;
  std::optional<std::string> runOnce(const Kernel& kernel, Memory& memory, const GridOrder& order);

  std::string folder_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::vector<void*> libraries_;
  size_t compiled_ = 0;
  int files_ = 0;
};

}  // namespace tokamak::contexts
