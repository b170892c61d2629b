// tokamak: the command line.
#include <cstdio>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/error.h"
#include "tools/bench_command.h"
#include "tools/cache_command.h"
#include "tools/compile_command.h"
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
  run->add_option("--device", options.device, "where it runs: cpu, interpreter, cuda");
  run->add_option("--size", options.sizes, "value of an extent: i0=4");
  run->add_option("--seed", options.seed, "of the random inputs");
  run->add_option("--dump", options.dump, "programs to print on the way: STAGE[:PATTERN],...");
  run->add_flag("--check", options.check, "compare with the float64 oracle; exits 1 on a mismatch");
  run->add_option("--repeat", options.repeat, "number of runs");
  run->add_option("--input", options.inputs, "an input from a file or a number: T0=x.npy, f0=0.5");
  run->add_option("--output", options.outputs, "an output into a file: T7=y.npy");
  run->add_option(
      "--grouping", options.grouping,
      "fused (default): ops merged into kernels; single: each op alone; units: merged into host units, run op by op");
  run->add_option("--streams", options.streams, "number of worker streams");
  run->add_option("--threads", options.threads, "number of threads (default: the processors this process may use)");
  run->add_option("--stream-sync", options.stream_sync, "hoisted or in-loop");
  run->add_flag("--explain", options.explain, "say why each kernel had to be made");
  run->add_option("--trace", options.trace, "write a timeline that ui.perfetto.dev opens");
}

void addOpt(CLI::App& app, tokamak::tools::OptOptions& options) {
  CLI::App* opt = app.add_subcommand("opt", "apply passes to a program and print it");
  opt->add_option("FILE", options.file, "a .fusion text, a host program or a kernel");
  opt->add_option("--passes", options.passes, "passes in order, separated by commas");
  opt->add_option("--dump-after", options.dump_after, "also print after passes: all, changed, or a pass's name");
  opt->add_flag("--list-passes", options.list_passes, "print the passes there are");
  opt->add_flag("--verify-each", options.verify_each, "verify before the first and after each pass");
}

void addBench(CLI::App& app, tokamak::tools::BenchOptions& options) {
  CLI::App* bench = app.add_subcommand("bench", "measure a program's kernels beside a copy of as many bytes");
  bench->add_option("FILE", options.file, "a .fusion text")->required();
  bench->add_option("--device", options.device, "cpu or cuda");
  bench->add_option("--size", options.sizes, "an extent: i0=4");
  bench->add_option("--grouping", options.grouping, "fused (default) or single");
  bench->add_option("--repeat", options.repeat, "how many calls the median is taken of");
  bench->add_option("--bytes", options.bytes, "what the program moves, if not its inputs and outputs once each");
  bench->add_option("--json", options.json, "a file to which a line with the figures is added");
  bench->add_option("--label", options.label, "the name of that line");
}

void addCompile(CLI::App& app, tokamak::tools::CompileOptions& options) {
  CLI::App* compile =
      app.add_subcommand("compile", "make a program's CUDA kernels, without a GPU, and say what they take");
  compile->add_option("FILE", options.file, "a .fusion text")->required();
  compile->add_option("--size", options.sizes, "an extent: i0=4");
  compile->add_option("--arch", options.architecture, "sm_90a, ...");
  compile->add_option("--grouping", options.grouping, "fused (default) or single");
  compile->add_option("--dump", options.dump, "kernel_passes, kernel_ir, source");
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
  tokamak::tools::CompileOptions compile_options;
  tokamak::tools::BenchOptions bench_options;
  tokamak::tools::CacheCommandOptions cache_options;
  tokamak::tools::InfoOptions info_options;
  addRun(app, run_options);
  addOpt(app, opt_options);
  addCompile(app, compile_options);
  addBench(app, bench_options);
  addCache(app, cache_options);
  CLI::App* info = app.add_subcommand("info", "print the version and what this machine offers");
  info->add_flag("--functions", info_options.functions, "print the table of elementwise functions as JSON instead");
  info->add_option("--device-code", info_options.device_code,
                   "print the CUDA text of functions that kernels call instead: exp_f32,tanh_f32");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : 2;
  }
  try {
    if (app.got_subcommand("run")) return tokamak::tools::runCommand(run_options);
    if (app.got_subcommand("opt")) return tokamak::tools::optCommand(opt_options);
    if (app.got_subcommand("bench")) return tokamak::tools::benchCommand(bench_options);
    if (app.got_subcommand("compile")) return tokamak::tools::compileCommand(compile_options);
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
