// tokamak: the command line.
#include <cstdio>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/error.h"
#include "tools/cache_command.h"
#include "tools/info_command.h"
#include "tools/opt_command.h"
#include "tools/run_command.h"

namespace {

using tokamak::ErrorCode;

int exitCode(ErrorCode code) {
  switch (code) {
    case ErrorCode::Usage: return 2;
    case ErrorCode::Parse:
    case ErrorCode::Definition:
    case ErrorCode::Schedule:
    case ErrorCode::HostProgram:
    case ErrorCode::Race: return 3;
    case ErrorCode::Bind:
    case ErrorCode::OutOfMemory:
    case ErrorCode::Io:
    case ErrorCode::Device:
    case ErrorCode::Unsupported:
    case ErrorCode::Compile: return 4;
    case ErrorCode::Internal: return 70;
  }
  return 70;
}

void addRun(CLI::App& app, tokamak::tools::RunOptions& options) {
  CLI::App* run = app.add_subcommand("run", "compile a program, run it, and on request check it");
  run->add_option("FILE", options.file, "a .fusion text or a host program")->required();
  run->add_option("--device", options.device, "where it runs: cpu");
  run->add_option("--size", options.sizes, "value of an extent: i0=4");
  run->add_option("--seed", options.seed, "of the random inputs");
  run->add_option("--dump", options.dump, "programs to print on the way: STAGE[:PATTERN],...");
  run->add_flag("--check", options.check, "compare with the float64 oracle; exits 1 on a mismatch");
  run->add_option("--repeat", options.repeat, "number of runs");
  run->add_option("--input", options.inputs, "an input from a file or a number: T0=x.npy, f0=0.5");
  run->add_option("--output", options.outputs, "an output into a file: T7=y.npy");
  run->add_option("--grouping", options.grouping,
                  "single: each op alone; units: ops merged into host units, run op by op; fused: into kernels");
  run->add_option("--streams", options.streams, "number of worker streams");
  run->add_option("--threads", options.threads, "number of threads (default: the processors this process may use)");
  run->add_option("--stream-sync", options.stream_sync, "hoisted or in-loop");
  run->add_option("--trace", options.trace, "write a timeline that ui.perfetto.dev opens");
}

void addOpt(CLI::App& app, tokamak::tools::OptOptions& options) {
  CLI::App* opt = app.add_subcommand("opt", "apply passes to a program and print it");
  opt->add_option("FILE", options.file, "a .fusion text or a host program");
  opt->add_option("--passes", options.passes, "passes in order, separated by commas");
  opt->add_option("--dump-after", options.dump_after, "also print after passes: all, changed, or a pass's name");
  opt->add_flag("--list-passes", options.list_passes, "print the passes there are");
  opt->add_flag("--verify-each", options.verify_each, "verify before the first and after each pass");
}

void addCache(CLI::App& app, tokamak::tools::CacheCommandOptions& options) {
  CLI::App* cache = app.add_subcommand("cache", "look after the kernels that are kept on disk");
  cache
      ->add_option("ACTION", options.action,
                   "ls: list them; why FILE: is this source kept, and if not, what differs; gc: remove old ones; "
                   "verify: look for damage")
      ->required();
  cache->add_option("FILE", options.file, "a kernel's source: *.cu is CUDA, anything else C");
  cache->add_option("--arch", options.architecture, "why: the architecture of a CUDA kernel");
  cache->add_option("--limit", options.limit, "gc: how many bytes may stay: 500M");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Tokamak: a fusion compiler with a host-program runtime", "tokamak");
  app.require_subcommand(1);
  tokamak::tools::RunOptions run_options;
  tokamak::tools::OptOptions opt_options;
  tokamak::tools::CacheCommandOptions cache_options;
  tokamak::tools::InfoOptions info_options;
  addRun(app, run_options);
  addOpt(app, opt_options);
  addCache(app, cache_options);
  CLI::App* info = app.add_subcommand("info", "print the version and what this machine offers");
  info->add_flag("--functions", info_options.functions, "print the table of elementwise functions as JSON instead");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : 2;
  }
  try {
    if (app.got_subcommand("run")) return tokamak::tools::runCommand(run_options);
    if (app.got_subcommand("opt")) return tokamak::tools::optCommand(opt_options);
    if (app.got_subcommand("cache")) return tokamak::tools::cacheCommand(cache_options);
    return tokamak::tools::infoCommand(info_options);
  } catch (const tokamak::Error& error) {
    std::fflush(stdout);
    fmt::print(stderr, "tokamak: {}\n", error.what());
    return exitCode(error.code());
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "tokamak: out of host memory\n");
    return 4;
  } catch (const std::exception& error) {
    fmt::print(stderr, "tokamak: internal error: {}\n", error.what());
    return 70;
  }
}
