#include "toolchain/c_compiler_probe.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>

#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"
#include "toolchain/cache_entry.h"
#include "toolchain/private_directory.h"
#include "toolchain/program_search.h"
#include "toolchain/zig.h"

namespace tokamak {

namespace {

constexpr size_t kShownLines = 12;

class Questions {
 public:
  Questions(const std::string& program, const std::string& folder, const ProcessLimits& limits)
      : program_(program),
        folder_(folder),
        limits_(limits),
        zig_(program, folder + "/questions.zig"),
        environment_(zig_.environment(compilerEnvironment(folder))) {}

  ProcessResult ask(std::vector<std::string> arguments) const {
    const std::vector<std::string> command = compilerCommand(program_);
    arguments.insert(arguments.begin(), command.begin(), command.end());
    return runProcess(arguments, environment_, limits_);
  }

  std::string answerTo(const std::vector<std::string>& arguments) const {
    const ProcessResult result = ask(arguments);
    TK_REQUIRE(result.isSuccess() && !result.said.empty(), Compile,
               "the C compiler '{}' does not answer like one: asked {}, it {}{}", program_, joined(arguments, " "),
               describeEnd(result, limits_), firstLines(result.said));
    return result.said;
  }

  // Errors: Compile, with what the compiler says of these flags.
  void tellRefusal(std::string_view version, const std::vector<std::string>& flags) const {
    const ProcessResult result = askForMacros(flags);
    TK_RAISE(Compile, "the C compiler '{}' ({}) does not take the flags {}: it {}{}", program_, version,
             joined(flags, " "), describeEnd(result, limits_), firstLines(result.said));
  }

  // Whether flags are taken. Zig wants to make a file, which is removed with the folder.
  bool takes(std::vector<std::string> flags) const {
    flags.insert(flags.end(), {"-O2", "-Werror"});
    if (isZig(program_))
      flags.insert(flags.end(), {"-c", "-o", folder_ + "/flags.o"});
    else
      flags.emplace_back("-fsyntax-only");
    flags.insert(flags.end(), {"-x", "c", "/dev/null"});
    return ask(std::move(flags)).isSuccess();
  }

  // Name and value of each macro that is defined before a file starts; nothing when the flags are not taken.
  std::optional<std::map<std::string, std::string>> macros(const std::vector<std::string>& flags) const {
    const ProcessResult result = askForMacros(flags);
    if (!result.isSuccess()) return std::nullopt;
    std::map<std::string, std::string> macros;
    for (const std::string_view line : linesOf(result.said)) {
      constexpr std::string_view kDefine = "#define ";
      const size_t name_end = line.find(' ', kDefine.size());
      if (!line.starts_with(kDefine) || name_end == std::string::npos) continue;
      macros[std::string(line.substr(kDefine.size(), name_end - kDefine.size()))] = line.substr(name_end + 1);
    }
    return macros;
  }

 private:
  ProcessResult askForMacros(std::vector<std::string> flags) const {
    flags.insert(flags.end(), {"-x", "c", "-E", "-dM", "/dev/null"});
    return ask(std::move(flags));
  }

