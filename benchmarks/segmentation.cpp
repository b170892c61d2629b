// How long a fusion takes to be cut into kernels, by its number of ops.
//
//   bench_segmentation --benchmark_out=FILE --benchmark_out_format=json
#include <benchmark/benchmark.h>

#include <fmt/format.h>

#include "compile/lower_fusion.h"
#include "define/callables.h"
#include "ir/text/fusion_parser.h"
#include "schedule/commands.h"

namespace tokamak {
namespace {

// Numbers that look random, the same in every run.
class Numbers {
 public:
  int64_t below(int64_t bound) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<int64_t>((state_ >> 33U) % static_cast<uint64_t>(bound));
  }

 private:
  uint64_t state_ = 1;
};

std::string program(std::string_view inputs, const std::string& body, int64_t last) {
  return fmt::format("fusion f({}) -> T{} {{\n{}}}\n", inputs, last, body);
}

// linear, relu, linear, relu, ...
std::string layers(int64_t count) {
  std::string body;
  for (int64_t i = 0; i < count; ++i)
    body += fmt::format("  T{} = linear(T{}, T1)\n  T{} = relu(T{})\n", 2 * i + 2, i == 0 ? 0 : 2 * i + 1, 2 * i + 3,
                        2 * i + 2);
  return program("T0: f32[rows, columns], T1: f32[columns, columns]", body, 2 * count + 1);
}

// Each op reads the last result and one of a few before.
std::string chain(int64_t ops) {
  const char* names[] = {"add", "mul", "maximum"};
  std::string body;
  for (int64_t i = 2; i < ops + 2; ++i)
    body += fmt::format("  T{} = {}(T{}, T{})\n", i, names[i % 3], i - 1, i % 7 == 0 ? 1 : 0);
  return program("T0: f32[rows, columns], T1: f32[rows, columns]", body, ops + 1);
}

// Each op reads the last result and two of any results before.
std::string reuse(int64_t ops) {
  Numbers numbers;
  std::string body;
  for (int64_t i = 2; i < ops + 2; ++i)
    body += fmt::format("  T{} = where(lt(T{}, 0.0), T{}, T{})\n", i, numbers.below(i), numbers.below(i), i - 1);
  return program("T0: f32[rows, columns], T1: f32[rows, columns]", body, ops + 1);
}

// The same with sums over rows and over columns and matrix products among them.
std::string mixedReuse(int64_t ops) {
  Numbers numbers;
  std::string body;
  for (int64_t i = 2; i < ops + 2; ++i) {
    const int64_t a = numbers.below(i);
    const int64_t b = std::max<int64_t>(0, i - 1 - numbers.below(10));
    if (i % 10 == 0)
      body += fmt::format("  T{} = matmul(T{}, T{})\n", i, a, b);
    else if (i % 5 == 0)
      body += fmt::format("  T{} = sub(T{}, sum(T{}, axes=[{}], keepdim=true))\n", i, a, b, numbers.below(2));
    else
      body += fmt::format("  T{} = add(T{}, T{})\n", i, a, b);
  }
  return program("T0: f32[rows, rows], T1: f32[rows, rows]", body, ops + 1);
}

// Rows are normalised again and again: all of it can be one kernel.
std::string norms(int64_t count) {
  std::string body;
  for (int64_t i = 1; i <= count; ++i) body += fmt::format("  T{} = softmax(T{})\n", i, i - 1);
  return program("T0: f32[rows, columns]", body, count);
}

// Rows and columns are normalised in turns, so that no kernel goes on.
std::string segments(int64_t count) {
  std::string body;
  for (int64_t i = 1; i <= count; ++i)
    body += fmt::format("  T{0} = div(T{1}, sum(exp(T{1}), axes=[{2}], keepdim=true))\n", i, i - 1, i % 2);
  return program("T0: f32[rows, columns]", body, count);
}

void cut(benchmark::State& state, std::string (*write)(int64_t)) {
  const auto fusion = parseFusion(write(state.range(0)), "f.fusion",
                                  {.resolver = &definingResolver(), .scheduler = &scheduleCommands()});
  const auto ops = static_cast<int64_t>(fusion->exprs().size());
  size_t statements = 0;
  for (auto _ : state) {
    const auto groups = makeHostProgram(*fusion);
    statements = groups->topLevel().exprs.size();
  }
  state.counters["ops"] = static_cast<double>(ops);
  state.counters["groups"] = static_cast<double>(statements);
  state.SetComplexityN(ops);
}
BENCHMARK_CAPTURE(cut, layers, layers)->RangeMultiplier(2)->Range(15, 480)->Unit(benchmark::kMillisecond)->Complexity();
BENCHMARK_CAPTURE(cut, chain, chain)->RangeMultiplier(2)->Range(125, 4000)->Unit(benchmark::kMillisecond)->Complexity();
BENCHMARK_CAPTURE(cut, reuse, reuse)->RangeMultiplier(2)->Range(60, 2000)->Unit(benchmark::kMillisecond)->Complexity();
BENCHMARK_CAPTURE(cut, mixedReuse, mixedReuse)
    ->RangeMultiplier(2)
    ->Range(125, 4000)
    ->Unit(benchmark::kMillisecond)
    ->Complexity();
BENCHMARK_CAPTURE(cut, norms, norms)->RangeMultiplier(2)->Range(5, 160)->Unit(benchmark::kMillisecond)->Complexity();
BENCHMARK_CAPTURE(cut, segments, segments)
    ->RangeMultiplier(2)
    ->Range(25, 400)
    ->Unit(benchmark::kMillisecond)
    ->Complexity();

}  // namespace
}  // namespace tokamak
