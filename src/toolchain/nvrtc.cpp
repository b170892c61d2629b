#include "toolchain/nvrtc.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/profiler_range.h"
#include "base/require.h"
#include "base/text.h"
#include "toolchain/c_compiler_probe.h"
#include "toolchain/program_search.h"

namespace tokamak {

namespace {

constexpr int kInvalidOption = 5;

// Every operation is rounded by itself, as on the CPU: what is to be fused is written as fused.
std::vector<std::string> nvrtcFlags(const NvrtcOptions& options) {
  std::vector<std::string> flags = {"--gpu-architecture=" + options.architecture, "--std=c++17", "--fmad=false",
                                    "--disable-warnings", "--ptxas-options=-v"};
  flags.insert(flags.end(), options.extra_flags.begin(), options.extra_flags.end());
  return flags;
}

class Program {
 public:
  Program(const NvrtcLibrary& library, const std::string& source) : library_(library) {
    status_ = library.create_program(&program_, source.c_str(), "kernel.cu", 0, nullptr, nullptr);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    if (program_ != nullptr) library_.destroy_program(&program_);
  }

  int compile(const std::vector<std::string>& flags) {
    if (status_ != 0) return status_;
    std::vector<const char*> options;
    for (const std::string& flag : flags) options.push_back(flag.c_str());
    return library_.compile_program(program_, static_cast<int>(options.size()), options.data());
  }
  std::string log() const { return textOf(library_.log_size, library_.log); }
  std::string image() const { return textOf(library_.cubin_size, library_.cubin); }

 private:
  using SizeOf = int (*)(NvrtcLibrary::Program, size_t*);
  using Get = int (*)(NvrtcLibrary::Program, char*);

  std::string textOf(SizeOf size_of, Get get) const {
    size_t bytes = 0;
    if (program_ == nullptr || size_of(program_, &bytes) != 0) return {};
    std::string text(bytes, '\0');
    if (get(program_, text.data()) != 0) return {};
    return text;
  }

