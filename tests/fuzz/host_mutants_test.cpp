// Mutants of host programs, run: a text is refused with an error of its own, or its program runs; nothing of ours
// breaks, nothing crashes and nothing runs for ever.
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error.h"
#include "generator/draw_data.h"
#include "generator/draw_schedule.h"
#include "generator/environment.h"
#include "generator/run_case.h"
#include "host/ir/text/host_parser.h"
#include "host/ir/text/host_printer.h"
#include "host/run/host_ir_evaluator.h"
#include "jit/jit_device.h"
#include "text_mutator.h"

namespace tokamak {
namespace {

using namespace generator;

const uint64_t kHostMutants = fromEnvironment("TOKAMAK_HOST_MUTANTS", 3000);
const uint64_t kFirstHostMutant = fromEnvironment("TOKAMAK_FUZZ_SEED", 1);

// Sets without memory bind their operands, of one alone and of one after the other.
constexpr const char* kSets = R"(%HostIrContainer { (T0_g_float[iS0{i0}, iS1{i2}]) -> (T1_g_float[iS2{i0}, iS3{i2}]) :
  T2_g_float[iS4{i0}, iS5{i2}]
     = Set( T0_g_float[iS0{i0}, iS1{i2}], cache_op=Streaming )
  T3_g_float[iS6{i0}, iS7{i2}]
     = Set( T2_g_float[iS4{i0}, iS5{i2}], cache_op=Streaming )
  T1_g_float[iS2{i0}, iS3{i2}]
     = expf(T3_g_float[iS6{i0}, iS7{i2}]);
} // %HostIrContainer
)";
constexpr const char* kGoldens[] = {"single_set.hoisted", "single_set.in-loop", "two_sets.hoisted",
                                    "two_sets.in-loop",   "three_sets.hoisted", "three_sets.in-loop"};

std::string goldenText(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(TOKAMAK_TEST_DIR "/golden/" + name + ".host_ir").rdbuf();
  return text.str();
}

// The text that is tried, for whoever finds the process dead.
std::string tried;

void tellTried(int /*signal*/) {
  const char sentence[] = "a host program runs for ever:\n";
  (void)!::write(STDERR_FILENO, sentence, sizeof sentence - 1);
  (void)!::write(STDERR_FILENO, tried.data(), tried.size());
  std::_Exit(1);
}

std::string programText(uint64_t seed) {
  if (seed % 8 == 0) return kSets;
  if (seed % 8 == 1) return goldenText(kGoldens[seed / 8 % std::size(kGoldens)]);
  std::string problem;
  const Case drawn =
      drawCase(seed, {.program = {.max_ops = 1 + static_cast<int64_t>(seed % 6), .max_elements = 64}}, problem);
  std::unique_ptr<Fusion> fusion = build(drawn.program);
  std::unique_ptr<HostIrContainer> program = makeHostProgram(*fusion, loweringOf(drawn.config));
  if (seed % 2 == 0) finishHostProgram(*program, loweringOf(drawn.config));
  return printHostProgram(*program);
}

// Extents of a size that a test has time for.
bool hasSmallNumbers(const std::string& text) {
  size_t digits = 0;
  for (const char c : text) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (digits > 3) return false;
  }
  return true;
}

// The name of what the program came to: an error's code, or "ran".
std::string outcomeOf(const std::string& text, Device& device) {
  try {
    std::unique_ptr<HostIrContainer> program = parseHostProgram(text, "mutant");
    finishHostProgram(*program, {});
    int64_t size = 3;
    for (Scalar* symbol : program->allSymbols()) program->defaultSizes()[symbol] = size = size % 4 + 2;
    const std::vector<InputData> data = drawDataFor(*program, 1);
    const std::vector<Val*> inputs = program->inputs();
    HostIrEvaluator evaluator(std::move(program), device, {.most_iterations = 256});
    const BoundInputs bound(data, device);
    std::vector<std::pair<Val*, RunValue>> values;
    for (size_t i = 0; i < inputs.size(); ++i) values.emplace_back(inputs[i], bound.values()[i]);
    for (const Tensor& output : evaluator.runWithInput(values)) output.waitReady();
    return "ran";
  } catch (const Error& error) {
    EXPECT_NE(error.code(), ErrorCode::Internal) << error.what() << "\n" << text;
    return std::string(errorCodeName(error.code()));
  }
}

TEST(HostMutants, RunOrAreRefused) {
  JitCpuDevice device({.threads = 2, .poisons_memory = true});
  const auto before = std::signal(SIGALRM, tellTried);
  std::map<std::string, uint64_t> outcomes;
  for (uint64_t seed = kFirstHostMutant; seed < kFirstHostMutant + kHostMutants && !HasFailure(); ++seed) {
    std::minstd_rand random(static_cast<unsigned>(seed));
    tried = programText(seed / 20);
    for (uint64_t i = 0; i <= seed / 4 % 2; ++i)
      tried = seed % 4 == 0 ? mutatedHostText(tried, random) : mutatedHostProgram(tried, random);
    if (!hasSmallNumbers(tried)) continue;
    ::alarm(30);
    ++outcomes[outcomeOf(tried, device)];
    ::alarm(0);
  }
  std::signal(SIGALRM, before);
  uint64_t mutants = 0;
  for (const auto& [outcome, count] : outcomes) mutants += count;
  std::cout << mutants << " mutants of host programs, " << outcomes["ran"] << " ran, " << outcomes["host program"]
            << " were refused as programs, " << outcomes["parse"] << " as texts\n";
  // Enough of them are still programs, and some of these are refused as such.
  EXPECT_GT(outcomes["ran"], kHostMutants / 10);
  EXPECT_GT(outcomes["host program"], kHostMutants / 40);
}

}  // namespace
}  // namespace tokamak
