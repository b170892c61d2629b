// What every transport promises: the values of each communication, groups, rings, teams, and any order of them.
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "base/half.h"
#include "ranks_fixture.h"

namespace tokamak {

namespace {

using Kind = CommunicationKind;

INSTANTIATE_TEST_SUITE_P(Transports, TransportTest, testing::ValuesIn(transportCases()),
                         [](const auto& instance) { return instance.param.name; });

constexpr std::array<int64_t, 5> kRanks = {1, 2, 3, 4, 8};
constexpr std::array kCollectives = {Kind::Gather,    Kind::Allgather,        Kind::Scatter,   Kind::Reduce,
                                     Kind::Allreduce, Kind::ReduceScatter,    Kind::Broadcast, Kind::SendRecv,
                                     Kind::AllToAll,  Kind::CollectivePermute};

// Each form once, on teams of all sizes; all of a job are posted before the first is waited for.
void runForms(const std::function<TestJob(int64_t)>& jobOf, const std::vector<OperationForm>& forms) {
  for (const int64_t ranks : kRanks) {
    jobOf(ranks).run([&](TestRank& rank) {
      const auto team = rank.communicator().team(firstRanks(ranks));
      uint64_t seed = 0;
      for (OperationForm form : forms) {
        form.root = static_cast<int64_t>(seed) % ranks;
        if (isLegal(form, ranks)) rank.start(*team, operationOf(form, team->ranks()), seed);
        ++seed;
      }
      rank.check();
    });
  }
}

TEST_P(TransportTest, EveryKindGivesTheModelsResultsInEveryDtype) {
  std::vector<OperationForm> forms;
  for (const Kind kind : kCollectives)
    for (const DataType dtype : kAllDataTypes)
      for (const Shares shares : {Shares::Even, Shares::ShortLast})
        forms.push_back({.kind = kind, .dtype = dtype, .reduction = ReductionKind::Max, .count = 37, .shares = shares});
  runForms([](int64_t ranks) { return job(ranks); }, forms);
}

TEST_P(TransportTest, EveryReductionGivesTheModelsResultsInEveryDtype) {
  std::vector<OperationForm> forms;
  for (const Kind kind : {Kind::Reduce, Kind::Allreduce, Kind::ReduceScatter})
    for (const DataType dtype : kAllDataTypes)
      for (const ReductionKind reduction :
           {ReductionKind::Sum, ReductionKind::Prod, ReductionKind::Max, ReductionKind::Min})
        forms.push_back({.kind = kind, .dtype = dtype, .reduction = reduction, .count = 1030});
  runForms([](int64_t ranks) { return job(ranks); }, forms);
}

TEST_P(TransportTest, EverySizeGivesTheModelsResults) {
  std::vector<OperationForm> forms;
  for (const Kind kind : kCollectives)
    for (const int64_t count : {0, 1, 2, 3, 63, 64, 65, 10'007})
      for (const Shares shares : {Shares::Even, Shares::ShortLast})
        forms.push_back({.kind = kind, .dtype = DataType::BF16, .count = count, .shares = shares});
  runForms([](int64_t ranks) { return job(ranks); }, forms);
}

TEST_P(TransportTest, TeamsOfSomeRanksInAnyOrderCommunicate) {
  job(4).run([](TestRank& rank) {
    const std::vector<int64_t> ranks = {3, 0, 2};
    if (rank.rank() == 1) return;
    const auto team = rank.communicator().team(ranks);
    EXPECT_EQ(std::vector<int64_t>(team->ranks().begin(), team->ranks().end()), ranks);
    EXPECT_EQ(team->rank(), rank.rank());
    EXPECT_EQ(team->epoch(), 0);
    EXPECT_EQ(rank.communicator().team(ranks), team);
    uint64_t seed = 0;
    for (const Kind kind : kCollectives) {
      const OperationForm form = {.kind = kind, .count = 10, .shares = Shares::ShortLast, .root = 2};
      if (isLegal(form, 3)) rank.start(*team, operationOf(form, ranks), seed++);
    }
    rank.check();
  });
}

TEST_P(TransportTest, ReductionsOfHalfTypesRoundOnce) {
  // In f16, 2048 + 1 is 2048: rounding at each step would lose both ones.
  job(3).run([](TestRank& rank) {
    const auto team = rank.communicator().team(firstRanks(3));
    const Half term = toHalf(rank.rank() == 0 ? 2048.0F : 1.0F);
    void* const buffer = rank.upload(std::as_bytes(std::span(&term, 1)));
    const CommunicationRequest request = {.kind = Kind::Allreduce, .dtype = DataType::F16, .counts = {1}};
    rank.wait(rank.post(*team, {&request, 1}, {buffer, buffer}));
    Half sum;
    std::memcpy(&sum, rank.download(buffer, 2).data(), 2);
    EXPECT_EQ(toFloat(sum), 2050.0F);
  });
}

TEST_P(TransportTest, MaximaAndMinimaPropagateNan) {
  for (const ReductionKind reduction : {ReductionKind::Max, ReductionKind::Min}) {
    job(3).run([&](TestRank& rank) {
      const auto team = rank.communicator().team(firstRanks(3));
      const float term = rank.rank() == 1 ? std::numeric_limits<float>::quiet_NaN() : 1.0F;
      void* const buffer = rank.upload(std::as_bytes(std::span(&term, 1)));
      const CommunicationRequest request = {.kind = Kind::Allreduce, .counts = {1}, .reduction = reduction};
      rank.wait(rank.post(*team, {&request, 1}, {buffer, buffer}));
      float result = 0;
      std::memcpy(&result, rank.download(buffer, 4).data(), 4);
      EXPECT_TRUE(std::isnan(result));
    });
  }
}

// Where the own part of the input is in the output, or of the output in the input; in elements.
struct InPlace {
  int64_t input = 0;
  int64_t output = 0;
};

InPlace inPlace(const CommunicationRequest& request, size_t position) {
  int64_t own = 0;
  for (size_t i = 0; i < position && i < request.counts.size(); ++i) own += request.counts[i];
  if (request.kind == Kind::Gather || request.kind == Kind::Allgather) return {.input = own};
  if (request.kind == Kind::Scatter || request.kind == Kind::ReduceScatter) return {.output = own};
  return {};
}

TEST_P(TransportTest, ResultsMayBeStoredOverOperands) {
  for (const int64_t ranks : kRanks) {
    job(ranks).run([&](TestRank& rank) {
      const auto team = rank.communicator().team(firstRanks(ranks));
      uint64_t seed = 0;
      for (const Kind kind : kCollectives) {
        const OperationForm form = {.kind = kind, .dtype = DataType::I64, .count = 301, .shares = Shares::ShortLast};
        if (!isLegal(form, ranks) || kind == Kind::AllToAll || kind == Kind::CollectivePermute) continue;
        const Operation operation = operationOf(form, team->ranks());
        const auto position = static_cast<size_t>(rank.rank());
        const CommunicationRequest& request = operation.requests[position];
        const InPlace place = inPlace(request, position);
        const BufferCounts counts = bufferCounts(request, operation.team, rank.rank());
        auto* const buffer =
            static_cast<int64_t*>(rank.memory(8 * (counts.input + counts.output + place.input + place.output)));
        const Bytes input = inputOf(operation, position, seed);
        rank.device().copy(rank.current(), buffer + place.input, rank.upload(input), 8 * counts.input);
        void* const in = counts.input > 0 ? buffer + place.input : nullptr;
        void* const out = counts.output > 0 ? buffer + place.output : nullptr;
        rank.wait(rank.post(*team, {&request, 1}, {in, out}));
        const Bytes is = rank.download(buffer + place.output, 8 * counts.output);
        EXPECT_EQ(firstDifference(DataType::I64, is, outputOf(operation, position, seed)), "")
            << describe(request) << " on rank " << rank.rank() << " of " << ranks;
        ++seed;
      }
    });
  }
}

TEST_P(TransportTest, TheRootOfABroadcastMayDoWithoutAnOutput) {
  job(2).run([](TestRank& rank) {
    const auto team = rank.communicator().team(firstRanks(2));
    const CommunicationRequest request = {.kind = Kind::Broadcast, .counts = {4}, .root = 1};
    const Bytes values = elementsOf(DataType::F32, 4, 1);
    void* const buffer = rank.rank() == 1 ? rank.upload(values) : rank.memory(16);
    const bool is_root = rank.rank() == 1;
    rank.wait(rank.post(*team, {&request, 1}, {is_root ? buffer : nullptr, is_root ? nullptr : buffer}));
    EXPECT_EQ(firstDifference(DataType::F32, rank.download(buffer, 16), values), "");
  });
}

TEST_P(TransportTest, AWorkIsLaunchedAgainWithOtherAddresses) {
  job(3).run([](TestRank& rank) {
    const auto team = rank.communicator().team(firstRanks(3));
    const Operation operation = operationOf({.count = 50}, team->ranks());
    const auto position = static_cast<size_t>(rank.rank());
    const auto work = team->prepare(operation.requests[position]);
    std::vector<void*> buffers;
    for (uint64_t seed = 0; seed < 20; ++seed) buffers.push_back(rank.upload(inputOf(operation, position, seed)));
    rank.device().synchronize(rank.current());
    for (void* const buffer : buffers)
      rank.device().launch(team->stream(), *work, std::array<void*, 2>{buffer, buffer});
    rank.device().synchronize(team->stream());
    for (uint64_t seed = 0; seed < 20; ++seed)
      EXPECT_EQ(firstDifference(DataType::F32, rank.download(buffers[seed], 200), outputOf(operation, position, seed)),
                "");
  });
}

TEST_P(TransportTest, AGroupIsOneWorkOfSeveralBuffers) {
  for (const int64_t ranks : kRanks) {
    job(ranks).run([&](TestRank& rank) {
      const auto team = rank.communicator().team(firstRanks(ranks));
      const auto position = static_cast<size_t>(rank.rank());
      std::mt19937_64 random(5);
      for (int round = 0; round < 4; ++round) {
        std::vector<Operation> operations;
        std::vector<CommunicationRequest> group;
        std::vector<void*> addresses;
        for (uint64_t seed = 0; seed < 5; ++seed) {
          operations.push_back(operationOf(randomForm(random, ranks), team->ranks()));
          group.push_back(operations.back().requests[position]);
          const BufferCounts counts = bufferCounts(group.back(), team->ranks(), rank.rank());
          addresses.push_back(rank.upload(inputOf(operations.back(), position, seed)));
          addresses.push_back(rank.memory(counts.output * sizeOf(group.back().dtype)));
        }
        rank.wait(rank.post(*team, group, addresses));
        for (uint64_t seed = 0; seed < 5; ++seed) {
          const Bytes should_be = outputOf(operations[seed], position, seed);
          const Bytes is = rank.download(addresses[2 * seed + 1], static_cast<int64_t>(should_be.size()));
          EXPECT_EQ(firstDifference(group[seed].dtype, is, should_be), "") << describe(group[seed]);
        }
      }
    });
  }
}

TEST_P(TransportTest, SendsAndReceivesOfAGroupDoNotWaitForOneAnother) {
  constexpr int64_t kCount = 1000;
  job(4).run([](TestRank& rank) {
    const auto team = rank.communicator().team(firstRanks(4));
    for (uint64_t round = 0; round < 5; ++round) {
      std::vector<CommunicationRequest> group;
      std::vector<void*> addresses;
      for (int64_t peer = 3; peer >= 0; --peer) {  // receives stand behind sends here, and before them there
        if (peer == rank.rank()) continue;
        const Bytes sent =
            elementsOf(DataType::F64, kCount, round * 16 + static_cast<uint64_t>(rank.rank() * 4 + peer));
        const auto send = [&] {
          group.push_back({.kind = Kind::Send, .dtype = DataType::F64, .counts = {kCount}, .send_to = peer});
          addresses.insert(addresses.end(), {rank.upload(sent), nullptr});
        };
        if (rank.rank() % 2 == 0) send();
        group.push_back({.kind = Kind::Recv, .dtype = DataType::F64, .counts = {kCount}, .receive_from = peer});
        addresses.insert(addresses.end(), {nullptr, rank.memory(8 * kCount)});
        if (rank.rank() % 2 == 1) send();
      }
      rank.wait(rank.post(*team, group, addresses));
      for (size_t i = 0; i < group.size(); ++i) {
        if (group[i].kind == Kind::Send) continue;
        const auto of = static_cast<uint64_t>(group[i].receive_from * 4 + rank.rank());
        EXPECT_EQ(firstDifference(DataType::F64, rank.download(addresses[2 * i + 1], 8 * kCount),
                                  elementsOf(DataType::F64, kCount, round * 16 + of)),
                  "");
      }
    }
  });
}

// Each rank sends what it got last, to the next one: after as many rounds as ranks all have their own again.
TEST_P(TransportTest, ARingOfSendsDoesNotWaitForItself) {
  for (const int64_t ranks : {2, 3, 4, 8}) {
    job(ranks).run([&](TestRank& rank) {
      constexpr int64_t kCount = 257;
      const auto team = rank.communicator().team(firstRanks(ranks));
      const CommunicationRequest send = {.kind = Kind::Send, .counts = {kCount}, .send_to = (rank.rank() + 1) % ranks};
      const CommunicationRequest receive = {
          .kind = Kind::Recv, .counts = {kCount}, .receive_from = (rank.rank() + ranks - 1) % ranks};
      void* held = rank.upload(elementsOf(DataType::F32, kCount, static_cast<uint64_t>(rank.rank())));
      for (int64_t round = 1; round <= 2 * ranks; ++round) {
        void* const next = rank.memory(4 * kCount);
        const Posted sent = rank.post(*team, {&send, 1}, {held, nullptr});
        const Posted received = rank.post(*team, {&receive, 1}, {nullptr, next});
        rank.wait(sent);
        rank.wait(received);
        held = next;
        const auto origin = static_cast<uint64_t>((rank.rank() + 2 * ranks - round) % ranks);
        EXPECT_EQ(
            firstDifference(DataType::F32, rank.download(held, 4 * kCount), elementsOf(DataType::F32, kCount, origin)),
            "");
      }
    });
  }
}

TEST_P(TransportTest, ASendRunsBesideACollectiveOfItsTeam) {
  job(2).run([](TestRank& rank) {
    const auto team = rank.communicator().team(firstRanks(2));
    const Operation sum = operationOf({.count = 8}, team->ranks());
    const CommunicationRequest transfer = {
        .kind = rank.rank() == 0 ? Kind::Send : Kind::Recv, .counts = {8}, .send_to = 1, .receive_from = 0};
    void* const buffer = rank.upload(elementsOf(DataType::F32, 8, static_cast<uint64_t>(rank.rank())));
    const bool sends = rank.rank() == 0;
    const auto post = [&] {
      rank.wait(rank.post(*team, {&transfer, 1}, {sends ? buffer : nullptr, sends ? nullptr : buffer}));
    };
    if (sends) post();  // one rank posts it before the collective, the other one behind
    rank.start(*team, sum, 1);
    if (!sends) post();
    rank.check();
    EXPECT_EQ(firstDifference(DataType::F32, rank.download(buffer, 32), elementsOf(DataType::F32, 8, 0)), "");
  });
}

// Rows and columns of a mesh, whose works run at the same time.
TEST_P(TransportTest, TwoTeamsOfARankCommunicateAtOnce) {
  job(4).run([](TestRank& rank) {
    const int64_t row = rank.rank() / 2;
    const int64_t column = rank.rank() % 2;
    const std::array<int64_t, 2> row_ranks = {2 * row, 2 * row + 1};
    const std::array<int64_t, 2> column_ranks = {column, column + 2};
    const auto across = rank.communicator().team(row_ranks);
    const auto down = rank.communicator().team(column_ranks);
    std::mt19937_64 random(9);
    for (uint64_t seed = 0; seed < 40; ++seed) {
      const OperationForm form = randomForm(random, 2);
      rank.start(*across, operationOf(form, across->ranks()), seed);
      rank.start(*down, operationOf(form, down->ranks()), seed + 100);
    }
    rank.check();
  });
}

TEST_P(TransportTest, RandomSequencesGiveTheModelsResults) {
  for (uint64_t sequence = 0; sequence < 12; ++sequence) {
    std::mt19937_64 random(sequence);
    const int64_t ranks = kRanks[sequence % kRanks.size()];
    const bool waits_at_once = sequence % 3 == 0;
    std::vector<OperationForm> forms;
    for (int i = 0; i < 30; ++i) forms.push_back(randomForm(random, ranks));
    job(ranks).run([&](TestRank& rank) {
      const auto team = rank.communicator().team(firstRanks(ranks));
      uint64_t seed = sequence * 1000;
      for (const OperationForm& form : forms) {
        rank.start(*team, operationOf(form, team->ranks()), seed++);
        if (waits_at_once) rank.check();
      }
      rank.check();
    });
  }
}

TEST_P(TransportTest, PostingDoesNotWaitForOthers) {
  job(2).run([](TestRank& rank) {
    const auto ranks = firstRanks(2);
    const auto team = rank.communicator().team(ranks);
    const Operation operation = operationOf({.count = 100}, ranks);
    // Rank 1 posts once rank 0 has said that it has posted all.
    if (rank.rank() == 1) rank.communicator().exchange("posted", ranks, {});
    for (uint64_t seed = 0; seed < 10; ++seed) rank.start(*team, operation, seed);
    if (rank.rank() == 0) rank.communicator().exchange("posted", ranks, {});
    rank.check();
  });
}

TEST_P(TransportTest, LargeBuffersGiveTheModelsResults) {
  constexpr int64_t kCount = 1'500'001;
  job(2).run([](TestRank& rank) {
    const auto team = rank.communicator().team(firstRanks(2));
    uint64_t seed = 0;
    for (const Kind kind : {Kind::Allreduce, Kind::Allgather, Kind::ReduceScatter})
      rank.start(*team, operationOf({.kind = kind, .count = kCount}, team->ranks()), seed++);
    rank.check();
  });
}

TEST_P(TransportTest, ExchangeGivesEachRankTheBytesOfAll) {
  job(4).run([](TestRank& rank) {
    const std::vector<int64_t> ranks = {3, 1, 0};
    if (rank.rank() == 2) return;
    for (uint64_t round = 0; round < 20; ++round) {
      const auto bytesOf = [&](int64_t of) {
        return elementsOf(DataType::I32, static_cast<int64_t>(round % 5) * of, round * 4 + static_cast<uint64_t>(of));
      };
      const auto theirs = rank.communicator().exchange("round", ranks, bytesOf(rank.rank()));
      ASSERT_EQ(theirs.size(), 3U);
      for (size_t i = 0; i < 3; ++i) EXPECT_EQ(theirs[i], bytesOf(ranks[i]));
    }
  });
}

TEST_P(TransportTest, ExchangesOfOtherTagsMeetInAnyOrder) {
  job(2).run([](TestRank& rank) {
    const auto ranks = firstRanks(2);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {  // each on a thread of its own: they come in any order
      threads.emplace_back([&, i] {
        const auto own = std::byte{static_cast<uint8_t>(10 * i + rank.rank())};
        const auto theirs = rank.communicator().exchange(std::to_string(i), ranks, {&own, 1});
        EXPECT_EQ(theirs[0].at(0), std::byte{static_cast<uint8_t>(10 * i)});
        EXPECT_EQ(theirs[1].at(0), std::byte{static_cast<uint8_t>(10 * i + 1)});
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
}

TEST_P(TransportTest, AllRanksAreAliveUntilOneIsGone) {
  job(3).run([](TestRank& rank) {
    EXPECT_EQ(rank.communicator().size(), 3);
    EXPECT_EQ(rank.communicator().alive(std::array<int64_t, 2>{2, 0}), (std::vector<int64_t>{2, 0}));
    rank.communicator().exchange("asked", firstRanks(3), {});
  });
}

}  // namespace

}  // namespace tokamak
