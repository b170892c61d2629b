// Parsing and lowering time by program size: a chain of n elementwise ops, read from text and lowered to a host
// program.
//
//   bench_lowering --benchmark_out=FILE --benchmark_out_format=json
#include <benchmark/benchmark.h>

#include <fmt/format.h>

#include "compile/lower_fusion.h"
#include "define/callables.h"
#include "ir/text/fusion_parser.h"
#include "schedule/commands.h"

namespace tokamak {
namespace {

std::string chain(int64_t ops) {
  std::string text =
      "fusion chain(T0: f32[rows, columns], T1: f32[rows, columns]) -> T" + std::to_string(ops + 1) + " {\n";
  const char* names[] = {"add", "mul", "maximum"};
  for (int64_t i = 2; i < ops + 2; ++i)
    text += fmt::format("  T{} = {}(T{}, T{})\n", i, names[i % 3], i - 1, i % 7 == 0 ? 1 : 0);
  return text + fmt::format(
                    "}}\nschedule {{\n  split(T{0}, axis=0, factor=64)\n  parallelize(T{0}, axis=0, type=Stream)\n  "
                    "propagate(T{0})\n}}\n",
                    ops + 1);
}

void parseAndLower(benchmark::State& state) {
  const std::string text = chain(state.range(0));
  for (auto _ : state) {
    const auto fusion =
        parseFusion(text, "chain.fusion", {.resolver = &definingResolver(), .scheduler = &scheduleCommands()});
    benchmark::DoNotOptimize(lowerToHostProgram(*fusion, {.grouping = Grouping::Single}));
  }
  state.SetComplexityN(state.range(0));
}
BENCHMARK(parseAndLower)->Arg(250)->Arg(500)->Arg(1000)->Arg(2000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tokamak
