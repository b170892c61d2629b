// How long a fusion of the memory-bound suite takes from its definition to kernels on the GPU: the first time, and from
// the disk cache.
//
//   bench_gpu_compile [--json FILE] [--suite benchmarks/suite_cases.txt] [--programs examples/suite]
//
// Each program at the sizes of its first case. Both times are those of a device that has made one small kernel, so that
// the compiler is loaded: from the fusion to a plan whose kernels can be launched (passes, schedule, lowering, NVRTC or
// the disk, the driver's loading). Every first time has a cache folder of its own that is empty; the second, a median
// of three, has that folder, and nothing in memory.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "gpu_program.h"
#include "jit/jit_device.h"

namespace tokamak {
namespace {

struct Program {
  std::string name;
  std::map<std::string, int64_t> sizes;
};

// The first case of every program. Words after it are extents, or the bytes that a case moves.
std::vector<Program> readSuite(const std::string& file) {
  std::ifstream in(file);
  TK_REQUIRE(in.good(), Usage, "'{}' cannot be read", file);
  std::vector<Program> programs;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string label;
    Program program;
    if (!(words >> label >> program.name) || label.starts_with("#")) continue;
    for (std::string word; words >> word;)
      program.sizes[word.substr(0, word.find('='))] = std::atoll(word.c_str() + word.find('=') + 1);
    if (std::ranges::find(programs, program.name, &Program::name) == programs.end()) programs.push_back(program);
  }
  return programs;
}

std::string readText(const std::string& file) {
  std::ifstream in(file);
  TK_REQUIRE(in.good(), Usage, "'{}' cannot be read", file);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Milliseconds from a fusion to its plan.
double planTime(CudaDevice& device, const std::string& text, const std::map<std::string, int64_t>& sizes) {
  const std::shared_ptr<Stream> stream = device.createStream();
  const auto fusion = parseFusion(text, "program", {.resolver = &definingResolver()});
  ScalarBindings bindings;
  for (const auto& [symbol, size] : fusion->defaultSizes()) bindings[symbol] = size;
  for (Scalar* symbol : fusion->allSymbols())
    if (const auto found = sizes.find(symbol->name()); found != sizes.end()) bindings[symbol] = found->second;
  std::vector<RunValue> inputs;
  for (Val* input : fusion->inputs()) {
    if (const TensorView* tensor = asTensor(input))
      inputs.emplace_back(
          Tensor::empty(device, stream, tensor->dtype(), sizesOf(*tensor, bindings), MemoryKind::Device));
    else
      inputs.emplace_back(convertValue(int64_t{1}, input->dtype()));
  }
  const auto start = std::chrono::steady_clock::now();
  std::unique_ptr<HostIrContainer> program =
      lowerToHostProgram(*fusion, {.target = device.kernelTarget(), .output_views = OutputViews::Copy});
  std::vector<std::pair<Val*, RunValue>> values;
  for (size_t i = 0; i < inputs.size(); ++i) values.emplace_back(program->inputs()[i], inputs[i]);
  for (Scalar* symbol : program->allSymbols()) {
    for (const auto& [known, value] : bindings)
      if (known->name() == symbol->name() && !symbol->name().empty() && !program->isInput(symbol))
        values.emplace_back(symbol, value);
  }
  HostIrEvaluator evaluator(std::move(program), device, {.segments = SegmentMode::Kernels});
  evaluator.planFor(values);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  return took.count();
}

double timeOnFreshDevice(const Program& program, const std::string& text) {
  JitCudaDevice device(0);
  planTime(device, "fusion any(T0: f32[4]) -> T1 { T1 = neg(T0) }", {});
  return planTime(device, text, program.sizes);
}

double medianOf(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

int run(int count, char** arguments) {
  const std::string suite = argumentOf(count, arguments, "--suite", "benchmarks/suite_cases.txt");
  const std::string folder = argumentOf(count, arguments, "--programs", "examples/suite");
  const JitCudaDevice kept(0);  // the driver's context stays
  const std::string cache =
      fmt::format("{}/tokamak-gpu-compile-{}", std::filesystem::temp_directory_path().string(), getpid());
  std::vector<double> cold;
  std::vector<double> disk;
  std::string rows;
  int failed = 0;
  for (const Program& program : readSuite(suite)) {
    std::filesystem::remove_all(cache);
    setenv("TOKAMAK_CACHE_DIR", cache.c_str(), 1);
    try {
      const std::string text = readText(fmt::format("{}/{}.fusion", folder, program.name));
      cold.push_back(timeOnFreshDevice(program, text));
      std::vector<double> again(3);
      for (double& one : again) one = timeOnFreshDevice(program, text);
      disk.push_back(medianOf(again));
    } catch (const Error& error) {
      ++failed;
      std::fprintf(stderr, "%s: %s\n", program.name.c_str(), error.what());
      continue;
    }
    rows += fmt::format("{}\n  \"{}\": {{\"cold_ms\": {:.2f}, \"disk_ms\": {:.2f}}}", rows.empty() ? "" : ",",
                        program.name, cold.back(), disk.back());
    writeText(argumentOf(count, arguments, "--json", ""),
              fmt::format("{{\"device\": \"{}\", \"programs\": {}, \"cold_p50_ms\": {:.2f}, \"cold_most_ms\": {:.2f}, "
                          "\"disk_p50_ms\": {:.2f}, \"disk_most_ms\": {:.2f}, \"cases\": {{{}\n}}}}\n",
                          kept.properties().description, cold.size(), medianOf(cold), *std::ranges::max_element(cold),
                          medianOf(disk), *std::ranges::max_element(disk), rows));
  }
  std::filesystem::remove_all(cache);
  if (!cold.empty())
    fmt::print(
        "{} programs: first time p50 {:.1f} ms, most {:.1f}; from the disk p50 {:.2f} ms, most {:.2f}; {} failed\n",
        cold.size(), medianOf(cold), *std::ranges::max_element(cold), medianOf(disk), *std::ranges::max_element(disk),
        failed);
  return failed > 0 || cold.empty() ? 1 : 0;
}

}  // namespace
}  // namespace tokamak

int main(int count, char** arguments) { return tokamak::runBenchmark(tokamak::run, count, arguments); }
