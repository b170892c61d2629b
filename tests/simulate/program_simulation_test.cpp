// What host programs take by the model: closed forms, classes of ranks that are exact, and what is refused.
#include "simulate/program_simulation.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compile/lower_fusion.h"
#include "error_of.h"
#include "host/ir/text/host_parser.h"
#include "program_of.h"

namespace tokamak {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Microseconds and bytes: memory 1000, links 100 bytes in each; kernels begin after 1 of them.
Machine testMachine() {
  Machine machine{.name = "test", .ranks_per_host = 1024, .multiprocessors = 4, .copy_engines = 2};
  machine.memory_bandwidth = 1e9;
  machine.function_rate = 1e12;
  machine.product_rates = {{DataType::F32, 1e12}, {DataType::BF16, 1e12}};
  machine.kernel_latency = 1e-6;
  machine.host_link = {.latency = 0, .bandwidth = 1e8};
  machine.transports["ring"] = {.latency = 5e-6, .multiprocessors = 1};
  machine.transports["copy"] = {
      .algorithm = TransportAlgorithm::Direct, .latency = 2e-6, .step_latency = 1e-6, .copy_engines = 1};
  return machine;
}

SimulationOptions optionsFor(int64_t ranks, const std::string& transport = "ring") {
  SimulationOptions options{.ranks = ranks, .transport = transport};
  options.finish = [](HostIrContainer& local) { finishHostProgram(local, {}); };
  return options;
}

ProgramSimulation simulated(const std::string& text, const SimulationOptions& options,
                            const Machine& machine = testMachine()) {
  const auto program = parseHostProgram(text, "test.host_ir");
  return simulate(*program, {}, machine, options);
}

std::string refusal(const std::string& text, int64_t ranks, const Machine& machine = testMachine(),
                    const std::string& transport = "ring") {
  return errorOf([&] { simulated(text, optionsFor(ranks, transport), machine); }).message();
}

// Rank r has part of 1000 / ranks rows, negates it, and all get all of it.
std::string gatherBehindKernel(int64_t ranks) {
  std::string mesh = "0";
  for (int64_t rank = 1; rank < ranks; ++rank) mesh += fmt::format(" {}", rank);
  const int64_t part = 1000 / ranks;
  const auto own = [&](int tensor) {
    return fmt::format("T{}_g_float[ideviceIdx.x{}{{{}}}, iS{}{{{}}}] (DeviceMesh{{{}}})", tensor, 10 * tensor, ranks,
                       10 * tensor + 1, part, mesh);
  };
  const std::string all = fmt::format("T2_g_float[iS20{{{}}}, iS21{{{}}}] (DeviceMesh{{{}}})", ranks, part, mesh);
  return fmt::format(
      "%HostIrContainer {{ ({0}) -> ({2}) :\n  {1}\n     = -{0};\n"
      "  Communication 0 (type=Allgather, team=({3}), input={1}, output={2}, backend=NCCL)\n"
      "  Wait Communication 0\n}} // %HostIrContainer\n",
      own(0), own(1), all, mesh);
}

TEST(Simulate, OneKernelTakesItsBytes) {
  const auto fusion = fusionFrom("fusion f(T0: f32[1000]) -> T1 { T1 = neg(T0) }");
  const auto program = lowerToHostProgram(*fusion, {});
  const ProgramSimulation simulation = simulate(*program, {}, testMachine(), {.transport = "ring"});
  EXPECT_NEAR(simulation.seconds, 1e-6 + 8000 / 1e9, 1e-12);
  ASSERT_EQ(simulation.classes.size(), 1);
  EXPECT_EQ(simulation.classes[0].peak_bytes, 8000);
  EXPECT_EQ(simulation.overlap(), 1);
}

TEST(Simulate, AProductTakesItsArithmetic) {
  const auto fusion = fusionFrom("fusion f(T0: f32[400, 800], T1: f32[800, 500]) -> T2 { T2 = matmul(T0, T1) }");
  const auto program = lowerToHostProgram(*fusion, {});
  Machine machine = testMachine();
  machine.memory_bandwidth = 1e15;
  const ProgramSimulation simulation = simulate(*program, {}, machine, {.transport = "ring"});
  EXPECT_NEAR(simulation.seconds, 1e-6 + 2.0 * 400 * 800 * 500 / 1e12, 1e-12);
  machine.product_rates.erase(DataType::F32);
  const Error error = errorOf([&] { simulate(*program, {}, machine, {.transport = "ring"}); });
  EXPECT_EQ(error.code(), ErrorCode::Usage);
  EXPECT_THAT(error.message(), HasSubstr("it has no rate for products of f32, as in T2 = matmul(T0, T1)"));
}

TEST(Simulate, AnAllgatherBehindAKernelTakesBoth) {
  for (const int64_t ranks : {2, 4}) {
    const ProgramSimulation simulation = simulated(gatherBehindKernel(ranks), optionsFor(ranks));
    const double part = 4000.0 / static_cast<double>(ranks);
    const double kernel = 1e-6 + 2 * part / 1e9;
    const double gather = 5e-6 + (4000 - part) / 1e8;
    EXPECT_NEAR(simulation.seconds, kernel + gather, 1e-11);
    EXPECT_NEAR(simulation.compute_seconds, kernel, 1e-11);
    EXPECT_NEAR(simulation.communication_seconds, gather, 1e-11);
    ASSERT_EQ(simulation.classes.size(), 1);
    EXPECT_EQ(static_cast<int64_t>(simulation.classes[0].ranks.size()), ranks);
  }
}

// One copy in, and one out, behind it on the same stream.
TEST(Simulate, CopiesToAndFromTheHostTakeItsLink) {
  const auto fusion = fusionFrom(
      "fusion f(T0: f32[1000] in pinned, T1: f32[1000] in device) -> T2, T3 {"
      " T2: f32[1000] in device = set(T0) T3: f32[1000] in pinned = set(T1) }");
  const auto program = lowerToHostProgram(*fusion, {.grouping = Grouping::Single});
  Machine machine = testMachine();
  machine.kernel_latency = 0;
  const double as_device = simulate(*program, {}, machine, {.transport = "ring"}).seconds;
  EXPECT_NEAR(as_device, 2 * 4000 / 1e9, 1e-12);
  machine.host_memory = MachineLink{.latency = 3e-6, .bandwidth = 1e8};
  const ProgramSimulation simulation = simulate(*program, {}, machine, {.transport = "ring"});
  EXPECT_NEAR(simulation.seconds, 2 * (3e-6 + 4000 / 1e8), 1e-12);
  EXPECT_EQ(simulation.classes[0].peak_bytes, 8000);
  EXPECT_NEAR(simulation.classes[0].busy[static_cast<size_t>(RankResource::HostIn)], 40 / 86.0, 1e-9);
}

// The host gives the steps to the streams one after the other.
TEST(Simulate, TheHostIssuesStepByStep) {
  const auto fusion = fusionFrom("fusion f(T0: f32[1000]) -> T1 { T1 = neg(T0) }");
  const auto program = lowerToHostProgram(*fusion, {});
  Machine machine = testMachine();
  machine.host_launch = 1e-3;
  EXPECT_NEAR(simulate(*program, {}, machine, {.transport = "ring"}).seconds, 1e-3 + 9e-6, 1e-12);
}

// By the ring, blocks of the product find one of four multiprocessors taken; by copies none.
TEST(Simulate, TransportsTakeMultiprocessorsFromProducts) {
  std::ifstream file(std::string(TOKAMAK_TEST_DIR) + "/golden/ag_linear.two-loops.host_ir");
  std::stringstream text;
  text << file.rdbuf();
  Machine machine = testMachine();
  machine.host_link.bandwidth = 1e9;
  machine.memory_bandwidth = 1e13;
  machine.kernel_latency = 0;
  machine.transports["ring"].latency = machine.transports["copy"].latency = 1e-6;
  machine.transports["copy"].step_latency = 0;
  SimulationOptions options = optionsFor(2);
  options.number_of_streams = 8;
  const double chunk = 64.0 * 1024 * 2 / 1e9 + 1e-6;         // gathered by each rank
  const double product = 2.0 * 2 * 64 * 1024 * 1024 / 1e12;  // of a chunk, and the sums with the bias
  const double sums = 2.0 * 64 * 1024 / 1e12;
  const double alone = product + sums;
  options.transport = "copy";
  // Gathers take less than products: fill and all products.
  EXPECT_NEAR(simulated(text.str(), options, machine).seconds, chunk + 8 * alone, 2e-7);
  options.transport = "ring";
  const double held = 7 * chunk;  // beside the first products
  EXPECT_NEAR(simulated(text.str(), options, machine).seconds, chunk + 8 * alone + held / 4, 2e-7);
}

// Ranks of one class have one timeline, which is what they have when each is simulated.
TEST(Simulate, ClassesOfRanksAreExact) {
  const std::filesystem::path root = TOKAMAK_TEST_DIR;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(root / "text" / "ranks"))
    if (entry.path().extension() == ".host_ir") files.push_back(entry.path());
  ASSERT_GE(files.size(), 9);
  std::vector<std::string> texts = {gatherBehindKernel(8), gatherBehindKernel(20)};
  for (const auto& path : files) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    texts.push_back(text.str());
  }
  for (const std::string& text : texts) {
    SCOPED_TRACE(text.substr(0, 400));
    const auto program = parseHostProgram(text, "test.host_ir");
    ScalarBindings extents;
    for (const Scalar* symbol : program->allSymbols())
      if (symbol->name() == "n") extents[symbol] = int64_t{8};
    SimulationOptions options = optionsFor(24);
    const ProgramSimulation by_classes = simulate(*program, extents, testMachine(), options);
    options.simulated = SimulatedRanks::All;
    const ProgramSimulation all = simulate(*program, extents, testMachine(), options);
    ASSERT_EQ(all.classes.size(), 24);
    EXPECT_LT(by_classes.classes.size(), 24);
    EXPECT_NEAR(by_classes.seconds, all.seconds, 1e-12 * all.seconds);
    for (const SimulatedClass& same : by_classes.classes) {
      for (const int64_t rank : same.ranks) {
        const SimulatedClass& own = all.classes[static_cast<size_t>(rank)];
        ASSERT_EQ(own.tasks.size(), same.tasks.size());
        for (size_t i = 0; i < own.tasks.size(); ++i) EXPECT_NEAR(own.tasks[i].span.end, same.tasks[i].span.end, 1e-15);
        for (size_t i = 0; i < kRankResources; ++i) EXPECT_NEAR(own.busy[i], same.busy[i], 1e-12);
      }
    }
  }
}