  const NvrtcLibrary& library_;
  NvrtcLibrary::Program program_ = nullptr;
  int status_ = 0;
};

std::string sentenceOf(const NvrtcLibrary& library, int status) {
  const char* const sentence = library.error_string(status);
  return sentence == nullptr ? fmt::format("error {}", status) : sentence;
}

std::vector<std::string> architecturesOf(const NvrtcLibrary& library) {
  int count = 0;
  if (library.architecture_count(&count) != 0 || count <= 0) return {};
  std::vector<int> numbers(static_cast<size_t>(count));
  if (library.architectures(numbers.data()) != 0) return {};
  std::vector<std::string> names;
  for (const int number : numbers) names.push_back(fmt::format("sm_{}", number));
  return names;
}

bool isKnown(const NvrtcLibrary& library, std::string_view architecture) {
  while (!architecture.empty() && (architecture.back() == 'a' || architecture.back() == 'f'))
    architecture.remove_suffix(1);
  const std::vector<std::string> known = architecturesOf(library);
  return std::ranges::find(known, architecture) != known.end();
}

bool isFile(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

// A log ends with a zero byte that counts.
std::string withoutZeros(std::string text) {
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

std::string textOf(const Cubin& cubin) {
  return CacheKey(std::vector<CacheKey::Part>{{"log", cubin.log}, {"image", cubin.image}}).text();
}

std::optional<Cubin> parseCubin(const std::string& text) {
  const std::optional<CacheKey> parts = CacheKey::parse(text);
  if (!parts || parts->part("image").empty()) return std::nullopt;
  Cubin cubin = {.image = std::string(parts->part("image")), .log = std::string(parts->part("log"))};
  cubin.resources = resourcesIn(cubin.log);
  return cubin;
}

}  // namespace

NvrtcCompiler::NvrtcCompiler(const NvrtcOptions& options, std::shared_ptr<KernelCache> cache)
    : architecture_(options.architecture),
      cache_(cache != nullptr ? std::move(cache) : std::make_shared<KernelCache>()),
      flags_(nvrtcFlags(options)) {
  library_ = NvrtcLibrary::alreadyLoaded();
  const CacheKey key(std::vector<CacheKey::Part>{{"kind", "NVRTC library"}, {"environment", nvrtcEnvironment()}});
  if (!library_ && remember(key)) return;
  if (!library_) library_ = NvrtcLibrary::search();
  identify();
  cache_->store(
      key,
      CacheKey(std::vector<CacheKey::Part>{{"file", file_}, {"identity", identity_}, {"version", version_}}).text());
}

// Loading the library costs more than loading a kernel: 30 ms.
bool NvrtcCompiler::remember(const CacheKey& key) {
  const std::optional<std::string> kept = cache_->find(key);
  const std::optional<CacheKey> facts = kept ? CacheKey::parse(*kept) : std::nullopt;
  if (!facts) return false;
  const std::string file(facts->part("file"));
  if (!isFile(file) || fileIdentity(file) != facts->part("identity")) return false;
  file_ = file;
  identity_ = facts->part("identity");
  version_ = facts->part("version");
  return true;
}

void NvrtcCompiler::identify() {
  int major = 0;
  int minor = 0;
  const int status = library_->version(&major, &minor);
  TK_REQUIRE(status == 0, Unsupported, "NVRTC: {} does not say its version: {}", library_->path,
             sentenceOf(*library_, status));
  file_ = library_->path;
  identity_ = fileIdentity(file_);
  version_ = fmt::format("NVRTC {}.{}", major, minor);
}

const NvrtcLibrary& NvrtcCompiler::library() {
  const std::lock_guard lock(mutex_);
  if (!library_) library_ = NvrtcLibrary::open(file_);
  return *library_;
}

CacheKey NvrtcCompiler::keyOf(std::string_view source) const {
  return CacheKey({{"kind", "CUDA kernel"},
                   {"compiler", fmt::format("{}\n{}", version_, identity_)},
                   {"flags", joined(flags_, " ")},
                   {"target", architecture_},
                   {"source", std::string(source)}});
}

Cubin NvrtcCompiler::compileNow(const std::string& source) {
  static const RangeName range_name("compile CUDA");
  const Range range(range_name);
  const NvrtcLibrary& nvrtc = library();
  Program program(nvrtc, source);
  const int status = program.compile(flags_);
  const std::string log = withoutZeros(program.log());
  // An unknown number is an option that is not taken, an unknown letter behind it a failed compilation.
  const bool knows_architecture =
      (status != kInvalidOption || isKnown(nvrtc, architecture_)) && log.find("--nv_arch") == std::string::npos;
  TK_REQUIRE(knows_architecture, Unsupported,
             "{}: it does not know {}; it knows {}, some of them with a letter: sm_90a", version_, architecture_,
             joined(architecturesOf(nvrtc)));
  TK_REQUIRE(status != kInvalidOption, Unsupported, "{} for {}: it does not take the flags {}{}", version_,
             architecture_, joined(flags_, " "), firstLines(log));
  TK_REQUIRE(status == 0, Compile, "compiling generated CUDA for {} by {}: {}{}", architecture_, version_,
             sentenceOf(nvrtc, status), firstLines(log));
  Cubin cubin = {.image = program.image(), .log = log, .resources = resourcesIn(log)};
  TK_REQUIRE(!cubin.image.empty(), Compile, "compiling generated CUDA for {} by {}: it made no code{}", architecture_,
             version_, firstLines(log));
  return cubin;
}

std::shared_ptr<const Cubin> NvrtcCompiler::compile(const std::string& source) {
  return cubins_.get(source, [&] {
    const auto start = std::chrono::steady_clock::now();
    const CacheKey key = keyOf(source);
    const std::optional<std::string> kept = cache_->find(key);
    std::optional<Cubin> cubin = kept ? parseCubin(*kept) : std::nullopt;
    const bool is_from_disk = cubin.has_value();
    if (!is_from_disk) {
      cubin = compileNow(source);
      cache_->store(key, textOf(*cubin));
    }
    cubin->is_from_disk = is_from_disk;
    cubin->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::make_shared<const Cubin>(std::move(*cubin));
  });
}

}  // namespace tokamak
