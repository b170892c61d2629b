// What a user of exportProgram() and loadProgram() may choose.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compile/compile_options.h"

namespace tokamak {

/// The sizes of an extent that a program is exported for.
class ExportedExtent {
 public:
  /// These sizes, each a constant of its kernels, which are the fastest ones.
  ExportedExtent(std::initializer_list<int64_t> sizes) : sizes_(sizes) {}
  explicit ExportedExtent(std::vector<int64_t> sizes) : sizes_(std::move(sizes)) {}
  /// All sizes from `least` to `most`, for which kernels do not know the extent.
  static ExportedExtent range(int64_t least, int64_t most) {
    ExportedExtent extent({least, most});
    extent.is_range_ = true;
    return extent;
  }

  bool isRange() const { return is_range_; }
  /// Those that are listed, or the ends of the range.
  const std::vector<int64_t>& sizes() const { return sizes_; }

 private:
  std::vector<int64_t> sizes_;
  bool is_range_ = false;
};

struct ExportOptions {
  /// Of every extent that an input has, by name.
  std::map<std::string, ExportedExtent> sizes;
  /// What the code is for: "native" (processors with all that this one has), or what -march of the C compiler takes,
  /// such as "x86-64-v3". The loader takes the first that its processor can run.
  std::vector<std::string> processors = {"native"};
  /// The GPUs that code is for beside these, by architecture: "sm_90a" (docs/exported_programs.md says which run it).
  std::vector<std::string> gpus;
  /// Threads that kernels of processors are cut for; 0: as many as processors here. Any number may run them.
  int64_t threads = 0;
  OutputViews output_views = OutputViews::Give;
  OutputLayouts output_layouts = OutputLayouts::Inferred;
};

/// What an exported file has.
struct ExportReport {
  std::string target;    ///< the processor or GPU
  int64_t kernels = 0;   ///< whose code is there
  int64_t launches = 0;  ///< what they fit, each a set of sizes and layouts
  int64_t code_bytes = 0;
};

struct LoadOptions {
  /// Of those only what concerns runs: streams, plans, calls in flight, the allocator of outputs.
  CompileOptions run;
  /// Takes a file that belongs to another user, or that others may write to. It is code: whoever can write it decides
  /// what this process does.
  bool trusts_any_owner = false;
  /// What the file has no kernel for is compiled, as compile() does.
  bool compiles = false;
};

}  // namespace tokamak
