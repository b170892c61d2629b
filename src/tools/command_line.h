// CommandLine: the commands and options of `tokamak`.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/bench_command.h"
#include "tools/cache_command.h"
#include "tools/check_command.h"
#include "tools/compile_command.h"
#include "tools/draw_command.h"
#include "tools/export_command.h"
#include "tools/info_command.h"
#include "tools/measure_links_command.h"
#include "tools/opt_command.h"
#include "tools/report_command.h"
#include "tools/run_command.h"
#include "tools/simulate_command.h"

namespace tokamak::tools {

struct CommandLine {
  CommandLine();

  /// Carries out the command that was parsed. The exit code; errors are raised.
  int run();

  CLI::App app{"Tokamak: a fusion compiler with a host-program runtime", "tokamak"};
  RunOptions run_options;
  OptOptions opt_options;
  CheckCommandOptions check_options;
  CompileOptions compile_options;
  BenchOptions bench_options;
  DrawOptions draw_options;
  ExportCommandOptions export_options;
  ReportOptions report_options;
  SimulateOptions simulate_options;
  MeasureLinksOptions measure_links_options;
  CacheCommandOptions cache_options;
  InfoOptions info_options;
};

}  // namespace tokamak::tools
