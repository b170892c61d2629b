// How many chunks, and by which transport, where nobody says so: close to the best of all, whatever the machine.
#include "compile/choose_pipeline.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error_of.h"
#include "ir/text/fusion_parser.h"
#include "program_of.h"
#include "simulate/processor_machine.h"
#include "simulate/program_simulation.h"

namespace tokamak {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr const char* kGathered = R"(
fusion gathered(x: f32[ranks, rows, width] mesh(ranks), w: f32[hidden, width] mesh(ranks)) -> y {
  symbol chunks: i64
  y: f32[ranks, rows, hidden] mesh(ranks) = linear(x, w)
}
schedule {
  parallelize(x, axis=0, type=DIDx)
  split(y, axis=1, factor=chunks, inner_split=false)
  parallelize(y, axis=1, type=Stream)
})";
constexpr const char* kScattered = R"(
fusion scattered(h: f32[ranks, rows, width] mesh(ranks), w: f32[hidden, width] mesh(ranks)) -> y {
  symbol chunks: i64
  y: f32[ranks, rows, hidden] mesh(ranks) = linear(h, w)
}
schedule {
  split(h, axis=2, factor=ranks, inner_split=false)
  parallelize(h, axis=2, type=DIDx)
  split(w, axis=1, factor=ranks, inner_split=false)
  parallelize(w, axis=1, type=DIDx)
  parallelize(y, axis=0, type=DIDx)
  split(y, axis=1, factor=chunks, inner_split=false)
  parallelize(y, axis=1, type=Stream)
})";
constexpr const char* kReducedTwice = R"(
fusion reduced(x: f32[rows, width] mesh(ranks), w: f32[hidden, width] mesh(ranks)) -> y, z {
  symbol a: i64
  symbol b: i64
  y: f32[rows, hidden] mesh(ranks) = linear(x, w)
  e = exp(x)
  z: f32[rows, hidden] mesh(ranks) = linear(e, w)
}
schedule {
  split(x, axis=1, factor=ranks, inner_split=false)
  parallelize(x, axis=1, type=DIDx)
  split(w, axis=1, factor=ranks, inner_split=false)
  parallelize(w, axis=1, type=DIDx)
  split(y, axis=0, factor=a, inner_split=false)
  parallelize(y, axis=0, type=Stream)
  split(z, axis=0, factor=b, inner_split=false)
  parallelize(z, axis=0, type=Stream)
})";

struct OnRanks {
  std::unique_ptr<HostIrContainer> program;
  ScalarBindings extents;
};

OnRanks onRanks(const std::string& text, int64_t ranks, const std::map<std::string, int64_t>& sizes) {
  const auto fusion = parseFusion(text, "test.fusion",
                                  {.resolver = &definingResolver(), .scheduler = &scheduleCommands(), .ranks = ranks});
  OnRanks made{.program = lowerToRanks(*fusion, {}), .extents = {}};
  for (const Scalar* symbol : made.program->allSymbols())
    if (const auto size = sizes.find(symbol->name()); size != sizes.end()) made.extents[symbol] = size->second;
  return made;
}

// What is gained and lost by chunks depends on these. Seconds, bytes and operations per second.
Machine machineWith(double latency, double link, double rate) {
  Machine machine = processorMachine();
  machine.kernel_latency = 4e-6;
  machine.memory_bandwidth = 1e12;
  machine.product_rates[DataType::F32] = rate;
  machine.host_link.bandwidth = link;
  machine.transports = {{"ring", {.latency = latency}}};
  return machine;
}

double secondsWith(const OnRanks& on, int64_t ranks, const Machine& machine, const std::string& transport,
                   int64_t chunks) {
  ScalarBindings extents = on.extents;
  for (const Scalar* symbol : openChunkNumbers(*on.program, on.extents)) extents[symbol] = chunks;
  return simulate(*on.program, extents, machine,
                  {.ranks = ranks,
                   .transport = transport,
                   .finish = [](HostIrContainer& local) { finishHostProgram(local, {}); }})
      .seconds;
}

// Of a sweep over 1 to 64 chunks.
double bestOfSweep(const OnRanks& on, int64_t ranks, const Machine& machine) {
  constexpr int64_t kMost = 64;
  double best = std::numeric_limits<double>::infinity();
  for (int64_t chunks = 1; chunks <= kMost; chunks += std::max<int64_t>(1, chunks / 8))
    best = std::min(best, secondsWith(on, ranks, machine, "ring", chunks));
  return best;
}

TEST(ChoosePipeline, IsWithinThreePercentOfTheBestOfASweep) {
  std::set<int64_t> chosen_numbers;
  for (const auto& [text, ranks] : {std::pair(kGathered, 4), std::pair(kScattered, 2)}) {
    const OnRanks on = onRanks(text, ranks, {{"rows", 1024}, {"width", 2048}, {"hidden", 2048}});
    for (const double latency : {1e-6, 40e-6})
      for (const double link : {1e9, 2e10})
        for (const double rate : {1e12, 2e13}) {
          SCOPED_TRACE(fmt::format("{} ranks, {} s, {} bytes/s, {} ops/s", ranks, latency, link, rate));
          const Machine machine = machineWith(latency, link, rate);
          const PipelineTrial best = choosePipeline(*on.program, on.extents, machine, {.ranks = ranks}).best;
          EXPECT_LE(best.seconds, 1.03 * bestOfSweep(on, ranks, machine));
          EXPECT_EQ(best.seconds, secondsWith(on, ranks, machine, "ring", best.chunks.at("chunks")));
          chosen_numbers.insert(best.chunks.at("chunks"));
        }
  }
  EXPECT_GT(chosen_numbers.size(), 2U) << "the machine has a say";
}

