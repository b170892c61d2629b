// How long a kernel takes from its C text to code that can be called: compiled, from the disk, from memory.
#include <cstdlib>
#include <filesystem>
#include <string>

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"
#include "toolchain/kernel_compiler.h"
#include "toolchain/nvrtc.h"

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

// Milliseconds of processor time that finished child processes took.
double childMilliseconds() {
  rusage usage = {};
  getrusage(RUSAGE_CHILDREN, &usage);
  return 1e3 * static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-3 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

// On a busy machine the processor time of the compiler says more than the clock.
void compileWithoutCache(benchmark::State& state) {
  KernelCompiler compiler({.cache = std::make_shared<KernelCache>()});
  const double before = childMilliseconds();
  for (auto _ : state) benchmark::DoNotOptimize(compiler.compile(pointwiseSource(freshNumber())));
  state.counters["compiler_cpu_ms"] = (childMilliseconds() - before) / static_cast<double>(state.iterations());
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

// A pointwise kernel in CUDA, to a cubin for sm_90a.
std::string cudaSource(int64_t number) {
  return fmt::format(
      R"(extern "C" __global__ void kernel_{0}(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, long n) {{
  const long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < n) {{
    const float x = a[i] * b[i];
    c[i] = x > 0.0f ? fmaf(x, b[i], a[i]) : 0.0f;
  }}
}}
)",
      number);
}

void compileCuda(benchmark::State& state) {
  try {
    NvrtcCompiler compiler;
    benchmark::DoNotOptimize(compiler.compile(cudaSource(freshNumber())));
    for (auto _ : state) benchmark::DoNotOptimize(compiler.compile(cudaSource(freshNumber())));
  } catch (const Error& error) {
    state.SkipWithError(error.what());
  }
}

void loadCubinFromDiskInAFreshCompiler(benchmark::State& state) {
  try {
    const CacheFolder folder;
    const std::string source = cudaSource(0);
    NvrtcCompiler({}, folder.open()).compile(source);
    for (auto _ : state) benchmark::DoNotOptimize(NvrtcCompiler({}, folder.open()).compile(source));
  } catch (const Error& error) {
    state.SkipWithError(error.what());
  }
}

// The median of 20 is the figure.
BENCHMARK(compileWithoutCache)->Iterations(1)->Repetitions(20)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(compileAndKeep)->Iterations(1)->Repetitions(20)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(loadFromDisk)->Iterations(1)->Repetitions(20)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(loadFromDiskInAFreshCompiler)->Iterations(1)->Repetitions(20)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(findInMemory)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(compileCuda)->Iterations(1)->Repetitions(20)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(loadCubinFromDiskInAFreshCompiler)
    ->Iterations(1)
    ->Repetitions(20)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(findTheCompiler)->Iterations(1)->Repetitions(5)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
