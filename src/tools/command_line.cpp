#include "tools/command_line.h"

#include <limits>

#include <fmt/format.h>

#include "tokamak/version.h"
#include "tools/completion.h"
#include "tools/integer_in.h"

namespace tokamak::tools {

namespace {

// An option with a default, and what it can be: "cpu|cuda", "N", "FILE".
template <class T>
void addOption(CLI::App& app, const std::string& name, T& value, const std::string& form, const std::string& text) {
  app.add_option(name, value, text)->type_name(form)->capture_default_str();
}

// Digits, and a sign where T has one: what is no such number, or too large for T, is refused and not cut off.
template <class T>
std::string numberProblem(const std::string& text) {
  if (integerIn<T>(text)) return {};
  return fmt::format("'{}' is no integer from {} to {}", text, std::numeric_limits<T>::min(),
                     std::numeric_limits<T>::max());
}

template <class T>
CLI::Option* addNumber(CLI::App& app, const std::string& name, T& value, const std::string& text) {
  return app.add_option(name, value, text)->type_name("N")->check(numberProblem<T>);
}

constexpr const char* kGroupings = "fused|single|segments";
constexpr const char* kLayouts = "inferred|row-major";
constexpr const char* kKernels = "compiled|compiled-only|op-by-op|interpreted";

void addSizes(CLI::App& app, std::vector<std::string>& sizes) {
  app.add_option("--size", sizes, "the value of an extent: n=4")->type_name("NAME=N");
}

// Of run and bench.
template <class Options>
void addInputs(CLI::App& app, Options& options) {
  addSizes(app, options.sizes);
  app.add_option(
         "--input", options.inputs,
         "an input: a .npy file, - for one on standard input, ones, zeros, rand (uniform), randn (normal, the default) "
         "or a number")
      ->type_name("NAME=FROM");
  addNumber(app, "--seed", options.seed, "of the random inputs")->capture_default_str();
}

void addRunReport(CLI::App& run, RunOptions& options) {
  run.add_option("--output", options.outputs,
                 "an output into a .npy file, or by - to standard output; what is printed goes to standard error then")
      ->type_name("NAME=FILE");
  run.add_option("--print", options.print, "print type, shape, values, min, max, mean and NaN count of a tensor")
      ->type_name("NAME");
  run.add_flag("--check", options.check, "compare with the float64 oracle; exits 1 on a mismatch");
  run.add_flag("--json", options.json, "print one JSON object instead of lines");
  run.add_flag("--quiet", options.quiet, "print only what --print and --dump ask for, and mismatches");
  run.add_flag("--explain", options.explain, "say what makes the kernels, and why each had to be made");
  run.add_option(
         "--dump", options.dump,
         "programs to print on the way: fusion, segments, host_ir, host_ir_final, schedule, kernel_ir, kernel_passes, "
         "source, plan")
      ->type_name("STAGE[:PATTERN],...");
  run.add_option("--trace", options.trace, "write a timeline that ui.perfetto.dev opens")->type_name("FILE");
}

void addChoosingMachine(CLI::App& app, std::string& machine) {
  app.add_option("--machine", machine, "whose model chooses numbers of chunks that are not given [processors]")
      ->type_name("FILE");
}

constexpr const char* kTransfers = "none|direct|permute|ring|chosen";
constexpr const char* kTransfersHelp =
    "how ranks exchange the parts that they have of a streamed axis: before or behind its loop, in it, or as the model "
    "of the machine chooses";

void addRun(CLI::App& app, RunOptions& options) {
  CLI::App* run = app.add_subcommand("run", "compile a program, run it, and on request check it");
  run->add_option("FILE", options.file, "a .fusion text, a host program, or an exported program (.tk)")->required();
  addOption(*run, "--device", options.device, "cpu|interpreter|cuda", "where it runs");
  addInputs(*run, options);
  addRunReport(*run, options);
  addNumber(*run, "--repeat", options.repeat, "number of runs")->capture_default_str();
  addOption(*run, "--grouping", options.grouping, kGroupings,
            "fused: ops merged into kernels; single: each op alone; segments: merged, run op by op");
  addOption(*run, "--output-layouts", options.output_layouts, kLayouts,
            "inferred: outputs lie in memory like the inputs that they follow; row-major: whatever inputs do");
  addOption(*run, "--kernels", options.kernels, kKernels,
            "of the processor. compiled: where there is no C compiler, segments run op by op; compiled-only: that is "
            "an error");
  addNumber(*run, "--streams", options.streams, "number of worker streams")->capture_default_str();
  addNumber(*run, "--ranks", options.ranks, "run a program over devices on this many threads as its ranks");
  addOption(*run, "--comm", options.comm, "local|mpi|nccl|peer",
            "what ranks are: threads (--ranks); the processes that mpirun has started; nccl and peer: processes with "
            "GPUs, as RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT say, or mpirun. peer: of one host, by copies");
  addChoosingMachine(*run, options.machine);
  run->add_flag("--unproved", options.unproved, "let ranks run a program that is not proved, as check does, before");
  addNumber(*run, "--timeout", options.timeout, "seconds, of each wait of a rank for others")->capture_default_str();
  run->add_option("--operations", options.operations,
                  "where each rank writes its last operations after an error, with its number behind the name "
                  "[$TOKAMAK_OPERATIONS]")
      ->type_name("FILE");
  addNumber(*run, "--threads", options.threads, "number of threads [the processors this process may use]");
  addNumber(*run, "--most-iterations", options.most_iterations, "of a stream loop; a program with more is refused")
      ->capture_default_str();
  addOption(*run, "--stream-sync", options.stream_sync, "hoisted|in-loop", "where streams wait for one another");
  addOption(*run, "--stream-transfers", options.stream_transfers, kTransfers, kTransfersHelp);
}

void addCheck(CLI::App& app, CheckCommandOptions& options) {
  CLI::App* check = app.add_subcommand("check", "prove a host program over ranks, without running any of them");
  check->add_option("FILE", options.file, "a host program")->required();
  addNumber(*check, "--ranks", options.ranks, "of how many ranks the job is")->required();
  addSizes(*check, options.sizes);
  addChoosingMachine(*check, options.machine);
  check->add_option("--stream-transfers", options.stream_transfers, kTransfersHelp)->type_name(kTransfers);
  addNumber(*check, "--streams", options.streams, "number of worker streams")->capture_default_str();
  addNumber(*check, "--most-iterations", options.most_iterations, "of a stream loop, as of run")->capture_default_str();
  check->add_flag("--each-rank", options.each_rank, "look at each rank, not at one of those that do the same");
}

void addOpt(CLI::App& app, OptOptions& options) {
  CLI::App* opt = app.add_subcommand("opt", "apply passes to a program and print it");
  opt->add_option("FILE", options.file, "a .fusion text, a host program or a kernel");
  opt->add_option("--passes", options.passes, "passes in order, separated by commas")->type_name("PASS,...");
  opt->add_option("--dump-after", options.dump_after, "also print after these passes")->type_name("all|changed|PASS");
  addNumber(*opt, "--ranks", options.ranks, "of the job, for a text with mesh(ranks)");
  opt->add_flag("--list-passes", options.list_passes, "print the passes there are");
  opt->add_flag("--verify-each", options.verify_each, "verify before the first and after each pass");
  opt->add_flag("--explain", options.explain,
                "print the program as it was before the last pass, with the schedule commands that it gives, and why");
}

void addBench(CLI::App& app, BenchOptions& options) {
  CLI::App* bench = app.add_subcommand("bench", "measure a program's kernels beside a copy of as many bytes");
  bench->add_option("FILE", options.file, "a .fusion text")->required();
  addOption(*bench, "--device", options.device, "cpu|cuda", "where it runs");
  addInputs(*bench, options);
  addOption(*bench, "--grouping", options.grouping, kGroupings, "how ops are merged, as of run");
  addOption(*bench, "--output-layouts", options.output_layouts, kLayouts, "as of run");
  addOption(*bench, "--kernels", options.kernels, kKernels, "of the processor, as of run");
  addNumber(*bench, "--repeat", options.repeat, "how many calls the median is taken of")->capture_default_str();
  addNumber(*bench, "--bytes", options.bytes, "what the program moves [its inputs and outputs once each]");
  bench->add_option("--json", options.json, "a file to which a line with the figures is added")->type_name("FILE");
  bench->add_option("--label", options.label, "the name of that line [the program's]")->type_name("NAME");
}

void addCompile(CLI::App& app, CompileOptions& options) {
  CLI::App* compile =
      app.add_subcommand("compile", "make a program's CUDA kernels, without a GPU, and say what they take");
  compile->add_option("FILE", options.file, "a .fusion text")->required();
  addSizes(*compile, options.sizes);
  addOption(*compile, "--arch", options.architecture, "ARCHITECTURE", "the GPU's architecture");
  addOption(*compile, "--grouping", options.grouping, kGroupings, "how ops are merged, as of run");
  addOption(*compile, "--output-layouts", options.output_layouts, kLayouts, "as of run");
  compile->add_option("--dump", options.dump, "texts to print on the way")->type_name("kernel_passes|kernel_ir|source");
}

void addExport(CLI::App& app, ExportCommandOptions& options) {
  CLI::App* command = app.add_subcommand("export", "compile a program into a file that runs where nothing compiles");
  command->add_option("FILE", options.file, "a .fusion text")->required();
  command->add_option("-o,--output", options.output, "the file, model.tk by custom")->type_name("FILE");
  command
      ->add_option(
          "--c", options.c_prefix,
          "an object file PREFIX.o with the program in it, and PREFIX.h with functions of C that load and run it")
      ->type_name("PREFIX");
  command
      ->add_option(
          "--size", options.sizes,
          "the sizes of an extent: m=128,4096 (constants of kernels, the fastest) or n=1..65536 (one kernel for "
          "all of them)")
      ->type_name("NAME=N,...|N..N");
  command
      ->add_option("--cpu", options.processors,
                   "what the code is for: native (processors with all that this one has), x86-64-v3 or another name of "
                   "-march; the first that the processor can run is taken [native]")
      ->type_name("PROCESSOR");
  command
      ->add_option("--gpu", options.gpus,
                   "the same for NVIDIA GPUs, by architecture: sm_90a, sm_80; alone, there is no code for processors")
      ->type_name("ARCHITECTURE");
  addNumber(*command, "--threads", options.threads,
            "number of threads that kernels are cut for; any number may run them [the processors here]");
  addOption(*command, "--output-layouts", options.output_layouts, kLayouts, "as of run");
}

void addDraw(CLI::App& app, DrawOptions& options) {
  CLI::App* draw = app.add_subcommand("draw", "draw a program as SVG files, without running it");
  draw->add_option("FILE", options.file, "a .fusion text or a host program")->required();
  draw->add_option("--svg", options.pictures,
                   "a picture into a file, or by - to standard output: fusion (data flow), segments (kernels, and why "
                   "they are apart), host (the host program), plan (what is enqueued at these sizes), memory")
      ->type_name("WHAT=FILE")
      ->required();
  addSizes(*draw, options.sizes);
  addOption(*draw, "--grouping", options.grouping, kGroupings, "how ops are merged, as of run");
  addNumber(*draw, "--streams", options.streams, "number of worker streams")->capture_default_str();
}

void addReport(CLI::App& app, ReportOptions& options) {
  CLI::App* report = app.add_subcommand("report", "run a program on the processor and write a page about it");
  report->add_option("FILE", options.file, "a .fusion text")->required();
  report->add_option("-o,--output", options.output, "the HTML file, or - for standard output")
      ->type_name("FILE")
      ->required();
  addInputs(*report, options);
  addNumber(*report, "--streams", options.streams, "number of worker streams")->capture_default_str();
}

void addSimulate(CLI::App& app, SimulateOptions& options) {
  CLI::App* simulate = app.add_subcommand("simulate", "predict what a program takes on a job of devices, by a model");
  simulate->add_option("FILE", options.file, "a host program, or a .fusion text")->required();
  addNumber(*simulate, "--ranks", options.ranks, "number of ranks, up to 1024")->capture_default_str();
  simulate->add_option("--machine", options.machine, "what each rank can do, as examples/machines/h200.json says it")
      ->type_name("FILE")
      ->required();
  simulate
      ->add_option("--transport", options.transport, "of all communications [the one that is predicted to be fastest]")
      ->type_name("NAME");
  addSizes(*simulate, options.sizes);
  simulate->add_option("--sweep", options.sweep, "predict it for each of these values of an extent, and say the best")
      ->type_name("NAME=N,N,...");
  addOption(*simulate, "--grouping", options.grouping, kGroupings, "how ops are merged, as of run");
  simulate->add_option("--stream-transfers", options.stream_transfers, kTransfersHelp)->type_name(kTransfers);
  addNumber(*simulate, "--streams", options.streams, "number of worker streams")->capture_default_str();
  addNumber(*simulate, "--most-iterations", options.most_iterations, "of a stream loop; a program with more is refused")
      ->capture_default_str();
  simulate->add_option("--trace", options.trace, "write the predicted timeline, which ui.perfetto.dev opens")
      ->type_name("FILE");
  simulate->add_option("--svg", options.svg, "draw the predicted timeline")->type_name("FILE");
  simulate->add_flag("--all-ranks", options.all_ranks, "simulate each rank, also those that are equal to others");
  simulate->add_flag("--json", options.json, "print one JSON object instead of lines");
}

void addMeasureLinks(CLI::App& app, MeasureLinksOptions& options) {
  CLI::App* measure = app.add_subcommand("measure-links", "measure a machine, for simulate --machine");
  addNumber(*measure, "--ranks", options.ranks, "number of ranks, which are threads of this process")
      ->capture_default_str();
  addOption(*measure, "--device", options.device, "cpu|cuda", "where the ranks are");
  measure->add_option("-o,--output", options.output, "the machine file, or - for standard output")->type_name("FILE");
}

void addCache(CLI::App& app, CacheCommandOptions& options) {
  CLI::App* cache = app.add_subcommand("cache", "look after the kernels that are kept on disk");
  cache
      ->add_option("ACTION", options.action,
                   "ls: list them; why FILE: is this source kept, and if not, what differs; gc: remove old ones; "
                   "verify: look for damage")
      ->type_name("ls|why|gc|verify")
      ->required();
  cache->add_option("FILE", options.file, "a kernel's source: *.cu is CUDA, anything else C");
  addOption(*cache, "--arch", options.architecture, "ARCHITECTURE", "why: the architecture of a CUDA kernel");
  addOption(*cache, "--limit", options.limit, "BYTES", "gc: how many bytes may stay, also as 500M");
}

void addInfo(CLI::App& app, InfoOptions& options) {
  CLI::App* info = app.add_subcommand("info", "print the version and what this machine offers");
  info->add_option("--ops", options.ops, "list the ops instead, or say what one of them is, with an example")
      ->type_name("[NAME]")
      ->expected(0, 1)
      ->default_str("");
  info->add_flag("--markdown", options.markdown, "with --ops: all of them as docs/ops.md has them");
  info->add_flag("--functions", options.functions, "print the table of elementwise functions as JSON instead");
  info->add_option("--device-code", options.device_code,
                   "print the CUDA text of functions that kernels call instead: exp_f32,tanh_f32")
      ->type_name("NAME,...");
  info->add_option("--completion", options.completion, "print the completions of a shell instead")
      ->type_name("bash|zsh");
}

}  // namespace

CommandLine::CommandLine() {
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("tokamak ") + TOKAMAK_VERSION);
  addRun(app, run_options);
  addOpt(app, opt_options);
  addCheck(app, check_options);
  addCompile(app, compile_options);
  addBench(app, bench_options);
  addDraw(app, draw_options);
  addExport(app, export_options);
  addReport(app, report_options);
  addSimulate(app, simulate_options);
  addMeasureLinks(app, measure_links_options);
  addCache(app, cache_options);
  addInfo(app, info_options);
}

