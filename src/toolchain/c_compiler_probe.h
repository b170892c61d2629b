// What a C compiler says about itself: version, machine, the features of this processor, the flags it takes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "toolchain/child_process.h"

namespace tokamak {

struct CCompilerFacts {
  std::string version;             ///< the first line of --version
  std::string machine;             ///< -dumpmachine
  std::vector<std::string> flags;  ///< how kernels are compiled
  std::string macros;  ///< names (and values other than 1) of macros that these flags add, in order, by spaces

  bool operator==(const CCompilerFacts&) const = default;
};

/// Asks the compiler: six short runs, and one for each flag where it lacks some. `processor`: as -march takes it;
/// "native" is left out where the compiler does not take it. `folder` takes its temporary files.
/// Errors: Unsupported for a processor that it does not know; Compile when it does not answer like a C compiler, or
/// lacks what kernels are written with.
CCompilerFacts askCCompiler(const std::string& program, const std::string& processor,
                            std::span<const std::string> extra_flags, const std::string& folder,
                            const ProcessLimits& limits);

/// All flags that askCCompiler may choose from, and what it asks for, for the key under which its answers are kept.
std::string flagChoices();

/// Facts as a text of the kernel cache, and back; nothing where the text is another one.
std::string textOf(const CCompilerFacts& facts);
std::optional<CCompilerFacts> parseFacts(const std::string& text);

/// The environment that compilers run in: what they need to find their parts, messages in English, temporary files in
/// `folder`. Nothing that changes what they make.
std::vector<std::string> compilerEnvironment(const std::string& folder);

/// The first lines of what a compiler said, indented.
std::string firstLines(const std::string& said);

}  // namespace tokamak
