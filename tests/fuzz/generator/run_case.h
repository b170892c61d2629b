// Case: a program, its schedule and how it is run; runs it on the processor or a GPU and says what is wrong with the
// results.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compile/multi_device_executor.h"
#include "draw_data.h"
#include "draw_program.h"
#include "program.h"

namespace tokamak::generator {

struct RunConfig {
  int64_t streams = 4;
  int64_t threads = 2;
  StreamSync sync = StreamSync::Hoisted;
  Grouping grouping = Grouping::Single;
  bool gives_outputs = false;                         ///< storage for all outputs that update no input
  uint64_t seed = 1;                                  ///< of the data and of the layouts of given outputs
  std::optional<KernelTarget> target = std::nullopt;  ///< that kernels are for, if not the device's
};
std::string toString(const RunConfig& config);
HostLoweringOptions loweringOf(const RunConfig& config);

/// A program with loop steps, and how it is run.
struct Case {
  Program program;
  RunConfig config;
  int64_t streamed = 0;  ///< nodes with steps
  int64_t refused = 0;   ///< attempts at steps that were refused
};

struct CaseOptions {
  DrawOptions program = {.max_ops = 20, .max_elements = 512};
  std::optional<Grouping> grouping = std::nullopt;  ///< of all cases, or drawn
  std::optional<KernelTarget> target =
      std::nullopt;  ///< that kernels are for: which ops are one segment decides what may be streamed
};

/// The case of a seed. Every refused attempt must have raised an error of code Schedule, HostProgram or Definition and
/// have left the fusion as it was; else `problem` tells.
Case drawCase(uint64_t seed, const CaseOptions& options, std::string& problem);

/// What went wrong: `kind` is the same for failures of one cause, as the minimiser needs it.
struct Problem {
  std::string kind;
  std::string text;
};

/// Where memory of its own is needed, with copies by a stream; without a device: the processor of the configuration, on
/// the test's memory.
struct RunPlace {
  Device* device = nullptr;
  std::shared_ptr<Stream> stream = nullptr;
};

struct RunOptions {
  RunPlace place = {};
  int64_t replays = 2;      ///< runs of one plan, which must give the same bits
  bool runs_direct = true;  ///< the same bits in direct mode
  bool runs_unstreamed =
      true;  ///< without schedule: the same bits for exact programs, else within the reference's bounds
};

/// What the runs did, summed up over cases.
struct RunTally {
  int64_t programs = 0;
  int64_t streamed_programs = 0;  ///< with a stream loop
  int64_t ops = 0;
  int64_t steps = 0;  ///< of plans
  int64_t views = 0;  ///< statements that give a view where no memory is given
  int64_t runs = 0;
  int64_t elements = 0;
  int64_t refused = 0;
};

/// Runs the case and compares: plan mode with the oracle by the numerics policy, then each run again with the others.
/// Buffers are poisoned; inputs that nothing updates, and what lies between the elements of given outputs, must stay.
std::optional<Problem> findProblem(const Case& drawn, const RunOptions& options, RunTally& tally);
/// The same for any fusion with these inputs.
std::optional<Problem> findProblem(const Fusion& streamed, const Fusion& plain, const std::vector<InputData>& inputs,
                                   const RunConfig& config, const RunOptions& options, RunTally& tally);

/// A smaller case with a problem of the same kind.
Case minimiseCase(const Case& drawn, const RunOptions& options, const std::string& kind);
/// For people: seed, configuration, the program as text, and the command that runs it again.
std::string report(const Case& drawn, const Problem& problem);

/// Small integers for every input of a fusion at its default sizes. Errors: Bind for a symbol without one.
std::vector<InputData> drawDataFor(const Fusion& fusion, uint64_t seed);
/// A device with poisoned memory, one per number of threads, kept while the program runs.
Device& deviceWith(int64_t threads);

/// Inputs as the executor takes them, on memory of their own: with a stream, the device's.
class BoundInputs {
 public:
  BoundInputs(const std::vector<InputData>& data, Device& device, std::shared_ptr<Stream> stream = nullptr);
  const std::vector<RunValue>& values() const { return values_; }
  /// The number of an input, not among `updated`, whose bytes changed; nothing when none did.
  std::optional<size_t> findChanged(const std::vector<bool>& updated);

 private:
  const std::vector<InputData>& data_;
  std::shared_ptr<Stream> stream_;
  std::vector<StoredData> copies_;
  std::vector<RunValue> values_;
};

}  // namespace tokamak::generator
