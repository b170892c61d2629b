// How long a kernel takes from its C text to code that can be called: compiled, from the disk, from memory.
#include <cstdlib>
#include <filesystem>
#include <string>

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include "runtime/compile/kernel_compiler.h"

namespace {

using namespace tokamak;

// A pointwise kernel; `number` makes it one that was never compiled.
std::string pointwiseSource(int64_t number) {
  return fmt::format(R"(// kernel {0}
void kernel_{0}(const float* restrict a, const float* restrict b, float* restrict c, long n) {{
  for (long i = 0; i < n; ++i) {{
    const float x = a[i] * b[i];
    c[i] = x > 0.0f ? __builtin_fmaf(x, b[i], a[i]) : 0.0f;
  }}
}}
)",
                     number);
}

int64_t freshNumber() {
  static int64_t number = 0;
  return ++number;
}

class CacheFolder {
 public:
  CacheFolder() : path_(fmt::format("/tmp/tokamak-bench-{}", getpid())) {}
  CacheFolder(const CacheFolder&) = delete;
  CacheFolder& operator=(const CacheFolder&) = delete;
  ~CacheFolder() { std::filesystem::remove_all(path_); }
  std::shared_ptr<KernelCache> open() const { return std::make_shared<KernelCache>(path_); }

 private:
  std::string path_;
};

void compileWithoutCache(benchmark::State& state) {
  KernelCompiler compiler({.cache = std::make_shared<KernelCache>()});
  for (auto _ : state) benchmark::DoNotOptimize(compiler.compile(pointwiseSource(freshNumber())));
}

void compileAndKeep(benchmark::State& state) {
  const CacheFolder folder;
  KernelCompiler compiler({.cache = folder.open()});
  for (auto _ : state) benchmark::DoNotOptimize(compiler.compile(pointwiseSource(freshNumber())));
}

void loadFromDisk(benchmark::State& state) {
  const CacheFolder folder;
  KernelCompiler compiler({.cache = folder.open()});
  const std::string source = pointwiseSource(0);
  compiler.compile(source);
  for (auto _ : state) benchmark::DoNotOptimize(compiler.compile(source));
  if (compiler.counts().compiled != 1) state.SkipWithError("the kernel was compiled again");
}

// What the first kernel of a process costs: the compiler is found and identified, too.
void loadFromDiskInAFreshCompiler(benchmark::State& state) {
  const CacheFolder folder;
  const std::string source = pointwiseSource(0);
  KernelCompiler({.cache = folder.open()}).compile(source);
  for (auto _ : state) {
    KernelCompiler compiler({.cache = folder.open()});
    benchmark::DoNotOptimize(compiler.compile(source));
    if (compiler.counts().compiled != 0) state.SkipWithError("the kernel was compiled again");
  }
}

void findInMemory(benchmark::State& state) {
  KernelCompiler compiler({.cache = std::make_shared<KernelCache>()});
  const std::string source = pointwiseSource(0);
  const auto held = compiler.compile(source);
  for (auto _ : state) benchmark::DoNotOptimize(compiler.compile(source));
}

void findTheCompiler(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(CCompiler().version());
}

// The median of 20 is the figure.
BENCHMARK(compileWithoutCache)->Iterations(1)->Repetitions(20)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(compileAndKeep)->Iterations(1)->Repetitions(20)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(loadFromDisk)->Iterations(1)->Repetitions(20)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(loadFromDiskInAFreshCompiler)->Iterations(1)->Repetitions(20)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(findInMemory)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(findTheCompiler)->Iterations(1)->Repetitions(5)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
