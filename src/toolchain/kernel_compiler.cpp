#include "toolchain/kernel_compiler.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/require.h"
#include "base/say.h"
#include "base/side_by_side.h"

namespace tokamak {

namespace {

int64_t processesOf(const KernelCompilerOptions& options) {
  return options.parallel > 0 ? options.parallel : std::max<int64_t>(1, std::thread::hardware_concurrency());
}

class Turn {
 public:
  // Errors: Cancelled.
  Turn(std::counting_semaphore<>& turns, const std::stop_token& stop) : turns_(turns) {
    constexpr std::chrono::milliseconds kBetweenLooks{20};
    while (!turns_.try_acquire_for(kBetweenLooks)) {
      TK_REQUIRE(!stop.stop_requested(), Cancelled, "compiling generated C: nobody waits for it any more");
    }
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() { turns_.release(); }

 private:
  std::counting_semaphore<>& turns_;
};

}  // namespace

KernelCompiler::KernelCompiler(const KernelCompilerOptions& options)
    : cache_(options.cache != nullptr ? options.cache : KernelCache::openDefault()),
      compiler_(options.compiler, cache_.get()),
      parallel_(processesOf(options)),
      processes_(parallel_) {}

std::shared_ptr<const SharedObject> KernelCompiler::load(std::string_view image, const std::string& entry) const {
  std::shared_ptr<const SharedObject> object = SharedObject::load(image, compiler_.folder());
  if (!entry.empty()) object->symbol(entry.c_str());
  return object;
}

std::shared_ptr<const SharedObject> KernelCompiler::loadFromDisk(const CacheKey& key, const std::string& entry) const {
  const std::optional<std::string> image = cache_->find(key);
  if (!image) return nullptr;
  try {
    return load(*image, entry);
  } catch (const Error& error) {
    // What was loaded when it was kept may need a library that is gone; it is compiled again.
    if (error.code() == ErrorCode::Compile) return nullptr;
    throw;
  }
}

std::shared_ptr<const SharedObject> KernelCompiler::loadOrKeepSource(std::string_view image, std::string_view source,
                                                                     const std::string& entry) const {
  try {
    return load(image, entry);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Compile) throw;
    TK_RAISE(Compile, "{}; it was made by {}, and the source is kept in {}", error.message(), compiler_.program(),
             compiler_.keepSource(source));
  }
}

std::shared_ptr<const SharedObject> KernelCompiler::loadOrCompile(const CacheKey& key, const std::string& entry,
                                                                  const std::stop_token& stop, bool* is_from_disk) {
  const std::string_view source = key.part("source");
  const CacheKey slow_key = compiler_.keyOf(source, CompileLevel::Lowest);
  for (const CacheKey* known : {&key, &slow_key}) {
    std::shared_ptr<const SharedObject> kept = loadFromDisk(*known, entry);
    if (kept == nullptr) continue;
    ++from_disk_;
    if (is_from_disk != nullptr) *is_from_disk = true;
    return kept;
  }
  const auto [image, level] = compileImage(source, stop);
  ++compiled_;
  std::shared_ptr<const SharedObject> object = loadOrKeepSource(image, source, entry);
  // Kept only now: what cannot be loaded here would be tried again by everybody.
  cache_->store(level == CompileLevel::Usual ? key : slow_key, image);
  return object;
}

KernelCompiler::Image KernelCompiler::compileImage(std::string_view source, const std::stop_token& stop) {
  const Turn turn(processes_, stop);
  const auto lines = std::ranges::count(source, '\n');
  if (compiler_.isLarge(source)) {
    say("a kernel of {} lines is compiled without optimisation, which would take too long", lines);
    return {compiler_.compile(source, CompileLevel::Lowest, stop), CompileLevel::Lowest};
  }
  CCompiler::FirstTry first = compiler_.tryToCompile(source, stop);
  if (first.image) return {std::move(*first.image), CompileLevel::Usual};
  Image image = {compiler_.compile(source, CompileLevel::Lowest, stop), CompileLevel::Lowest};
  say("a kernel of {} lines {}; it was compiled without optimisation", lines, first.why_not);
  return image;
}

std::string KernelCompiler::imageOf(const std::string& source) {
  const CacheKey key = compiler_.keyOf(source);
  if (std::optional<std::string> kept = cache_->find(key); kept && faultOfImage(*kept).empty()) {
    ++from_disk_;
    return *std::move(kept);
  }
  auto [image, level] = compileImage(source, {});
  ++compiled_;
  cache_->store(level == CompileLevel::Usual ? key : compiler_.keyOf(source, CompileLevel::Lowest), image);
  return std::move(image);
}

std::shared_ptr<const SharedObject> KernelCompiler::compile(const std::string& source, const std::string& entry,
                                                            const std::stop_token& stop, bool* is_from_disk) {
  while (true) {
    try {
      // The compiler and its flags are the same for all: the source is the key in memory.
      return objects_.get(source, [&] { return loadOrCompile(compiler_.keyOf(source), entry, stop, is_from_disk); });
    } catch (const Error& error) {
      // Another one, who compiled it for both, gave up.
      if (error.code() != ErrorCode::Cancelled || stop.stop_requested()) throw;
    }
  }
}

std::vector<std::shared_ptr<const SharedObject>> KernelCompiler::compileAll(std::span<const std::string> sources) {
  std::vector<std::shared_ptr<const SharedObject>> objects(sources.size());
  forEachSideBySide(sources.size(), parallel_, [&](size_t i) { objects[i] = compile(sources[i]); });
  return objects;
}

}  // namespace tokamak