TEST(Simulate, AThousandRanksOfOneKindAreOneClass) {
  const ProgramSimulation simulation = simulated(gatherBehindKernel(1000), optionsFor(1000));
  ASSERT_EQ(simulation.classes.size(), 1);
  EXPECT_EQ(nameOf(simulation.classes[0]), "1000 ranks as rank 0");
}

// What a rank sends to the next one, after it has what the one before sent: each is a class of its own.
TEST(Simulate, AChainOfRanksTakesAllItsLinks) {
  constexpr int64_t kRanks = 6;
  const auto on = [](int64_t tensor, int64_t rank) {
    return fmt::format("T{0}_g_float[iS{0}{{100}}] (DeviceMesh{{{1}}})", tensor, rank);
  };
  std::string body;
  for (int64_t rank = 1; rank < kRanks; ++rank) {
    body +=
        fmt::format("  {0} = ALLOCATE(buffer={0}, mem_type=global, size=100, zero_init=false, resets_to_zero=false)\n",
                    on(rank, rank));
    body += fmt::format("  P2PCommunication {} (type=send, buffer={}, peer={}, backend=NCCL)\n", 2 * rank,
                        on(rank - 1, rank - 1), rank);
    body += fmt::format("  P2PCommunication {} (type=recv, buffer={}, peer={}, backend=NCCL)\n", 2 * rank + 1,
                        on(rank, rank), rank - 1);
    body += fmt::format("  Wait Communication {}\n  Wait Communication {}\n", 2 * rank, 2 * rank + 1);
  }
  const std::string text = fmt::format("%HostIrContainer {{ ({}) -> ({}) :\n{}}} // %HostIrContainer\n", on(0, 0),
                                       on(kRanks - 1, kRanks - 1), body);
  const ProgramSimulation simulation = simulated(text, optionsFor(kRanks));
  EXPECT_NEAR(simulation.seconds, (kRanks - 1) * (5e-6 + 400 / 1e8), 1e-11);
  EXPECT_EQ(simulation.classes.size(), kRanks);
}

