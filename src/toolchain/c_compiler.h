// CCompiler: the machine's C compiler, found and asked about itself once; makes shared objects from C source without
// headers.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "toolchain/cache_entry.h"
#include "toolchain/child_process.h"
#include "toolchain/kernel_cache.h"
#include "toolchain/private_directory.h"

namespace tokamak {

struct CCompilerOptions {
  std::string program;  ///< a path or a name in $PATH; empty: $TOKAMAK_CC, else the first of cc, gcc, clang
  std::string processor = "native";      ///< that code is for: native, x86-64-v3, ...; as -march takes it
  std::vector<std::string> extra_flags;  ///< behind all others, e.g. "-fsanitize=thread"
  ProcessLimits limits;                  ///< of each compilation
  std::chrono::seconds slow{3};          ///< of processor time: what takes longer is compiled at the lowest level
  size_t large = size_t{1} << 19;        ///< bytes of a source: a larger one is compiled at the lowest level at once
};

/// How much a source is optimised.
enum class CompileLevel : uint8_t { Usual, Lowest };

/// What generated C may use, as the compiler says for this machine and these flags.
struct CTarget {
  std::string machine;        ///< "x86_64-linux-gnu"
  std::string features;       ///< what -march adds, as macros: "__AVX2__ __FMA__ ..."; part of the key
  bool has_fma = false;       ///< __builtin_fma is one instruction
  bool has_f16c = false;      ///< conversions from and to _Float16 are instructions
  int64_t vector_bytes = 16;  ///< width of the widest vector registers
};

/// Why CCompiler would find no program; empty where it finds one. Looks into folders and starts nothing.
std::string reasonForNoCCompiler(const CCompilerOptions& options = {});

/// The machine's C compiler.
/// Thread safety: does not change once it is made: any threads may compile side by side.
class CCompiler {
 public:
  /// Finds the compiler and asks what it is; the answers are kept in `cache` under the identities of compiler and
  /// processor.
  /// Errors: Unsupported when there is no compiler (the message lists what was looked for); Compile when it does not
  /// work.
  explicit CCompiler(const CCompilerOptions& options = {}, KernelCache* cache = nullptr);

  const std::string& program() const { return program_; }
  /// "cc (Debian 12.2.0-14) 12.2.0": the first line that the compiler says about its version.
  const std::string& version() const { return version_; }
  const std::vector<std::string>& flags() const { return flags_; }
  const CTarget& target() const { return target_; }

  /// Everything that the compiled code of `source` depends on.
  CacheKey keyOf(std::string_view source, CompileLevel level = CompileLevel::Usual) const;

  /// The image of a shared object. May be called from many threads at once; each call is a process of its own.
  /// Errors: Compile with the compiler's first lines and the file that keeps the source, when it refuses the source,
  /// crashes, takes longer or more memory than the limits allow, or makes no file; Io; Cancelled when `stop` asks for
  /// it, which kills the process.
  std::string compile(std::string_view source, CompileLevel level = CompileLevel::Usual,
                      const std::stop_token& stop = {}) const;
  /// Whether a source is larger than CCompilerOptions::large: gcc 12 takes 4 to 14 s for 600 kB, 0.5 to 1.4 s at the
  /// lowest level.
  bool isLarge(std::string_view source) const { return source.size() > large_; }
  /// What became of a source at the usual level: its image, or why it is to be tried at the lowest one.
  struct FirstTry {
    std::optional<std::string> image;
    std::string why_not;  ///< "took /usr/bin/cc more than 5 s", "makes /usr/bin/cc fail (exited with code 1: ...)"
  };
  /// compile() at the usual level, where what takes more processor time than CCompilerOptions::slow, and what the
  /// compiler ends itself, is no error yet: optimisers have faults that no source can foresee.
  FirstTry tryToCompile(std::string_view source, const std::stop_token& stop = {}) const;

  /// An object file of this machine with `bytes` as the constant array `symbol`, and their number as the constant
  /// `symbol`_size of 64 bits. Errors: Compile, Io.
  std::string embed(std::string_view bytes, const std::string& symbol) const;

  /// Writes a source into a file that outlives this process, for a message that names it.
  std::string keepSource(std::string_view source) const;

  /// Where images are put to be loaded.
  PrivateDirectory& folder() const { return *folder_; }

 private:
  struct Attempt {
    ProcessResult result;
    std::optional<std::string> image;
    std::string why_no_image;
  };
  static std::string complaintOf(const ProcessResult& result);
  std::string imageOf(const Attempt& attempt, ScopedFile& text) const;
  Attempt attempt(const std::string& text_path, CompileLevel level, const ProcessLimits& limits,
                  const std::stop_token& stop) const;

  std::string program_;
  std::string identity_;
  std::string version_;
  std::vector<std::string> flags_;
  CTarget target_;
  ProcessLimits limits_;
  std::chrono::seconds slow_;
  size_t large_;
  std::shared_ptr<PrivateDirectory> folder_;
};

}  // namespace tokamak
