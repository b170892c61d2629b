// tokamak bench: how long a program's kernels take, beside a copy of as many bytes.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace tokamak::tools {

struct BenchOptions {
  std::string file;
  std::string device = "cpu";
  std::vector<std::string> sizes;   ///< "i0=4"
  std::vector<std::string> inputs;  ///< "T0=x.npy", "x=ones"
  uint64_t seed = 0;
  std::string grouping = "fused";
  std::string output_layouts = "inferred";
  std::string kernels = "compiled";
  int64_t repeat = 25;
  int64_t bytes = 0;  ///< that the program moves; 0: of its inputs and outputs
  int64_t streams = 4;
  std::string json;               ///< a file to which a line is added
  std::string label;              ///< of that line; empty: the program's name
  std::set<std::string> written;  ///< the options that are given, also with their defaults: "--seed"
};

/// Prints the medians. On a GPU the time is between two points of the stream, with a cold cache; on the processor that
/// of the whole call, and the copy is a plain loop with as many threads. The exit code: 0. Errors are raised.
int benchCommand(const BenchOptions& options);

}  // namespace tokamak::tools
