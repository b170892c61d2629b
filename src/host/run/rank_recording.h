// Rank recording: the steps that a rank of a job would run, without running anything and without the others.
#pragma once

#include <memory>

#include "dist/unconnected_communicator.h"
#include "host/check/step_list.h"
#include "host/ir/host_ir_container.h"
#include "host/ir/loop_limit.h"
#include "host/local/local_program.h"

namespace tokamak {

struct RankRecordingOptions {
  int64_t number_of_streams = 4;
  int64_t most_iterations = kMostIterations;
};

struct RankRecording {
  StepList steps;
  std::unique_ptr<UnconnectedCommunicator> communicator;  ///< whose works the steps have that communicate
};

/// As an evaluator of the local program would record a plan, each segment one work, with fresh inputs; `scalars`: of
/// all extents that inputs have and of what steers the program, in scalars of it.
/// Errors: those of a run's recording: HostProgram, Usage and others for what this rank cannot do or ask for.
RankRecording recordRank(const HostIrContainer& local, JobRank rank, const ScalarBindings& scalars,
                         const RankRecordingOptions& options = {});

}  // namespace tokamak
