#include "toolchain/c_compiler.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "base/profiler_range.h"
#include "base/require.h"
#include "base/text.h"
#include "toolchain/c_compiler_probe.h"
#include "toolchain/program_search.h"
#include "toolchain/shared_object.h"
#include "toolchain/zig.h"

namespace tokamak {

namespace {

constexpr std::string_view kLowest = "-O0";
constexpr std::array kUsualNames = {"cc", "gcc", "clang"};

std::string findCCompiler(const std::string& asked) {
  std::string name = asked;
  if (const char* const variable = std::getenv("TOKAMAK_CC"); name.empty() && variable != nullptr) name = variable;
  if (!name.empty()) {
    const std::optional<std::string> program = findProgram(name);
    TK_REQUIRE(program, Unsupported,
               "C compiler: '{}' is no program that can be run (TOKAMAK_CC takes a path or a name)", name);
    return *program;
  }
  for (const char* const usual : kUsualNames)
    if (const std::optional<std::string> program = findProgram(usual)) return *program;
  const char* const path = std::getenv("PATH");
  TK_RAISE(Unsupported, "no C compiler: none of {} is in PATH ({}); TOKAMAK_CC may name one", joined(kUsualNames),
           path == nullptr ? "which is not set" : path);
}

CCompilerFacts factsOf(const std::string& program, const CCompilerOptions& options, const std::string& identity,
                       KernelCache* cache, const std::string& folder) {
  const CacheKey key(
      {{"kind", "C compiler"},
       {"compiler", identity},
       {"processor", processorIdentity()},
       {"environment", joined(compilerEnvironment({}), "\n")},
       {"flags", fmt::format("{}\n{}\n{}", flagChoices(), joined(options.extra_flags, " "), options.processor)}});
  if (cache != nullptr) {
    const std::optional<std::string> kept = cache->find(key);
    std::optional<CCompilerFacts> facts = kept ? parseFacts(*kept) : std::nullopt;
    if (facts) return std::move(*facts);
  }
  CCompilerFacts facts = askCCompiler(program, options.processor, options.extra_flags, folder, options.limits);
  if (cache != nullptr) cache->store(key, textOf(facts));
  return facts;
}

CTarget targetOf(const CCompilerFacts& facts) {
  const auto has = [&](std::string_view macro) {
    const std::string spaced = fmt::format(" {} ", facts.macros);
    return spaced.find(fmt::format(" {} ", macro)) != std::string::npos ||
           spaced.find(fmt::format(" {}=", macro)) != std::string::npos;
  };
  CTarget target = {.machine = facts.machine, .features = facts.macros};
  const bool is_arm = facts.machine.starts_with("aarch64");
  target.has_fma = is_arm || has("__FMA__");
  target.has_f16c = is_arm || has("__F16C__");
  target.vector_bytes = has("__AVX512F__") ? 64 : has("__AVX__") ? 32 : 16;
  return target;
}

// The file's bytes, or nothing when there is no such file.
std::optional<std::string> fileContents(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status = {};
  std::string bytes;
  const bool is_read = file.isOpen() && fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
                       readAll(file.get(), static_cast<size_t>(status.st_size), bytes);
  return is_read ? std::optional(std::move(bytes)) : std::nullopt;
}

}  // namespace

std::string reasonForNoCCompiler(const CCompilerOptions& options) {
  try {
    findCCompiler(options.program);
    return "";
  } catch (const Error& error) {
    return error.message();
  }
}

CCompiler::CCompiler(const CCompilerOptions& options, KernelCache* cache)
    : program_(findCCompiler(options.program)),
      identity_(fileIdentity(program_)),
      limits_(options.limits),
      slow_(options.slow),
      large_(options.large),
      folder_(std::make_shared<PrivateDirectory>()) {
  const CCompilerFacts facts = factsOf(program_, options, identity_, cache, folder_->path());
  version_ = facts.version;
  flags_ = facts.flags;
  target_ = targetOf(facts);
}

CacheKey CCompiler::keyOf(std::string_view source, CompileLevel level) const {
  const std::string_view lowest = level == CompileLevel::Lowest ? kLowest : "";
  return CacheKey({{"kind", "C kernel"},
                   {"compiler", fmt::format("{}\n{}", version_, identity_)},
                   {"flags", fmt::format("{} {}", joined(flags_, " "), lowest)},
                   {"target", fmt::format("{} {}", target_.machine, target_.features)},
                   {"source", std::string(source)}});
}

std::string CCompiler::keepSource(std::string_view source) const {
  std::string path = folder_->freshPath(".c");
  writePrivateFile(path, source);
  folder_->keep();
  return path;
}

CCompiler::Attempt CCompiler::attempt(const std::string& text_path, CompileLevel level, const ProcessLimits& limits,
                                      const std::stop_token& stop) const {
  static const RangeName range_name("compile C");
  const Range range(range_name);
  const ScopedFile image(folder_->freshPath(".so"));
  const ZigCache zig(program_, folder_->freshPath(".zig"));
  std::vector<std::string> arguments = compilerCommand(program_);
  arguments.insert(arguments.end(), flags_.begin(), flags_.end());
  if (level == CompileLevel::Lowest) arguments.emplace_back(kLowest);  // the last level counts
  arguments.insert(arguments.end(), {"-o", image.path(), text_path});
  Attempt attempt = {
      .result = runProcess(arguments, zig.environment(compilerEnvironment(folder_->path())), limits, stop),
      .image = {},
      .why_no_image = {}};
  TK_REQUIRE(attempt.result.end != ProcessEnd::Cancelled, Cancelled, "compiling generated C: {} {}", program_,
             describeEnd(attempt.result, limits));
  if (!attempt.result.isSuccess()) return attempt;
  attempt.image = fileContents(image.path());
  struct stat status = {};
  const bool is_there = lstat(image.path().c_str(), &status) == 0;
  if (!attempt.image) attempt.why_no_image = is_there ? "it made a link, a folder or a FIFO" : "it made no file";
  return attempt;
}

// Its first line that speaks of an error: ": ...".
std::string CCompiler::complaintOf(const ProcessResult& result) {
  const size_t error = result.said.find("error: ");
  if (error == std::string::npos) return {};
  return ": " + result.said.substr(error, result.said.find('\n', error) - error);
}

// The image, or the error that says what is wrong with it; then the source is kept.
std::string CCompiler::imageOf(const Attempt& attempt, ScopedFile& text) const {
  const auto& [result, image, why_no_image] = attempt;
  const std::string fault = image ? faultOfImage(*image) : why_no_image;
  if (image && fault.empty()) return *image;
  text.keep();
  folder_->keep();
  TK_REQUIRE(result.isSuccess(), Compile, "compiling generated C: {} {}; the source is kept in {}{}", program_,
             describeEnd(result, limits_), text.path(), firstLines(result.said));
  TK_RAISE(Compile, "compiling generated C: what {} made is no shared object: {}; the source is kept in {}{}", program_,
           fault, text.path(), firstLines(result.said));
}

CCompiler::FirstTry CCompiler::tryToCompile(std::string_view source, const std::stop_token& stop) const {
  ScopedFile text(folder_->freshPath(".c"));
  writePrivateFile(text.path(), source);
  ProcessLimits limits = limits_;
  limits.processor_time = slow_;
  const Attempt attempt = this->attempt(text.path(), CompileLevel::Usual, limits, stop);
  const ProcessResult& result = attempt.result;
  // What was killed for it has used less as the system counts in the end: by milliseconds, or by a tenth and more where
  // the machine is a busy virtual one.
  if (!result.isSuccess() && result.processor_time >= slow_ / 2.0)
    return {.image = {}, .why_not = fmt::format("took {} more than {} s", program_, slow_.count())};
  const bool has_failed = result.end == ProcessEnd::Exited && result.code != 0;
  if (has_failed || result.end == ProcessEnd::Signalled)
    return {.image = {},
            .why_not = fmt::format("makes {} fail ({}{})", program_, describeEnd(result, limits), complaintOf(result))};
  return {.image = imageOf(attempt, text), .why_not = {}};
}

std::string CCompiler::embed(std::string_view bytes, const std::string& symbol) const {
  const ScopedFile contents(folder_->freshPath(".bin"));
  writePrivateFile(contents.path(), bytes);
  const ScopedFile text(folder_->freshPath(".s"));
  std::string quoted_path;
  for (const char c : contents.path()) {
    if (c == '"' || c == '\\') quoted_path += '\\';
    quoted_path += c;
  }
  writePrivateFile(text.path(), fmt::format(R"(.file "{0}"
.section .rodata
.globl {0}
.balign 64
{0}:
.incbin "{1}"
.globl {0}_size
.balign 8
{0}_size:
.quad {2}
.section .note.GNU-stack,"",%progbits
)",
                                            symbol, quoted_path, bytes.size()));
  const ScopedFile object(folder_->freshPath(".o"));
  const ZigCache zig(program_, folder_->freshPath(".zig"));
  std::vector<std::string> arguments = compilerCommand(program_);
  arguments.insert(arguments.end(), {"-x", "assembler", "-c", "-o", object.path(), text.path()});
  const ProcessResult result = runProcess(arguments, zig.environment(compilerEnvironment(folder_->path())), limits_);
  const std::optional<std::string> made = result.isSuccess() ? fileContents(object.path()) : std::nullopt;
  TK_REQUIRE(made, Compile, "embedding {} bytes: {} {}{}", bytes.size(), program_, describeEnd(result, limits_),
             firstLines(result.said));
  return *made;
}

std::string CCompiler::compile(std::string_view source, CompileLevel level, const std::stop_token& stop) const {
  ScopedFile text(folder_->freshPath(".c"));
  writePrivateFile(text.path(), source);
  return imageOf(attempt(text.path(), level, limits_, stop), text);
}

}  // namespace tokamak