  std::string program_;
  std::string folder_;
  ProcessLimits limits_;
  ZigCache zig_;
  std::vector<std::string> environment_;
};

// Every operation is rounded by itself and nobody reads errno or exceptions. Loops stay loops: a call of memcpy or
// memset would be one out of the kernel. No warnings: nobody writes this source. No names of files, which change: the
// same source gives the same bytes.
std::vector<std::string> flagsOf(bool is_clang) {
  std::vector<std::string> flags = {"-x",
                                    "c",
                                    "-std=gnu11",
                                    "-O2",
                                    "-w",
                                    "-pipe",
                                    "-fPIC",
                                    "-shared",
                                    "-nostdlib",
                                    "-Wl,-s",
                                    "-ffp-contract=off",
                                    "-fno-math-errno",
                                    "-fno-trapping-math",
                                    "-fno-stack-protector",
                                    "-fno-asynchronous-unwind-tables"};
  if (is_clang) {
    flags.insert(flags.end(), {"-fno-builtin-memcpy", "-fno-builtin-memset"});
  } else {
    // The plugin is for link-time optimisation; loading it costs 2 ms.
    flags.insert(flags.end(), {"-fno-tree-loop-distribute-patterns", "-fno-use-linker-plugin"});
  }
  return flags;
}

// Zig has a linker of its own, and looks for undefined behaviour at -O0, with functions that no kernel has.
std::string linkerFlag(const std::string& program) {
  if (isZig(program)) return "-fno-sanitize=undefined";
  // The plain linker is the quickest for one small file: 2 ms; mold 4, lld 19.
  return findProgram("ld.bfd") ? "-fuse-ld=bfd" : "";
}

// For any processor of the machine's kind. Without flags zig compiles for this one.
std::vector<std::string> plainFlags(const std::string& program) {
  if (isZig(program)) return {"-mcpu=baseline"};
  return {};
}

// What is turned off, each with the words that it takes. Vectorisers, peeling, threading of jumps and copies of loops
// have miscompiled kernels and taken minutes (gcc 12 and 13); vectors are written, so nothing is lost. gcc's second
// elimination of common values (gcse) takes time with the square of a kernel's length and finds little behind the
// first, which asks about 100 stores before a load instead of 1,000; so do its ranges of values (vrp, and what
// dominates a use), which know no more than the kernel's text. A compiler may lack some of them.
using FlagWords = std::vector<std::string>;
std::vector<FlagWords> flagsOff(bool is_clang) {
  if (is_clang) {
    return {{"-fno-vectorize"},
            {"-fno-slp-vectorize"},
            {"-fno-unroll-loops"},
            {"-mllvm", "-unroll-allow-peeling=false"},
            {"-mllvm", "-unroll-full-max-count=0"},
            {"-mllvm", "-jump-threading-threshold=0"},
            {"-mllvm", "-unswitch-threshold=0"}};
  }
  return {{"-fno-tree-vectorize"},
          {"-fno-tree-loop-vectorize"},
          {"-fno-tree-slp-vectorize"},
          {"-fno-thread-jumps"},
          {"-fno-peel-loops"},
          {"-fno-split-loops"},
          {"-fno-unswitch-loops"},
          {"-fno-predictive-commoning"},
          {"-fno-gcse"},
          {"-fno-tree-vrp"},
          {"-fno-tree-dominator-opts"},
          {"-fno-tree-loop-distribution"},
          {"-fno-loop-interchange"},
          {"-fno-loop-unroll-and-jam"},
          {"-fno-version-loops-for-strides"},
          {"--param=sccvn-max-alias-queries-per-access=100"},
          {"--param=max-completely-peel-times=0"},
          {"--param=max-completely-peeled-insns=0"},
          {"--param=max-jump-thread-duplication-stmts=0"}};
}

FlagWords flattened(const std::vector<FlagWords>& flags) {
  FlagWords words;
  for (const FlagWords& each : flags) words.insert(words.end(), each.begin(), each.end());
  return words;
}

// Those that the compiler takes: all of them by one run, as a rule, else each by its own.
FlagWords takenOf(const Questions& questions, const std::vector<FlagWords>& flags) {
  const auto isTaken = [&](const FlagWords& words) { return questions.takes(words); };
  if (isTaken(flattened(flags))) return flattened(flags);
  std::vector<FlagWords> taken;
  std::ranges::copy_if(flags, std::back_inserter(taken), isTaken);
  return flattened(taken);
}

// What the text of vectors calls without asking. gcc has it since 12, clang since 16.
std::vector<std::string_view> neededBuiltins(bool is_clang) {
  std::vector<std::string_view> names = {"__builtin_convertvector", "__builtin_shufflevector"};
  if (is_clang) names.emplace_back("__builtin_elementwise_fma");
  return names;
}

std::vector<std::string> lackingBuiltins(const Questions& questions, bool is_clang, const std::string& folder) {
  constexpr std::string_view kLacking = "lacks ";
  std::string text;
  for (const std::string_view name : neededBuiltins(is_clang))
    text +=
        fmt::format("#if !defined(__has_builtin)\n{0}{1}\n#elif !__has_builtin({1})\n{0}{1}\n#endif\n", kLacking, name);
  const std::string path = folder + "/builtins.c";
  writePrivateFile(path, text);
  const ScopedFile file(path);
  const std::string said = questions.answerTo({"-x", "c", "-E", path});
  std::vector<std::string> lacking;
  for (const std::string_view line : linesOf(said))
    if (line.starts_with(kLacking)) lacking.emplace_back(line.substr(kLacking.size()));
  return lacking;
}

}  // namespace

CCompilerFacts askCCompiler(const std::string& program, const std::string& processor,
                            std::span<const std::string> extra_flags, const std::string& folder,
                            const ProcessLimits& limits) {
  const Questions questions(program, folder, limits);
  CCompilerFacts facts;
  facts.version =
      fmt::format("{}{}", isZig(program) ? "zig cc, " : "", linesOf(questions.answerTo({"--version"})).front());
  facts.machine = linesOf(questions.answerTo({"-dumpmachine"})).front();
  const auto plain = questions.macros(plainFlags(program));
  TK_REQUIRE(plain && (plain->contains("__GNUC__") || plain->contains("__clang__")), Compile,
             "the C compiler '{}' ({}) is neither gcc nor clang", program, facts.version);
  const bool is_clang = plain->contains("__clang__");
  const std::vector<std::string> lacking = lackingBuiltins(questions, is_clang, folder);
  TK_REQUIRE(lacking.empty(), Compile,
             "the C compiler '{}' ({}) is too old for kernels: it lacks {}; gcc 12 and clang 16 or later have all that "
             "they need; TOKAMAK_CC may name another compiler",
             program, facts.version, joined(lacking));
  facts.flags = flagsOf(is_clang);
  if (const std::string flag = linkerFlag(program); !flag.empty()) facts.flags.push_back(flag);
  const FlagWords off = takenOf(questions, flagsOff(is_clang));
  facts.flags.insert(facts.flags.end(), off.begin(), off.end());
  facts.flags.insert(facts.flags.end(), extra_flags.begin(), extra_flags.end());
  std::vector<std::string> all_flags(facts.flags.begin() + 2, facts.flags.end());  // without "-x c"
  all_flags.push_back("-march=" + processorName(program, processor));
  const auto wanted = questions.macros(all_flags);
  TK_REQUIRE(
      wanted || processor == "native", Unsupported,
      "processor '{}': the C compiler '{}' ({}) does not know it; native and its -march names are legal, such as "
      "x86-64-v2, x86-64-v3 and x86-64-v4",
      processor, program, facts.version);
  if (wanted) facts.flags.push_back(all_flags.back());
  if (!wanted) all_flags.pop_back();
  const auto used = wanted ? wanted : questions.macros(all_flags);
  if (!used) questions.tellRefusal(facts.version, all_flags);
  for (const auto& [name, value] : *used) {
    const auto before = plain->find(name);
    if (before != plain->end() && before->second == value) continue;
    facts.macros += fmt::format("{}{}{}", facts.macros.empty() ? "" : " ", name, value == "1" ? "" : "=" + value);
  }
  return facts;
}

std::string flagChoices() {
  return fmt::format("{}\n{} {}\n{} {}\n{} {}", joined(neededBuiltins(true), " "), joined(flagsOf(true), " "),
                     joined(flattened(flagsOff(true)), " "), joined(flagsOf(false), " "),
                     joined(flattened(flagsOff(false)), " "), linkerFlag("cc"), linkerFlag("zig"));
}

std::string textOf(const CCompilerFacts& facts) {
  std::vector<CacheKey::Part> parts = {
      {"version", facts.version}, {"machine", facts.machine}, {"macros", facts.macros}};
  for (const std::string& flag : facts.flags) parts.push_back({"flag", flag});
  return CacheKey(std::move(parts)).text();
}

std::optional<CCompilerFacts> parseFacts(const std::string& text) {
  const std::optional<CacheKey> key = CacheKey::parse(text);
  if (!key) return std::nullopt;
  CCompilerFacts facts;
  facts.version = key->part("version");
  facts.machine = key->part("machine");
  facts.macros = key->part("macros");
  for (const CacheKey::Part& part : key->parts())
    if (part.name == "flag") facts.flags.push_back(part.text);
  return facts;
}

std::vector<std::string> compilerEnvironment(const std::string& folder) {
  std::vector<std::string> result = {"LC_ALL=C", "TMPDIR=" + folder};
  for (const char* const name : {"PATH", "HOME", "LD_LIBRARY_PATH"})
    if (const char* const value = std::getenv(name)) result.push_back(fmt::format("{}={}", name, value));
  return result;
}

std::string firstLines(const std::string& said) {
  std::string result;
  size_t shown = 0;
  for (const std::string_view line : linesOf(said)) {
    if (shown++ == kShownLines) return result + "\n    ...";
    result.append("\n    ").append(line.substr(0, 400));
  }
  return result;
}

}  // namespace tokamak
