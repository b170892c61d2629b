#include "runtime/compile/c_compiler_probe.h"

#include <cstdlib>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/text.h"
#include "runtime/compile/cache_entry.h"
#include "runtime/compile/program_search.h"

namespace tokamak {

namespace {

constexpr size_t kShownLines = 12;

class Questions {
 public:
  Questions(const std::string& program, const std::string& folder, const ProcessLimits& limits)
      : program_(program), environment_(compilerEnvironment(folder)), limits_(limits) {}

  ProcessResult ask(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), program_);
    return runProcess(arguments, environment_, limits_);
  }

  std::string answerTo(const std::vector<std::string>& arguments) const {
    const ProcessResult result = ask(arguments);
    TK_REQUIRE(result.isSuccess() && !result.said.empty(), Compile,
               "the C compiler '{}' does not answer like one: asked {}, it {}{}", program_, fmt::join(arguments, " "),
               describeEnd(result, limits_), firstLines(result.said));
    return result.said;
  }

  // Name and value of each macro that is defined before a file starts; nothing when the flags are not taken.
  std::optional<std::map<std::string, std::string>> macros(std::vector<std::string> flags) const {
    flags.insert(flags.end(), {"-x", "c", "-E", "-dM", "/dev/null"});
    const ProcessResult result = ask(flags);
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
  std::string program_;
  std::vector<std::string> environment_;
  ProcessLimits limits_;
};

// Every operation is rounded by itself and nobody reads errno or exceptions, so that loops vectorise. Loops stay loops: a call
// of memcpy or memset would be one out of the kernel. No warnings: nobody writes this source.
std::vector<std::string> flagsOf(bool is_clang) {
  std::vector<std::string> flags = {"-x",
                                    "c",
                                    "-std=gnu11",
                                    "-O3",
                                    "-w",
                                    "-pipe",
                                    "-fPIC",
                                    "-shared",
                                    "-nostdlib",
                                    "-ffp-contract=off",
                                    "-fno-math-errno",
                                    "-fno-trapping-math",
                                    "-fno-stack-protector",
                                    "-fno-asynchronous-unwind-tables"};
  if (is_clang) {
    flags.insert(flags.end(), {"-fno-builtin-memcpy", "-fno-builtin-memset"});
  } else {
    // gcc 13 carries what one turn stores over to another one in registers, and writes what it had read of elements that are not the loop's: another thread
    // may have written them in the meantime. And it takes loops apart by whether a value is a number (x != x) again and again, until memory is exhausted.
    flags.insert(flags.end(), {"-fno-predictive-commoning", "-fno-unswitch-loops"});
    // The plugin is for link-time optimisation; loading it costs 2 ms.
    flags.insert(flags.end(), {"-fno-tree-loop-distribute-patterns", "-fno-use-linker-plugin"});
  }
  // The plain linker is the quickest for one small file: 2 ms; mold 4, lld 19.
  if (findProgram("ld.bfd")) flags.emplace_back("-fuse-ld=bfd");
  return flags;
}

}  // namespace

CCompilerFacts askCCompiler(const std::string& program, std::span<const std::string> extra_flags,
                            const std::string& folder, const ProcessLimits& limits) {
  const Questions questions(program, folder, limits);
  CCompilerFacts facts;
  facts.version = linesOf(questions.answerTo({"--version"})).front();
  facts.machine = linesOf(questions.answerTo({"-dumpmachine"})).front();
  const auto plain = questions.macros({});
  TK_REQUIRE(plain && (plain->contains("__GNUC__") || plain->contains("__clang__")), Compile,
             "the C compiler '{}' ({}) is neither gcc nor clang", program, facts.version);
  facts.flags = flagsOf(plain->contains("__clang__"));
  facts.flags.insert(facts.flags.end(), extra_flags.begin(), extra_flags.end());
  std::vector<std::string> native_flags(facts.flags.begin() + 2, facts.flags.end());  // without "-x c"
  native_flags.emplace_back("-march=native");
  const auto native = questions.macros(native_flags);
  if (native) facts.flags.emplace_back("-march=native");
  if (!native) native_flags.pop_back();
  const auto used = native ? native : questions.macros(native_flags);
  TK_REQUIRE(used, Compile, "the C compiler '{}' ({}) does not take the flags {}", program, facts.version,
             fmt::join(native_flags, " "));
  for (const auto& [name, value] : *used) {
    const auto before = plain->find(name);
    if (before != plain->end() && before->second == value) continue;
    facts.macros += fmt::format("{}{}{}", facts.macros.empty() ? "" : " ", name, value == "1" ? "" : "=" + value);
  }
  return facts;
}

std::string flagChoices() {
  return fmt::format("{}\n{}", fmt::join(flagsOf(true), " "), fmt::join(flagsOf(false), " "));
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