namespace {

std::set<std::string> writtenOptions(const CLI::App& command) {
  std::set<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    if (option->nonpositional() && option->count() > 0) names.insert("--" + option->get_lnames()[0]);
  }
  return names;
}

}  // namespace

int CommandLine::run() {
  run_options.written = writtenOptions(*app.get_subcommand("run"));
  bench_options.written = writtenOptions(*app.get_subcommand("bench"));
  draw_options.written = writtenOptions(*app.get_subcommand("draw"));
  info_options.written = writtenOptions(*app.get_subcommand("info"));
  if (app.got_subcommand("run")) return runCommand(run_options);
  if (app.got_subcommand("opt")) return optCommand(opt_options);
  if (app.got_subcommand("check")) return checkCommand(check_options);
  if (app.got_subcommand("bench")) return benchCommand(bench_options);
  if (app.got_subcommand("export")) return exportCommand(export_options);
  if (app.got_subcommand("draw")) return drawCommand(draw_options);
  if (app.got_subcommand("report")) return reportCommand(report_options);
  if (app.got_subcommand("simulate")) return simulateCommand(simulate_options);
  if (app.got_subcommand("measure-links")) return measureLinksCommand(measure_links_options);
  if (app.got_subcommand("compile")) return compileCommand(compile_options);
  if (app.got_subcommand("cache")) return cacheCommand(cache_options);
  requireOneAnswer(info_options);
  if (!info_options.completion.empty()) return printCompletion(app, info_options.completion);
  return infoCommand(info_options);
}

}  // namespace tokamak::tools
