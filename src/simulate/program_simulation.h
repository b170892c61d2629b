// ProgramSimulation: what a host program takes on a job of ranks, by a model of their machine (docs/simulate.md).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/trace.h"
#include "host/ir/host_ir_container.h"
#include "host/ir/loop_limit.h"
#include "host/ir/segment_mode.h"
#include "simulate/job_timeline.h"
#include "simulate/machine.h"
#include "simulate/simulated_job.h"

namespace tokamak {

/// Whether ranks that are equal up to their coordinate are simulated once, which is exact, or each by itself.
enum class SimulatedRanks : uint8_t { Classes, All };

struct SimulationOptions {
  int64_t ranks = 1;
  std::string transport = "nccl";  ///< of all communications, one of the machine's
  int64_t number_of_streams = 4;
  SegmentMode segments = SegmentMode::Kernels;
  int64_t most_iterations = kMostIterations;
  SimulatedRanks simulated = SimulatedRanks::Classes;
  /// What a rank's local program goes through before it is planned (finishHostProgram()); none: it stays as it is.
  std::function<void(HostIrContainer&)> finish = {};
};

/// A task of a rank on the timeline.
struct SimulatedTask {
  int32_t stream = 0;
  std::string text = {};
  TaskSpan span = {};
  std::vector<int32_t> after = {};  ///< earlier tasks of the rank that it waits for
  bool is_communication = false;
};

/// Ranks with one timeline.
struct SimulatedClass {
  std::vector<int64_t> ranks;
  int64_t peak_bytes = 0;                        ///< of inputs, outputs and intermediates, per rank
  std::array<double, kRankResources> busy = {};  ///< of the whole time, what of each resource work took: 0 to 1
  std::vector<std::string> streams;              ///< their names
  std::vector<SimulatedTask> tasks;
};

struct ProgramSimulation {
  double seconds = 0;
  double compute_seconds = 0;        ///< the same steps, where communications take no time
  double communication_seconds = 0;  ///< the same steps, where kernels take none
  std::vector<SimulatedClass> classes;

  /// The longer one of both by the whole time: 1 where the shorter one costs nothing.
  double overlap() const;
};

/// Of a call with these whole extents; scalar inputs are 1. Nothing runs.
/// Errors: Usage for a number of ranks that is not 1 to 1024, a transport or a rate that the machine has not, and what
/// requireLegal() says of it; HostProgram where ranks do not mean the same communication, or wait for one another for
/// good; Unsupported for a reduction by a transport that cannot; those of localProgram(), `finish` and plans, with the
/// rank.
ProgramSimulation simulate(const HostIrContainer& program, const ScalarBindings& extents, const Machine& machine,
                           const SimulationOptions& options);

/// A program that somebody may choose, with its extents.
struct SimulationCandidate {
  const HostIrContainer* program = nullptr;
  ScalarBindings extents = {};
};
/// The predicted seconds of each: for who chooses the number of chunks, or a transport. Errors: as simulate().
std::vector<double> predictedSeconds(std::span<const SimulationCandidate> candidates, const Machine& machine,
                                     const SimulationOptions& options);

/// Tells the timeline: a track per stream of each class, spans of its tasks, an arrow per wait for another stream.
void traceSimulation(const ProgramSimulation& simulation, TraceObserver& trace);
/// "rank 3", "4 ranks as rank 0".
std::string nameOf(const SimulatedClass& ranks);

}  // namespace tokamak
