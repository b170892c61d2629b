// tokamak simulate: what a program would take on a job of devices, by a model of their machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/ir/loop_limit.h"

namespace tokamak::tools {

struct SimulateOptions {
  std::string file;
  int64_t ranks = 1;
  std::string machine;             ///< a file
  std::string transport;           ///< empty: the one that is predicted to be fastest
  std::vector<std::string> sizes;  ///< "n=4"
  std::string sweep;               ///< "s=1,2,4"
  std::string grouping = "fused";
  std::string stream_transfers;  ///< as of run; empty: none
  int64_t streams = 4;
  int64_t most_iterations = kMostIterations;
  std::string trace;
  std::string svg;  ///< a file for a picture of the timeline
  bool all_ranks = false;
  bool json = false;
};

/// Prints the times, and runs nothing. The exit code: 0. Errors: Usage for options that do not fit, those of
/// readMachine() and of simulate().
int simulateCommand(const SimulateOptions& options);

}  // namespace tokamak::tools
