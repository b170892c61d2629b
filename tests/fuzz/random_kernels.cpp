// random_kernels: random fusions under random schedules as kernels, run by the interpreter and compared with the
// reference.
#include <array>
#include <chrono>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "generator/command_case.h"
#include "generator/draw_data.h"
#include "generator/draw_program.h"
#include "generator/kernel_case.h"
#include "ir/text/fusion_printer.h"

namespace tokamak {
namespace {

using namespace generator;

constexpr const char* kUsage =
    "random_kernels [--seed N] [--pairs N] [--max-ops N] [--max-elements N] [--out FILE]\n"
    "  makes kernels of the programs of seeds N, N+1, ... in four ways (for the processor, for a GPU, for a GPU in "
    "small\n"
    "  blocks, by random schedule commands) until that many pairs of a program and a schedule were run and compared;\n"
    "  mismatches are printed with their seeds; FILE gets the figures as JSON\n";

struct Options {
  uint64_t seed = 1;
  int64_t pairs = 1000;
  DrawOptions program = {.max_ops = 12, .max_elements = 512};
  std::string out;
};

Options parseOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (i + 1 == argc) throw std::invalid_argument(kUsage);
    const char* value = argv[++i];
    if (name == "--seed")
      options.seed = std::stoull(value);
    else if (name == "--pairs")
      options.pairs = std::stoll(value);
    else if (name == "--max-ops")
      options.program.max_ops = std::stoll(value);
    else if (name == "--max-elements")
      options.program.max_elements = std::stoll(value);
    else if (name == "--out")
      options.out = value;
    else
      throw std::invalid_argument(kUsage);
  }
  return options;
}

struct Way {
  const char* name;
  KernelWay (*make)(uint64_t seed);
  KernelTally tally = {};
  int64_t mismatches = 0;
};

class Run {
 public:
  explicit Run(Options options) : options_(std::move(options)) {}

  int run() {
    const auto start = std::chrono::steady_clock::now();
    uint64_t seed = options_.seed;
    for (; pairs() < options_.pairs; ++seed) runSeed(seed);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    const std::string text = report(seed - 1, seconds.count());
    std::cout << text;
    if (!options_.out.empty()) std::ofstream(options_.out) << text;
    return mismatching_.empty() ? 0 : 1;
  }

 private:
  int64_t pairs() const {
    int64_t count = commands_.kernels;
    for (const Way& way : ways_) count += way.tally.programs - way.tally.refused;
    return count;
  }

  void runSeed(uint64_t seed) {
    const Program program = drawProgram(seed, options_.program);
    for (Way& way : ways_) {
      const auto problem = findKernelProblem(*build(program), drawData(program, seed), way.make(seed), way.tally);
      if (!problem) continue;
      ++way.mismatches;
      tell(seed, way.name, problem->kind + "\n" + problem->text + "\n" + printFusion(*build(program)));
    }
    const std::string problem = findCommandProblem(seed, commands_);
    if (problem.empty()) return;
    ++command_mismatches_;
    tell(seed, "commands", problem);
  }

  void tell(uint64_t seed, const char* way, const std::string& problem) {
    mismatching_.push_back(fmt::format("\"{} {}\"", way, seed));
    std::cerr << "seed " << seed << ", " << way << ": " << problem << "\n";
  }

  std::string report(uint64_t last_seed, double seconds) const {
    std::vector<std::string> rows;
    int64_t elements = 0;
    for (const Way& way : ways_) {
      const KernelTally& tally = way.tally;
      elements += tally.elements;
      rows.push_back(fmt::format("    \"{}\": {{\"pairs\": {}, \"no_kernel\": {}, \"ops\": {}, \"mismatches\": {}}}",
                                 way.name, tally.programs - tally.refused, tally.refused, tally.ops, way.mismatches));
    }
    rows.push_back(
        fmt::format("    \"commands\": {{\"pairs\": {}, \"sequences\": {}, \"illegal_sequences\": {}, "
                    "\"commands\": {}, \"refused_commands\": {}, \"mismatches\": {}}}",
                    commands_.kernels, commands_.sequences, commands_.illegal, commands_.commands,
                    commands_.refused_commands, command_mismatches_));
    return fmt::format(
        "{{\n  \"what\": \"random fusions under random schedules, run by the interpreter, compared with the "
        "reference\",\n  \"command\": \"random_kernels --seed {} --pairs {} --max-ops {} --max-elements {}\",\n"
        "  \"seeds\": [{}, {}],\n  \"pairs\": {},\n  \"mismatches\": {},\n  \"mismatching\": [{}],\n"
        "  \"elements_of_the_first_three\": {},\n  \"seconds\": {:.0f},\n  \"ways\": {{\n{}\n  }}\n}}\n",
        options_.seed, options_.pairs, options_.program.max_ops, options_.program.max_elements, options_.seed,
        last_seed, pairs(), mismatching_.size(), joined(mismatching_), elements, seconds, joined(rows, ",\n"));
  }

  Options options_;
  std::array<Way, 3> ways_ = {{{"cpu", cpuWay}, {"gpu", cudaWay}, {"gpu_small_blocks", smallCudaWay}}};
  CommandTally commands_;
  int64_t command_mismatches_ = 0;
  std::vector<std::string> mismatching_;
};

}  // namespace
}  // namespace tokamak

int main(int argc, char** argv) {
  try {
    return tokamak::Run(tokamak::parseOptions(argc, argv)).run();
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}