TEST(Simulate, CandidatesAreComparedByTheirSeconds) {
  const auto two = parseHostProgram(gatherBehindKernel(2), "two.host_ir");
  const auto one = lowerToHostProgram(*fusionFrom("fusion f(T0: f32[1000]) -> T1 { T1 = neg(T0) }"), {});
  const std::vector<SimulationCandidate> candidates = {{two.get(), {}}, {one.get(), {}}};
  const std::vector<double> seconds = predictedSeconds(candidates, testMachine(), optionsFor(2));
  EXPECT_EQ(seconds[0], simulate(*two, {}, testMachine(), optionsFor(2)).seconds);
  EXPECT_LT(seconds[1], seconds[0]);
}

struct Told final : TraceObserver {
  std::vector<std::string> all;
  void span(int64_t track, std::string_view name, int64_t begin_ns, int64_t end_ns) noexcept override {
    all.push_back(fmt::format("{}: {} {}-{}", track, name, begin_ns, end_ns));
  }
  void flowBegin(int64_t track, uint64_t, int64_t at_ns) noexcept override {
    all.push_back(fmt::format("{}: from {}", track, at_ns));
  }
  void flowEnd(int64_t track, uint64_t, int64_t at_ns) noexcept override {
    all.push_back(fmt::format("{}: to {}", track, at_ns));
  }
  void nameTrack(int64_t track, std::string_view name) noexcept override {
    all.push_back(fmt::format("{}: is {}", track, name));
  }
};

