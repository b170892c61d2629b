// CompiledBatch: random kernels as one file of C, compiled by any C compiler, run on the data of their programs.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "codegen/source.h"
#include "generator/case_launch.h"
#include "toolchain/kernel_compiler.h"

namespace tokamak::generator {

/// A program that is one kernel, with its data; what the reference says is computed once it is asked for.
struct CompiledCase {
  uint64_t seed = 0;
  Program program;
  std::unique_ptr<Fusion> fusion;
  std::vector<InputData> inputs;
  std::unique_ptr<CaseLaunch> launch;
  KernelSource source;
};

class CompiledBatch {
 public:
  /// `lanes`: of the vectors of f32. Kernels of one text are compiled once.
  void add(CompiledCase each, int lanes);
  size_t size() const { return cases_.size(); }
  size_t texts() const { return sources_.size(); }
  const CompiledCase& at(size_t i) const { return cases_[i]; }
  std::string text() const;

  /// What every case gives, run by the code that the compiler makes of text(); outputs are poisoned before. Errors:
  /// Compile.
  std::vector<std::vector<StoredData>> run(KernelCompiler& compiler) const;

 private:
  std::vector<CompiledCase> cases_;
  std::vector<KernelSource> sources_;
  std::map<std::string, size_t> numbers_;  ///< of sources, by their texts without a number
};

/// Where two runs of one kernel differ: "output 1, byte 12 (f32)"; any NaN equals any NaN. Empty where they do not.
std::string differenceInBits(const std::vector<StoredData>& a, const std::vector<StoredData>& b);

}  // namespace tokamak::generator
