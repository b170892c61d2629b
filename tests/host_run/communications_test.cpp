// Host programs that communicate: plans and direct runs over ranks that are threads, also where a rank fails.
#include <algorithm>
#include <span>
#include <thread>

#include <gtest/gtest.h>

#include "analysis/bind_shape.h"
#include "compile/program_on_ranks.h"
#include "compile/unsharded_fusion.h"
#include "host/local/local_program.h"
#include "host/run/issue_guard.h"
#include "host/run/rank_agreement.h"
#include "host_run/program_text.h"
#include "host_run/run_bench.h"
#include "jit/open_device.h"

namespace tokamak {
namespace {

// Each rank sends its row to the next one.
const HostText kRing = {
    {"T0_g_float[ideviceIdx.x0{3}, iS1{n}] (DeviceMesh{0 1 2})",
     "T1_g_float[ideviceIdx.x2{3}, iS3{n}] (DeviceMesh{0 1 2})",
     "T2_g_float[ideviceIdx.x4{3}, iS5{n}] (DeviceMesh{0 1 2})"},
    "(@T0) -> (@T2)",
    "  @T1 = ALLOCATE(buffer=@T1, mem_type=global, size=( 3 * n ), zero_init=false, resets_to_zero=false)\n"
    "  P2PCommunication 0 (type=send, buffer=@T0, peer=( ( rank + 1 ) % 3 ), backend=Local)\n"
    "  P2PCommunication 1 (type=recv, buffer=@T1, peer=( ( rank + 2 ) % 3 ), backend=Local)\n"
    "  Wait Communication 1\n"
    "  Wait Communication 0\n"
    "  @T2\n     = -@T1;\n"};

const HostText kPermute = {
    {"T0_g_float[ideviceIdx.x0{3}, iS1{n}] (DeviceMesh{0 1 2})",
     "T1_g_float[ideviceIdx.x2{3}, iS3{n}] (DeviceMesh{0 1 2})",
     "T2_g_float[ideviceIdx.x4{3}, iS5{n}] (DeviceMesh{0 1 2})"},
    "(@T0) -> (@T2)",
    "  CollectivePermute 0 (team=(0 1 2), send_peer=( ( rank + 1 ) % 3 ), recv_peer=( ( rank + 2 ) % 3 ), input=@T0, "
    "output=@T1, backend=Local)\n"
    "  Wait Communication 0\n"
    "  @T2\n     = -@T1;\n"};

// The sum of the rows of all ranks, for each of which it is computed of what T1 says.
const HostText kSum = {{"T0_g_float[ideviceIdx.x0{2}, iS1{n}] (DeviceMesh{0 1})",
                        "T1_g_float[rS2{2}, iS3{n}] (DeviceMesh{0 1}) (Partial{sum DIDx})",
                        "T2_g_float[iS4{n}] (DeviceMesh{0 1})", "T3_g_float[iS5{n}] (DeviceMesh{0 1})"},
                       "(@T0) -> (@T3)",
                       "  @T1\n     = reduction( @T0, op = add, initial value = float(0), allreduce = false )\n"
                       "  Communication 0 (type=Allreduce, team=(0 1), input=@T1, output=@T2, backend=Local)\n"
                       "  Wait Communication 0\n"
                       "  @T3\n     = -@T2;\n"};

class Communications : public testing::TestWithParam<Mode> {
 protected:
  RanksOptions options(int64_t ranks) const {
    return {.ranks = ranks, .run = {.mode = GetParam()}, .device = {.threads = 1, .poisons_memory = true}};
  }
  std::vector<double> run(ProgramOnRanks& program, std::vector<RunValue> inputs) {
    return numbersOf(program.run(inputs, {}, bench_.device, bench_.stream)[0]);
  }
  RunBench bench_;
};

TEST_P(Communications, MoveRowsAroundARingOfPeersThatAreComputedOfTheRank) {
  for (const HostText* text : {&kRing, &kPermute}) {
    ProgramOnRanks program(hostProgramOf(*text), options(3));
    for (int64_t repeat = 0; repeat < 3; ++repeat) {
      const std::vector<double> given = run(program, {bench_.numbers(DataType::F32, {3, 2}, {1, 2, 3, 4, 5, 6})});
      EXPECT_EQ(given, (std::vector<double>{-5, -6, -1, -2, -3, -4}));
    }
    EXPECT_EQ(run(program, {bench_.numbers(DataType::F32, {3, 1}, {1, 2, 3})}), (std::vector<double>{-3, -1, -2}));
  }
}

TEST_P(Communications, RunInJobsWithRanksThatHaveNoPart) {
  ProgramOnRanks program(hostProgramOf(kSum), options(4));
  EXPECT_EQ(run(program, {bench_.numbers(DataType::F32, {2, 2}, {1, 2, 3, 4})}), (std::vector<double>{-4, -6}));
}

// The works of a rank that died are a typed error on the others. (One operation compares what the ranks run.)
TEST_P(Communications, EndWithTheDeathOfARank) {
  RanksOptions dying = options(2);
  dying.communication.faults.death = LocalDeath{.rank = 1, .operation = 3};
  ProgramOnRanks program(hostProgramOf(kSum), dying);
  const Tensor input = bench_.numbers(DataType::F32, {2, 1}, {1, 2});
  for (int i = 0; i < 2; ++i) EXPECT_EQ(run(program, {input}), (std::vector<double>{-3}));
  const Error error = errorOf([&] { run(program, {input}); });
  EXPECT_EQ(error.code(), ErrorCode::Device);
  EXPECT_NE(error.message().find("rank 1 died in Allreduce"), std::string::npos) << error.message();
}

// Rank 1 is given a row of another size: it tells the others, and all form a new team for the next call.
TEST_P(Communications, FailOnAllRanksWithTheErrorOfOneAndGoOn) {
  std::vector<std::shared_ptr<Device>> devices;
  for (int i = 0; i < 2; ++i) devices.push_back(openCpuDevice({.threads = 1}));
  const auto communicators = makeLocalCommunicators(devices);
  const auto whole = hostProgramOf(kSum);
  std::vector<std::unique_ptr<HostIrEvaluator>> evaluators;
  for (int64_t rank = 0; rank < 2; ++rank) {
    auto local = localProgram(*whole, {.number = rank, .ranks = 2});
    finishHostProgram(*local, {});
    evaluators.push_back(std::make_unique<HostIrEvaluator>(
        std::move(local), *devices[static_cast<size_t>(rank)],
        HostIrEvaluatorParams{.mode = GetParam(), .communicator = communicators[static_cast<size_t>(rank)].get()}));
  }
  std::vector<std::string> said(2);
  const auto call = [&](int64_t axes_of_rank_1) {
    std::vector<std::thread> threads;
    for (size_t rank = 0; rank < 2; ++rank) {
      threads.emplace_back([&, rank] {
        const auto stream = devices[rank]->createStream();
        const std::vector<int64_t> sizes =
            rank == 1 && axes_of_rank_1 == 1 ? std::vector<int64_t>{4} : std::vector<int64_t>{1, 4};
        Tensor own = Tensor::emptyOnHost(*devices[rank], stream, DataType::F32, sizes);
        std::ranges::fill(std::span(static_cast<float*>(own.hostData()), 4), 1.0F);
        try {
          const auto given = evaluators[rank]->runWithInput(bound(evaluators[rank]->program(), {own}), stream);
          stream->synchronize();
          said[rank] = std::to_string(numbersOf(given[0])[3]);
        } catch (const Error& error) {
          said[rank] = std::string(errorCodeName(error.code())) + ": " + error.message();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  };
  for (int i = 0; i < 3; ++i) {
    call(2);
    EXPECT_EQ(said, (std::vector<std::string>{"-2.000000", "-2.000000"}));
    call(1);
    EXPECT_NE(said[0].find("device: rank 1 left team (0 1)"), std::string::npos) << said[0];
    EXPECT_EQ(said[1].substr(0, 5), "bind:") << said[1];
  }
}

// --- agreement before the first run ---

// Two ranks, each with a local program of its own choice, called side by side.
class TwoRanks {
 public:
  TwoRanks(const HostText& of_rank_0, const HostText& of_rank_1, Mode mode) {
    for (int i = 0; i < 2; ++i) devices_.push_back(openCpuDevice({.threads = 1}));
    communicators_ = makeLocalCommunicators(devices_);
    for (size_t rank = 0; rank < 2; ++rank) {
      const auto whole = hostProgramOf(rank == 0 ? of_rank_0 : of_rank_1);
      auto local = localProgram(*whole, {.number = static_cast<int64_t>(rank), .ranks = 2});
      finishHostProgram(*local, {});
      evaluators_.push_back(std::make_unique<HostIrEvaluator>(
          std::move(local), *devices_[rank],
          HostIrEvaluatorParams{.mode = mode, .communicator = communicators_[rank].get()}));
    }
  }

  // What each rank says with so many ones of its own in each row: the last element, or the error with its notes.
  std::vector<std::string> call(const std::vector<int64_t>& columns, const std::vector<int64_t>& rows = {1, 1}) {
    std::vector<std::string> said(2);
    {
      std::vector<std::jthread> threads;
      for (size_t rank = 0; rank < 2; ++rank)
        threads.emplace_back([&, rank] { said[rank] = callOn(rank, rows[rank], columns[rank]); });
    }
    return said;
  }

 private:
  std::string callOn(size_t rank, int64_t rows, int64_t columns) {
    const auto stream = devices_[rank]->createStream();
    Tensor own = Tensor::emptyOnHost(*devices_[rank], stream, DataType::F32, std::vector<int64_t>{rows, columns});
    std::ranges::fill(std::span(static_cast<float*>(own.hostData()), static_cast<size_t>(rows * columns)), 1.0F);
    try {
      const auto given = evaluators_[rank]->runWithInput(bound(evaluators_[rank]->program(), {own}), stream);
      stream->synchronize();
      return std::to_string(numbersOf(given[0]).back());
    } catch (const Error& error) {
      return std::string(errorCodeName(error.code())) + ": " + error.what();
    }
  }

  std::vector<std::shared_ptr<Device>> devices_;
  std::vector<std::unique_ptr<Communicator>> communicators_;
  std::vector<std::unique_ptr<HostIrEvaluator>> evaluators_;
};

TEST_P(Communications, AreRefusedOnAllRanksInTheSameWordsWhereSizesDiffer) {
  TwoRanks ranks(kSum, kSum, GetParam());
  const std::string refusal = "device: host_program: its ranks do not run the same: n is 4 on rank 0 and 6 on rank 1";
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(ranks.call({4, 6}), (std::vector<std::string>{refusal, refusal}));
    EXPECT_EQ(ranks.call({4, 4}), (std::vector<std::string>{"-2.000000", "-2.000000"}));
    // Known teams do not compare again: the communication itself does.
    const std::vector<std::string> said = ranks.call({4, 6});
    for (const std::string& each : said) EXPECT_NE(each.find("the counts differ"), std::string::npos) << each;
  }
}

TEST_P(Communications, AreRefusedOnAllRanksWhereProgramsDiffer) {
  HostText other = kSum;
  other.body.replace(other.body.find("-@T2"), 4, "sin(@T2)");
  TwoRanks ranks(kSum, other, GetParam());
  const std::vector<std::string> said = ranks.call({4, 4});
  EXPECT_EQ(said[0], said[1]);
  EXPECT_NE(said[0].find("its ranks do not run the same: the program is host_program with the hash "),
            std::string::npos)
      << said[0];
}

TEST_P(Communications, NameRankMeshAndAxisOfALocalSizeThatDoesNotFit) {
  TwoRanks ranks(kSum, kSum, GetParam());
  const std::vector<std::string> said = ranks.call({4, 4}, {1, 2});
  EXPECT_NE(said[1].find("axis 0 must have size 1 (1), but has 2\n  on rank 1, which has a part of axis 0 "
                         "(DIDx) of T0 on mesh (0 1)"),
            std::string::npos)
      << said[1];
  EXPECT_NE(said[0].find("rank 1 left team (0 1)"), std::string::npos) << said[0];
}

TEST(RankAgreement, ComparesWhatTwoRanksHaveANameForAndListsAllThatDiffers) {
  std::vector<std::shared_ptr<Device>> devices;
  for (int i = 0; i < 3; ++i) devices.push_back(openCpuDevice({.threads = 1}));
  const auto communicators = makeLocalCommunicators(devices);
  const auto said = [&](const std::vector<RunFacts>& facts) {
    std::vector<std::string> each(3);
    {
      std::vector<std::jthread> threads;
      for (size_t rank = 0; rank < 3; ++rank) {
        threads.emplace_back([&, rank] {
          const auto team = communicators[rank]->team(std::vector<int64_t>{0, 1, 2});
          each[rank] = refusalOf([&] { requireAgreement(*team, *devices[rank], "mlp", facts[rank]); });
        });
      }
    }
    EXPECT_EQ(each[0], each[1]);
    EXPECT_EQ(each[0], each[2]);
    return each[0];
  };
  EXPECT_EQ(said({{{"a", "1"}, {"b", ""}}, {{"b", ""}}, {{"c", "3"}, {"a", "1"}}}), "internal: nothing was raised");
  EXPECT_EQ(said({{{"a", "1"}, {"b", "x y"}}, {{"b", "x"}, {"a", "1"}}, {{"a", "2"}, {"b", "x y"}}}),
            "device: mlp: its ranks do not run the same: a is 1 on rank 0 and 2 on rank 2; b is x y on rank 0 and x on "
            "rank 1");
}

// Rank 0 computes something else than rank 1.
TEST_P(Communications, TellWhereRanksWithTheSamePartHaveOtherElements) {
  const HostText apart = {
      {"T0_g_float[iS0{4}] (DeviceMesh{0 1})", "T1_g_float[iS1{4}] (DeviceMesh{0 1})"},
      "(@T0) -> (@T1)",
      "  @T1 = ALLOCATE(buffer=@T1, mem_type=global, size=4, zero_init=false, resets_to_zero=false)\n"
      "  IF ( rank == 0 ):\n    @T1\n       = -@T0;\n  ELSE:\n    @T1\n       = sin(@T0);\n"};
  ProgramOnRanks program(hostProgramOf(apart), options(2));
  EXPECT_EQ(refusalOf([&] { run(program, {bench_.numbers(DataType::F32, {4}, {1, 2, 3, 4})}); }),
            "device: output T1: ranks 0 and 1 have the same part, and not the same elements");
}

TEST_P(Communications, NameMeshAndAxisOfASizeThatDoesNotFit) {
  ProgramOnRanks program(hostProgramOf(kSum), options(2));
  EXPECT_EQ(refusalOf([&] { run(program, {bench_.empty(DataType::F32, {3, 2})}); }),
            "bind: T0: axis 0 has 2 elements, and 3 were given for all ranks of its mesh (0 1) together");
  EXPECT_EQ(errorOf([&] { run(program, {}); }).message(), "host_program: 0 inputs were given; it takes 1");
}

INSTANTIATE_TEST_SUITE_P(Modes, Communications, testing::ValuesIn(kModes), [](const auto& instance) {
  return std::string(instance.param == Mode::Plan ? "plan" : "direct");
});

// --- plans ---

TEST(CommunicationPlans, AreRecordedOnceAndForgottenWithTheirTeam) {
  RunBench bench;
  const auto device = openCpuDevice({.threads = 1});
  const std::shared_ptr<Device> devices[] = {device};
  const auto communicators = makeLocalCommunicators(devices);
  const HostText text = {{"T0_g_float[iS0{n}]", "T1_g_float[iS1{n}]"},
                         "(@T0) -> (@T1)",
                         "  Communication 0 (type=Allreduce, team=(0), input=@T0, output=@T1, backend=Local)\n"
                         "  Wait Communication 0\n"};
  HostIrEvaluator evaluator(finishedProgramOf(text), *device, {.communicator = communicators[0].get()});
  const auto stream = device->createStream();
  const Tensor input = Tensor::emptyOnHost(*device, stream, DataType::F32, std::vector<int64_t>{4});
  const auto call = [&] { return evaluator.runWithInput(bound(evaluator.program(), {input}), stream); };
  for (int i = 0; i < 3; ++i) call();
  EXPECT_EQ(evaluator.stats().plans.misses, 1);
  EXPECT_EQ(evaluator.stats().plans.hits, 2);
  stream->synchronize();
  communicators[0]->team(std::vector<int64_t>{0})->leave(std::make_exception_ptr(Error(ErrorCode::Device, "enough")));
  EXPECT_EQ(refusalOf(call), "device: rank 0 left team (0): enough");  // once
  call();
  stream->synchronize();
  EXPECT_EQ(evaluator.stats().plans.misses, 2);
  EXPECT_EQ(communicators[0]->team(std::vector<int64_t>{0})->epoch(), 1);
}

// --- errors ---

struct Refused {
  std::string name;
  HostText text;
  std::string message;
};
std::ostream& operator<<(std::ostream& out, const Refused& refused) { return out << refused.name; }

const std::vector<std::string> kPair = {"T0_g_float[iS0{2}, iS1{3}]", "T1_g_float[iS2{2}, iS3{3}]",
                                        "T2_g_float[iS4{2}, iS5{3}]", "T3_g_float[iS6{3}, iS7{2}]"};

// Local programs of a job of one rank.
const Refused kRefused[] = {
    {"nobody_waits",
     {kPair, "(@T0) -> (@T1)", "  Communication 0 (type=Allreduce, team=(0), input=@T0, output=@T1, backend=Local)\n"},
     "host program: nobody waits for T1 = Communication(T0); write a Wait for it before the end of the program"},
    {"deallocated",
     {kPair, "(@T0) -> (@T2)",
      "  Communication 0 (type=Allreduce, team=(0), input=@T0, output=@T1, backend=Local)\n  @T2\n     = -@T0;\n"
      "  DEALLOCATE(buffer=@T1)\n  Wait Communication 0\n"},
     "DEALLOCATE of T1: T1 = Communication(T0) uses it, and nobody has waited for that"},
    {"never_posted",
     {kPair, "(@T0) -> (@T2)",
      "  IF false:\n"
      "    Communication 0 (type=Allreduce, team=(0), input=@T0, output=@T1, backend=Local)\n"
      "  Wait Communication 0\n  @T2\n     = -@T0;\n"},
     "Wait Communication 0: it was never posted"},
    {"read_before_the_wait",
     {kPair, "(@T0) -> (@T2)",
      "  @T1 = ALLOCATE(buffer=@T1, mem_type=global, size=6, zero_init=false, resets_to_zero=false)\n"
      "  Communication 0 (type=Allreduce, team=(0), input=@T0, output=@T1, backend=Local)\n  @T2\n     = -@T1;\n"
      "  Wait Communication 0\n"},
     "race on T1"},
    {"two_teams",
     {kPair, "(@T0) -> (@T1)",
      "  StartCoalescing\n  Communication 0 (type=Allreduce, team=(0), input=@T0, output=@T1, backend=Local)\n"
      "  Communication 1 (type=Allreduce, team=(0 1), input=@T0, output=@T2, backend=Local)\n  EndCoalescing 2\n"
      "  Wait Communication 2\n"},
     "what is posted as one is of the teams (0) and (0 1)"},
    {"other_sizes",
     {{"T0_g_float[iS0{2}]", "T1_g_float[iS1{3}]"},
      "(@T0) -> (@T1)",
      "  Communication 0 (type=Allreduce, team=(0), input=@T0, output=@T1, backend=Local)\n  Wait Communication 0\n"},
     "Allreduce: T1 has sizes [3], which are 3 elements; the other side and the team ask for 2"},
    {"no_output",
     {kPair, "(@T0) -> (@T2)",
      "  Communication 0 (type=Allreduce, team=(0), input=@T0, output=none, backend=Local)\n  Wait Communication 0\n"
      "  @T2\n     = -@T0;\n"},
     "Allreduce: it has no tensor here, where 6 elements are asked for"},
    {"uneven_blocks",
     {kPair, "(@T0) -> (@T1)",
      "  Communication 0 (type=AllToAll, team=(0 1 2 3), input=@T0, output=@T1, backend=Local)\n"
      "  Wait Communication 0\n"},
     "AllToAll: 6 elements for a team of 4; each member gets as many"},
    {"blocks_along_no_axis",
     {kPair, "(@T0) -> (@T1)",
      "  Communication 0 (type=AllToAll, team=(0), axis=2, parts=(3), input=@T0, output=@T1, backend=Local)\n"
      "  Wait Communication 0\n"},
     "AllToAll: T0 has 2 axes, and axis 2 is dealt out"},
    {"blocks_along_an_inner_axis",
     {kPair, "(@T0) -> (@T1)",
      "  Communication 0 (type=AllToAll, team=(0), axis=1, parts=(3), input=@T0, output=@T1, backend=Local)\n"
      "  Wait Communication 0\n"},
     "AllToAll: T1 has sizes [2, 3], and axis 1 is dealt out"},
    {"inner_axis",
     {kPair, "(@T0) -> (@T1)",
      "  Communication 0 (type=Allgather, team=(0), axis=1, parts=(3), input=@T0, output=@T1, backend=Local)\n"
      "  Wait Communication 0\n"},
     "Allgather: T0 has sizes [2, 3], and axis 1 is dealt out"},
    {"no_such_axis",
     {kPair, "(@T0) -> (@T1)",
      "  Communication 0 (type=Allgather, team=(0), axis=2, parts=(3), input=@T0, output=@T1, backend=Local)\n"
      "  Wait Communication 0\n"},
     "Allgather: T0 has 2 axes, and axis 2 is dealt out"},
    {"parts_of_another_team",
     {kPair, "(@T0) -> (@T1)",
      "  Communication 0 (type=Allgather, team=(0), axis=0, parts=(1, 1), input=@T0, output=@T1, backend=Local)\n"
      "  Wait Communication 0\n"},
     "Allgather names 2 parts for a team of 1"},
    {"reduction_of_nothing",
     {kPair, "(@T0) -> (@T1)",
      "  Communication 0 (type=Allgather, team=(0), reduction=max, input=@T0, output=@T1, backend=Local)\n"
      "  Wait Communication 0\n"},
     "Allgather has a reduction, and reduces nothing"},
    {"not_together",
     {{"T0_g_float[iS0{2}, iS1{3}]", "T1_g_float[iS2{2}, iS3{2}]", "T2_g_float[iS4{2}, iS5{2}]"},
      "(@T0) -> (@T2)",
      "  @T1\n     = HirAliasSlice( @T0, axis = iS1{3}, start = 0, stop = 2 )\n"
      "  Communication 0 (type=Allreduce, team=(0), input=@T1, output=@T2, backend=Local)\n  Wait Communication 0\n"},
     "Allreduce: T1 has sizes [2, 2] and strides [3, 1]; what is communicated lies together"},
};

class RefusedCommunications : public testing::TestWithParam<Refused> {};

TEST_P(RefusedCommunications, SayWhatIsWrong) {
  std::vector<std::shared_ptr<Device>> devices;
  for (int i = 0; i < 4; ++i) devices.push_back(openCpuDevice({.threads = 1}));
  const auto communicators = makeLocalCommunicators(devices);
  const std::string refusal = refusalOf([&] {
    HostIrEvaluator evaluator(hostProgramOf(GetParam().text), *devices[0], {.communicator = communicators[0].get()});
    const auto stream = devices[0]->createStream();
    const std::vector<int64_t> sizes = sizesOf(*asTensor(evaluator.program().inputs()[0]), {});
    evaluator.runWithInput(
        bound(evaluator.program(), {Tensor::emptyOnHost(*devices[0], stream, DataType::F32, sizes)}));
  });
  EXPECT_NE(refusal.find(GetParam().message), std::string::npos) << refusal;
}

INSTANTIATE_TEST_SUITE_P(Texts, RefusedCommunications, testing::ValuesIn(kRefused),
                         [](const auto& instance) { return instance.param.name; });

TEST(CommunicationErrors, TellWhoseDeviceAndHowManyRanks) {
  const auto device = openCpuDevice({.threads = 1});
  const auto other = openCpuDevice({.threads = 1});
  const std::shared_ptr<Device> devices[] = {device};
  const auto communicators = makeLocalCommunicators(devices);
  EXPECT_NE(refusalOf([&] {
              HostIrEvaluator(hostProgramOf(kRefused[0].text), *other, {.communicator = communicators[0].get()});
            }).find("usage: host_program: the communicator is bound to another device"),
            std::string::npos);
  EXPECT_EQ(refusalOf([&] { ProgramOnRanks(hostProgramOf(kSum), {.ranks = 0}); }),
            "usage: 0 ranks were asked for; 1 to 1024 are legal");
}

// Each rank waits for the other one's transfer before it posts its own.
TEST(CommunicationErrors, AreProvedBeforeAnyRankRuns) {
  const HostText circle = {
      {"T0_g_float[ideviceIdx.x0{2}, iS1{n}] (DeviceMesh{0 1})",
       "T1_g_float[ideviceIdx.x2{2}, iS3{n}] (DeviceMesh{0 1})"},
      "(@T0) -> (@T1)",
      "  @T1 = ALLOCATE(buffer=@T1, mem_type=global, size=( 2 * n ), zero_init=false, resets_to_zero=false)\n"
      "  P2PCommunication 0 (type=recv, buffer=@T1, peer=( 1 - rank ), backend=Local)\n"
      "  Wait Communication 0\n"
      "  P2PCommunication 1 (type=send, buffer=@T0, peer=( 1 - rank ), backend=Local)\n"
      "  Wait Communication 1\n"};
  RunBench bench;
  const Tensor input = bench.numbers(DataType::F32, {2, 1}, {1, 2});
  const auto refusal = [&](RunsProved runs_proved) {
    ProgramOnRanks program(
        hostProgramOf(circle),
        {.ranks = 2, .communication = {.timeout = std::chrono::milliseconds(200)}, .runs_proved = runs_proved});
    const std::vector<RunValue> inputs = {input};
    return refusalOf([&] { program.run(inputs, {}, bench.device, bench.stream); });
  };
  EXPECT_NE(refusal(RunsProved::Yes).find("race: check: the host program has 1 problem over 2 ranks:\n  1. deadlock: "),
            std::string::npos);
  EXPECT_NE(refusal(RunsProved::No).find("device: "), std::string::npos);
}

TEST(CommunicationErrors, RefuseASecondThread) {
  IssueGuard guard;
  const IssueGuard::Entry first(guard, "softmax");
  std::string refusal;
  std::thread([&] { refusal = refusalOf([&] { const IssueGuard::Entry second(guard, "softmax"); }); }).join();
  EXPECT_EQ(refusal,
            "usage: softmax: two threads call it at the same time; calls that communicate come one after the other, in "
            "the same order on all ranks");
}

TEST(CommunicationErrors, TellThatAnAllgatherMovesNoPart) {
  const HostText text = {{"T0_g_float[ideviceIdx.x0{2}, iS1{3}] (DeviceMesh{0 1})",
                          "T1_g_float[ideviceIdx.x2{2}, iS3{3}] (DeviceMesh{0 1})"},
                         "(@T0) -> (@T1)",
                         "  Communication 0 (type=Allgather, team=(0 1), input=@T0, output=@T1, backend=Local)\n"
                         "  Wait Communication 0\n"};
  const auto program = hostProgramOf(text);
  EXPECT_EQ(refusalOf([&] { localProgram(*program, {.number = 0, .ranks = 2}); }),
            "host program: local program: Allgather: T0 has 0 axes that are dealt out and whole on its other side; it "
            "moves the parts of one axis");
}

// --- the program on one device, for the oracle ---

std::string refusalOfUnsharded(const HostText& text) {
  const auto program = hostProgramOf(text);
  ScalarBindings bindings;
  for (Scalar* symbol : program->allSymbols()) bindings[symbol] = int64_t{2};
  return refusalOf([&] { unshardedFusion(*program, bindings); });
}

TEST(UnshardedFusion, TellsWhatTheOracleDoesNotKnow) {
  EXPECT_EQ(refusalOfUnsharded(kPermute),
            "unsupported: unsharded fusion: the oracle does not know CollectivePermute; run it without --check");
  EXPECT_NE(refusalOfUnsharded(kRing).find("a transfer of T0, which is on 3 ranks"), std::string::npos);
  const std::vector<std::string> tensors = {"T0_g_float[iS0{2}, iS1{3}]",
                                            "T1_g_float[iS2{2}, iS3{3}]",
                                            "T2_l_float[iS4{3}]",
                                            "T3_l_float[iS5{3}]",
                                            "T4_l_float[]",
                                            "T5_l_float[]"};
  const std::string allocate =
      "  @T1 = ALLOCATE(buffer=@T1, mem_type=global, size=6, zero_init=true, resets_to_zero=false)\n";
  const std::string one_row =
      "  @T2\n     = HirAliasSelect( @T0, axis = iS0{2}, index = 0 )\n"
      "  @T3\n     = HirAliasSelect( @T1, axis = iS2{2}, index = 0 )\n";
  EXPECT_NE(refusalOfUnsharded({tensors, "(@T0) -> (@T1)", allocate}).find("T1 is read, and nothing has written it"),
            std::string::npos);
  EXPECT_NE(refusalOfUnsharded({tensors, "(@T0) -> (@T1)", allocate + one_row + "  @T3\n     = -@T2;\n"})
                .find("the slices of T1 that are written are not all of its axis 0"),
            std::string::npos);
  EXPECT_NE(refusalOfUnsharded({tensors, "(@T0) -> (@T1)",
                                allocate + one_row +
                                    "  @T4\n     = HirAliasSelect( @T2, axis = iS4{3}, index = 0 )\n"
                                    "  @T5\n     = HirAliasSelect( @T3, axis = iS5{3}, index = 0 )\n"
                                    "  @T5\n     = -@T4;\n"})
                .find("T5 is a slice of a slice, which is written"),
            std::string::npos);
}

}  // namespace
}  // namespace tokamak