TEST(Simulate, TheTimelineIsToldAsOfARun) {
  Told told;
  traceSimulation(simulated(gatherBehindKernel(2), optionsFor(2)), told);
  EXPECT_THAT(told.all, ElementsAre("1: is 2 ranks as rank 0: caller", "2: is 2 ranks as rank 0: communication 1",
                                    "1: T1 = neg(T0) 0-5000", "2: T2 = Communication(T1) 5000-30000", "1: from 5000",
                                    "2: to 5000"));
}

TEST(Simulate, ThereIsOneRankAtLeastAndAThousandAtMost) {
  EXPECT_THAT(refusal(gatherBehindKernel(2), 0), HasSubstr("0 ranks were asked for; 1 to 1024 are legal"));
  EXPECT_THAT(refusal(gatherBehindKernel(2), 1025), HasSubstr("1025 ranks were asked for"));
}

// Rank 0 sends `sent` elements, and rank 1 receives `received`, or does not.
std::string oneTransfer(int64_t sent, int64_t received) {
  const std::string from = fmt::format("T0_g_float[iS0{{{}}}] (DeviceMesh{{0}})", sent);
  const std::string to = fmt::format("T1_g_float[iS1{{{}}}] (DeviceMesh{{1}})", received);
  std::string text = fmt::format("%HostIrContainer {{ ({}, {}) -> () :\n", from, to);
  text += fmt::format("  P2PCommunication 0 (type=send, buffer={}, peer=1, backend=NCCL)\n", from);
  if (received > 0) text += fmt::format("  P2PCommunication 1 (type=recv, buffer={}, peer=0, backend=NCCL)\n", to);
  text += "  Wait Communication 0\n";
  if (received > 0) text += "  Wait Communication 1\n";
  return text + "} // %HostIrContainer\n";
}

TEST(Simulate, RanksThatDoNotMeanTheSameAreToldApart) {
  EXPECT_THAT(refusal(oneTransfer(4, 5), 2), HasSubstr("rank 0 sends 4 elements to rank 1, which expects 5"));
}

TEST(Simulate, RanksThatWaitForGoodAreNamed) {
  EXPECT_THAT(refusal(oneTransfer(4, 0), 2),
              HasSubstr("simulation: ranks wait for others that never come: rank 0 in P2PCommunication"));
}

TEST(Simulate, TensorsThatNoMemoryHoldsAreRefused) {
  const auto fusion = fusionFrom("fusion f(T0: f64[n, n]) -> T1 { T1 = neg(T0) }");
  const auto program = lowerToHostProgram(*fusion, {});
  ScalarBindings extents;
  for (const Scalar* symbol : program->allSymbols()) extents[symbol] = int64_t{1} << 30U;
  EXPECT_THAT(errorOf([&] { simulate(*program, extents, testMachine(), {.transport = "ring"}); }).message(),
              HasSubstr("T0: its size in bytes does not fit 63 bits"));
}

}  // namespace
}  // namespace tokamak
