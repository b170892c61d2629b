// Random programs with random marks of devices run on ranks: marks are propagated, reshardings made and lowered, the
// program over ranks proved, and what the ranks give together is what one device gives. Ranks are threads; under mpirun
// (tests/dist/under_mpirun.py) they are its processes, each of which draws the same programs from the same seeds.
#include <cstdlib>
#include <iostream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "analysis/bind_shape.h"
#include "compile/agreed_steps.h"
#include "compile/program_on_ranks.h"
#include "compile/rank_proof.h"
#include "dist/mpi/mpi_communicator.h"
#include "generator/draw_data.h"
#include "generator/draw_marks.h"
#include "generator/draw_program.h"
#include "generator/environment.h"
#include "graph/fusion_passes.h"
#include "host/sanitized_share.h"
#include "ir/clone.h"
#include "ir/text/fusion_printer.h"
#include "jit/open_device.h"
#include "oracle/reference.h"

namespace tokamak {
namespace {

using namespace generator;

// Who runs the programs.
struct Job {
  int64_t ranks = 6;
  std::unique_ptr<Communicator> process = {};  // null: ranks are threads

  bool isFirst() const { return process == nullptr || process->rank() == 0; }
};

Job thisJob() {
  if (std::getenv("TOKAMAK_TEST_UNDER_MPIRUN") == nullptr) return {};
  Job job{.process = mpiCommunicator(openCpuDevice({.threads = 1, .poisons_memory = true}))};
  job.ranks = job.process->size();
  return job;
}

std::vector<RunValue> toTensors(std::vector<InputData>& data, Device& device) {
  std::vector<RunValue> values;
  for (InputData& each : data) {
    if (const auto* scalar = std::get_if<ScalarValue>(&each)) {
      values.emplace_back(*scalar);
      continue;
    }
    auto& stored = std::get<StoredData>(each);
    values.emplace_back(Tensor::borrowHost(device, stored.bytes.data() + stored.offset * sizeOf(stored.dtype),
                                           stored.dtype, stored.sizes, stored.strides.data(), false));
  }
  return values;
}

ScalarBindings bindingsOf(const Fusion& program, const std::vector<InputData>& data) {
  ScalarBindings bindings;
  for (size_t i = 0; i < data.size(); ++i) {
    if (const auto* tensor = std::get_if<StoredData>(&data[i]))
      bindShape(*asTensor(program.inputs()[i]), tensor->sizes, bindings);
    else
      bindings[asScalar(program.inputs()[i])] = std::get<ScalarValue>(data[i]);
  }
  return bindings;
}

struct RanksTally {
  int64_t communications = 0;
  int64_t outputs = 0;
  int64_t streams = 0;
  int64_t refused = 0;  // some exchanges of parts of short axes
};

// Refusals are counted, not failures: they are no wrong numbers. (An agreed error names the rank before.)
bool isRefusal(const Error& error) {
  return error.code() == ErrorCode::HostProgram && error.message().find("local program: ") != std::string::npos;
}

void prove(const Fusion& marked, const std::vector<InputData>& data, const HostLoweringOptions& lowering, int64_t ranks,
           RanksTally& tally) {
  const std::unique_ptr<HostIrContainer> lowered = lowerToRanks(marked, lowering);
  const RankProof proof = proveRanks(*lowered, bindingsOf(*lowered, data), {.ranks = ranks, .lowering = lowering});
  for (const RankFinding& finding : proof.findings) ADD_FAILURE() << finding.message;
  tally.communications += proof.communications;
}

void run(const Fusion& marked, const Fusion& plain, std::vector<InputData> data, const HostLoweringOptions& lowering,
         const Job& job, RanksTally& tally) {
  const auto device = openCpuDevice({.threads = 1});
  const std::shared_ptr<Stream> stream = device->createStream();
  std::unique_ptr<ProgramOnRanks> program;
  std::unique_ptr<oracle::Reference> reference;
  const auto prepare = [&] {
    if (job.isFirst()) prove(marked, data, lowering, job.ranks, tally);
    if (job.isFirst()) reference = std::make_unique<oracle::Reference>(plain, toOracle(data));
    program = std::make_unique<ProgramOnRanks>(marked, RanksOptions{.ranks = job.ranks,
                                                                    .lowering = lowering,
                                                                    .run = {.segments = SegmentMode::OpByOp},
                                                                    .device = {.threads = 1, .poisons_memory = true},
                                                                    .process = job.process.get()});
  };
  if (job.process == nullptr)
    prepare();
  else
    agree(*job.process, "prepare", prepare);
  const std::vector<Tensor> outputs = program->run(toTensors(data, *device), {}, *device, stream);
  if (!job.isFirst()) return;
  ASSERT_EQ(outputs.size(), plain.outputs().size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const oracle::Comparison comparison =
        reference->compare(i, {outputs[i].dtype(), outputs[i].sizes(), outputs[i].strides(),
                               static_cast<const std::byte*>(outputs[i].hostDataToRead())});
    EXPECT_TRUE(comparison.isOk()) << "output " << i << " differs";
    ++tally.outputs;
  }
}

// Of a mark, before anything runs.
bool isStreamRefusal(const Error& error) {
  return error.code() == ErrorCode::Schedule ||
         (error.code() == ErrorCode::HostProgram && error.message().find("Stream o") != std::string::npos);
}

// Stream marks one after the other, as long as the program can be lowered with them; how many.
int64_t drawStreams(std::unique_ptr<Fusion>& marked, Random& random, const HostLoweringOptions& lowering) {
  int64_t streams = 0;
  for (int i = 0; i < 4; ++i) {
    std::unique_ptr<Fusion> more = cloneFusion(*marked);
    try {
      drawStream(*more, random);
      lowerToRanks(*more, lowering);
    } catch (const Error& error) {
      EXPECT_TRUE(isStreamRefusal(error)) << error.what() << "\n" << printFusion(*more);
      continue;
    }
    marked = std::move(more);
    ++streams;
  }
  return streams;
}

enum class WithStreams : uint8_t { No, Yes };

// TOKAMAK_RANKS_PROGRAMS raises the number for longer runs; TOKAMAK_FUZZ_SEED is the first seed.
void runPrograms(WithStreams with_streams) {
  const uint64_t first = fromEnvironment("TOKAMAK_FUZZ_SEED", 1);
  const uint64_t programs = fromEnvironment("TOKAMAK_RANKS_PROGRAMS", static_cast<uint64_t>(1000 / kShare));
  const Job job = thisJob();
  RanksTally tally;
  for (uint64_t seed = first; seed < first + programs; ++seed) {
    const Program program = drawProgram(seed, {.max_ops = 8, .max_elements = 128});
    const auto plain = build(program);
    Random random(seed);
    std::unique_ptr<Fusion> marked = cloneFusion(*fusionPass("unify-extents").run(*plain));
    drawMarks(*marked, random, job.ranks, seed % 2 == 0 ? DrawnMarks::OfFew : DrawnMarks::OfMost);
    constexpr Grouping kGroupings[] = {Grouping::Fused, Grouping::Segments, Grouping::Single};
    const HostLoweringOptions lowering = {.grouping = kGroupings[seed % 3]};
    if (with_streams == WithStreams::Yes) tally.streams += drawStreams(marked, random, lowering);
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, printFusion(*marked)));
    try {
      run(*marked, *plain, drawData(program, seed), lowering, job, tally);
    } catch (const Error& error) {
      if (!isRefusal(error)) ADD_FAILURE() << error.what();
      ++tally.refused;
    }
    const int64_t is_over = testing::Test::HasFailure() ? 1 : 0;
    if ((job.process == nullptr ? is_over : saidByFirst(*job.process, is_over)) != 0) break;
  }
  if (!job.isFirst()) return;
  std::cout << fmt::format("{} communications, {} outputs, {} streams, {} of {} programs refused\n",
                           tally.communications, tally.outputs, tally.streams, tally.refused, programs);
  EXPECT_GT(tally.communications, 0);
  EXPECT_EQ(tally.streams > 0, with_streams == WithStreams::Yes);
  EXPECT_LE(static_cast<uint64_t>(tally.refused) * 100, programs);
}

TEST(ProgramsOnRanks, GiveWhatOneDeviceGives) { runPrograms(WithStreams::No); }

TEST(ProgramsOnRanks, GiveItWithStreams) { runPrograms(WithStreams::Yes); }

}  // namespace
}  // namespace tokamak