TEST(ChoosePipeline, TakesOneChunkWhereCommunicationCostsNothing) {
  const OnRanks on = onRanks(kGathered, 2, {{"rows", 64}, {"width", 64}, {"hidden", 64}});
  const ChosenPipeline chosen = choosePipeline(*on.program, on.extents, machineWith(0, 1e15, 1e12), {.ranks = 2});
  EXPECT_THAT(chosen.best.chunks, ElementsAre(Pair("chunks", 1)));
}

TEST(ChoosePipeline, TakesTheFasterTransportThatCanDoIt) {
  Machine machine = machineWith(40e-6, 1e9, 1e12);
  machine.transports["copy"] = {.algorithm = TransportAlgorithm::Direct, .latency = 1e-6};
  const OnRanks gathered = onRanks(kGathered, 2, {{"rows", 256}, {"width", 256}, {"hidden", 256}});
  const ChosenPipeline by_copy = choosePipeline(*gathered.program, gathered.extents, machine, {.ranks = 2});
  EXPECT_EQ(by_copy.best.transport, "copy");
  const auto isOfRing = [](const PipelineTrial& trial) { return trial.transport == "ring"; };
  EXPECT_TRUE(std::ranges::any_of(by_copy.trials, isOfRing));
  // Copies cannot add up.
  const OnRanks scattered = onRanks(kScattered, 2, {{"rows", 256}, {"width", 256}, {"hidden", 256}});
  const ChosenPipeline by_ring = choosePipeline(*scattered.program, scattered.extents, machine, {.ranks = 2});
  EXPECT_EQ(by_ring.best.transport, "ring");
  EXPECT_TRUE(std::ranges::all_of(by_ring.trials, isOfRing));
  machine.transports.erase("ring");
  EXPECT_THAT(errorOf([&] { choosePipeline(*scattered.program, scattered.extents, machine, {.ranks = 2}); }).message(),
              HasSubstr("cannot reduce"));
  machine.transports.clear();
  EXPECT_THAT(errorOf([&] { choosePipeline(*scattered.program, scattered.extents, machine, {.ranks = 2}); }).message(),
              HasSubstr("machine ranks on processors: it has no transport, so that none can be chosen"));
}

TEST(ChoosePipeline, HasNoMoreChunksThanTheAxisHasIndices) {
  const OnRanks on = onRanks(kGathered, 2, {{"rows", 3}, {"width", 64}, {"hidden", 64}});
  const ChosenPipeline chosen = choosePipeline(*on.program, on.extents, machineWith(0, 1e6, 1e6), {.ranks = 2});
  std::vector<int64_t> numbers;
  for (const PipelineTrial& trial : chosen.trials) numbers.push_back(trial.chunks.at("chunks"));
  EXPECT_THAT(numbers, ElementsAre(1, 2, 3));
}

TEST(ChoosePipeline, ChoosesOneNumberAfterTheOther) {
  OnRanks on = onRanks(kReducedTwice, 2, {{"rows", 512}, {"width", 2048}, {"hidden", 2048}});
  const Machine machine = machineWith(1e-6, 1e9, 1e12);
  const ChosenPipeline chosen = choosePipeline(*on.program, on.extents, machine, {.ranks = 2});
  ASSERT_THAT(chosen.best.chunks, ElementsAre(Pair("a", testing::Gt(1)), Pair("b", testing::Gt(1))));
  EXPECT_EQ(toString({{"a", 2}, {"b", 3}}), "a = 2, b = 3");
  EXPECT_LT(chosen.best.seconds, secondsWith(on, 2, machine, "ring", 1));
  // What is given is not chosen.
  for (const Scalar* symbol : on.program->allSymbols())
    if (symbol->name() == "a") on.extents[symbol] = int64_t{5};
  EXPECT_THAT(choosePipeline(*on.program, on.extents, machine, {.ranks = 2}).best.chunks,
              ElementsAre(Pair("b", testing::Gt(1))));
}

TEST(ChoosePipeline, LeavesExtentsOfInputsAlone) {
  const OnRanks on = onRanks(R"(
fusion f(x: f32[chunks, ranks, width] mesh(ranks)) -> y { y: f32[chunks, ranks, width] mesh(ranks) = set(x) }
schedule { parallelize(x, axis=1, type=DIDx) parallelize(y, axis=0, type=Stream) })",
                             2, {});
  EXPECT_TRUE(openChunkNumbers(*on.program, {}).empty());
}

}  // namespace
}  // namespace tokamak
