// random_programs: random fusions with random Stream schedules, run on the processor and compared with the reference.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string_view>

#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "define/callables.h"
#include "generator/run_case.h"
#include "ir/text/fusion_parser.h"
#include "schedule/commands.h"

namespace tokamak {
namespace {

using namespace generator;

constexpr const char* kUsage =
    "random_programs [--seed N] [--count N] [--max-ops N] [--max-elements N] [--keep-going] [--no-minimise]\n"
    "  runs the cases of seeds N, N+1, ...; each failure is printed with its seed, cut down, and the command that runs "
    "it again\n"
    "random_programs --replay FILE [--seed N]\n"
    "  runs the .fusion text at its default sizes on small integers, in the configuration of the seed\n";

struct Options {
  uint64_t seed = 1;
  int64_t count = 1;
  CaseOptions draw;
  const char* replay = nullptr;
  bool keeps_going = false;
  bool minimises = true;
};

Options parseOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    const auto value = [&]() -> const char* {
      return i + 1 < argc ? argv[++i] : throw std::invalid_argument(std::string(name) + " takes a value");
    };
    if (name == "--seed")
      options.seed = std::stoull(value());
    else if (name == "--count")
      options.count = std::stoll(value());
    else if (name == "--max-ops")
      options.draw.program.max_ops = std::stoll(value());
    else if (name == "--max-elements")
      options.draw.program.max_elements = std::stoll(value());
    else if (name == "--replay")
      options.replay = value();
    else if (name == "--keep-going")
      options.keeps_going = true;
    else if (name == "--no-minimise")
      options.minimises = false;
    else
      throw std::invalid_argument(kUsage);
  }
  return options;
}

// What is run now, for handlers of signals.
volatile uint64_t current_seed = 0;  // NOLINT: signal handlers see nothing else

// A crash or a hang says which seed it was; then the signal takes its course.
void tellSeed(int signal) {
  char text[64] = "\nseed ";
  size_t at = 6;
  char digits[24];
  size_t count = 0;
  for (uint64_t left = current_seed; count == 0 || left != 0; left /= 10)
    digits[count++] = static_cast<char>('0' + left % 10);
  while (count > 0) text[at++] = digits[--count];
  for (const char* end = signal == SIGALRM ? " hangs\n" : " crashes\n"; *end != 0; ++end) text[at++] = *end;
  if (write(STDERR_FILENO, text, at) < 0) _exit(3);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

int replay(const Options& options) {
  std::ifstream file(options.replay);
  std::stringstream text;
  text << file.rdbuf();
  const ParseOptions parse{.resolver = &definingResolver(), .scheduler = &scheduleCommands()};
  const auto fusion = parseFusion(text.str(), options.replay, parse);
  std::string problem_of_case;
  const RunConfig config = drawCase(options.seed, options.draw, problem_of_case).config;
  RunTally tally;
  const auto problem = findProblem(*fusion, *fusion, drawDataFor(*fusion, options.seed), config, {}, tally);
  std::cout << toString(config) << "\n"
            << (problem ? problem->kind + ": " + problem->text : "as the reference") << "\n";
  return problem ? 1 : 0;
}

int runSeeds(const Options& options) {
  RunTally tally;
  int64_t failures = 0;
  const auto start = std::chrono::steady_clock::now();
  for (uint64_t seed = options.seed; seed < options.seed + static_cast<uint64_t>(options.count); ++seed) {
    current_seed = seed;
    alarm(120);
    std::string illegal;
    Case drawn = drawCase(seed, options.draw, illegal);
    if (!illegal.empty()) {
      ++failures;
      std::cout << illegal << "\n";
    }
    const RunOptions run_options;
    auto problem = findProblem(drawn, run_options, tally);
    if (problem) {
      ++failures;
      if (options.minimises) {
        alarm(600);
        drawn = minimiseCase(drawn, run_options, problem->kind);
        RunTally ignored;
        if (auto small = findProblem(drawn, run_options, ignored)) problem = small;
      }
      std::cout << report(drawn, *problem)
                << fmt::format("        --max-ops {} --max-elements {}\n", options.draw.program.max_ops,
                               options.draw.program.max_elements)
                << std::flush;
    }
    if (failures > 0 && !options.keeps_going) break;
  }
  alarm(0);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::cout << fmt::format(
      "{} programs ({} streamed), {} ops, {} plan steps, {} runs, {} elements, {} schedules refused, {} failures in "
      "{:.1f} s\n",
      tally.programs, tally.streamed_programs, tally.ops, tally.steps, tally.runs, tally.elements, tally.refused,
      failures, seconds.count());
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tokamak

int main(int argc, char** argv) {
  for (const int signal : {SIGALRM, SIGSEGV, SIGABRT, SIGFPE, SIGBUS}) std::signal(signal, tokamak::tellSeed);
  try {
    const tokamak::Options options = tokamak::parseOptions(argc, argv);
    return options.replay != nullptr ? tokamak::replay(options) : tokamak::runSeeds(options);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}
