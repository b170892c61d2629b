// tokamak run: compiles a program file, runs it, and on request checks it against the float64 oracle.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "host/ir/loop_limit.h"

namespace tokamak::tools {

struct RunOptions {
  std::string file;
  std::string device = "cpu";
  std::vector<std::string> sizes;    ///< "i0=4"
  std::vector<std::string> inputs;   ///< "T0=x.npy", "x=ones", "x=-"
  std::vector<std::string> outputs;  ///< "T7=y.npy"
  uint64_t seed = 0;
  std::string dump;
  bool check = false;
  int64_t repeat = 1;
  std::string grouping = "fused";
  std::string output_layouts = "inferred";
  std::string kernels = "compiled";
  int64_t streams = 4;
  int64_t ranks = 0;           ///< threads of this process; 0: one device, no ranks
  std::string comm = "local";  ///< local, or mpi, nccl or peer: ranks are processes
  std::string machine;         ///< a file: whose model chooses numbers of chunks; empty: processors
  bool unproved = false;       ///< ranks run the program without a proof (compile/rank_proof.h)
  int64_t timeout = 600;       ///< seconds, of each wait of a rank for others
  std::string operations;      ///< where ranks write their last operations after an error: "ops" makes ops.0, ops.1
  int64_t threads = 0;
  bool explain = false;  ///< what segments become, and why kernels were made
  int64_t most_iterations = kMostIterations;
  std::string stream_sync = "hoisted";
  std::string stream_transfers = "none";
  std::string trace;
  std::vector<std::string> print;  ///< names of tensors
  bool json = false;
  bool quiet = false;
  std::set<std::string> written;  ///< the options that are given, also with their defaults: "--seed"
};

/// The exit code: 0, or 1 on a mismatch. Errors are raised.
int runCommand(const RunOptions& options);

}  // namespace tokamak::tools
