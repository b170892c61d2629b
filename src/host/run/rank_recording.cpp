#include "host/run/rank_recording.h"

#include <utility>
#include <vector>

#include "analysis/bind_shape.h"
#include "host/plan/recorder.h"
#include "host/run/rank_communications.h"
#include "host/run/statement_runner.h"

namespace tokamak {

namespace {

// What the program allocated and gives out belongs to the caller, as plans have it.
void giveOutputs(const HostIrContainer& program, const StatementRunner& runner, const Recorder& recorder,
                 StepList& list) {
  int64_t outputs = 0;
  for (TensorView* output : program.outputs()) {
    const RunTensor& value = runner.value(output);
    StepBuffer& buffer = list.buffers[static_cast<size_t>(recorder.resolve(value.address).buffer)];
    if (buffer.origin != StepBuffer::Origin::Intermediate) continue;
    buffer.origin = StepBuffer::Origin::Output;
    buffer.number = outputs++;
    if (value.storage != nullptr) value.storage->disown();
  }
  std::erase_if(list.steps, [&](const Step& step) {
    return step.kind == StepKind::Allocate &&
           list.buffers[static_cast<size_t>(step.accesses[0].buffer)].origin == StepBuffer::Origin::Output;
  });
}

}  // namespace

RankRecording recordRank(const HostIrContainer& local, JobRank rank, const ScalarBindings& scalars,
                         const RankRecordingOptions& options) {
  RankRecording made = {.steps = {},
                        .communicator = std::make_unique<UnconnectedCommunicator>(rank.number, rank.ranks)};
  RankCommunications communications(local, *made.communicator);
  Recorder recorder(nullptr);
  WorkCache works;
  RunStreams streams(recorder, options.number_of_streams);
  {
    StatementRunner runner(local, recorder, recorder.callerStream(), streams, works);
    runner.setSegmentMode(SegmentMode::Kernels);
    runner.setMostIterations(options.most_iterations);
    runner.setCommunications(communications);
    runner.scalars().insert(scalars.begin(), scalars.end());
    int64_t number = 0;
    for (TensorView* input : tensorsOf(local.inputs())) {
      RunTensor value = {.dtype = input->dtype(), .kind = input->memoryKind(), .sizes = sizesOf(*input, scalars)};
      value.strides = freshStrides(*input, value.sizes);
      value.address = recorder.registerBuffer({.origin = StepBuffer::Origin::Input,
                                               .number = number++,
                                               .bytes = spanOf(value.sizes, value.strides) * sizeOf(value.dtype),
                                               .kind = value.kind,
                                               .name = nameOf(*input)});
      runner.bind(input, std::move(value));
    }
    runner.run();
    giveOutputs(local, runner, recorder, recorder.steps());
    made.steps = recorder.steps();  // what is let go when the runner goes is not part of it
  }
  return made;
}

}  // namespace tokamak
