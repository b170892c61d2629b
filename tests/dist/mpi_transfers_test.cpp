// What members of a communication send one another: every element arrives where it belongs, once, in messages that MPI
// can count.
#include "dist/mpi/mpi_transfers.h"

#include <algorithm>
#include <array>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "communication_model.h"
#include "dist/mpi/mpi_functions.h"
#include "ranks_fixture.h"

namespace tokamak {

namespace {

using Kind = CommunicationKind;
using Messages = std::map<size_t, std::vector<int64_t>>;  // bytes, in order, by member

Messages byMember(const std::vector<Transfer>& transfers) {
  Messages messages;
  for (const Transfer& it : transfers) messages[it.member].push_back(it.bytes);
  return messages;
}

// Both sides of each pair mean the same messages.
void expectPairs(const std::vector<Transfers>& members, std::vector<Transfer> Transfers::* sends,
                 std::vector<Transfer> Transfers::* receives) {
  for (size_t from = 0; from < members.size(); ++from) {
    for (size_t to = 0; to < members.size(); ++to) {
      Messages sent = byMember(members[from].*sends);
      Messages received = byMember(members[to].*receives);
      EXPECT_EQ(sent[to], received[from]) << "from member " << from << " to member " << to;
      EXPECT_TRUE(from != to || sent[to].empty());
    }
  }
}

struct Written {
  int64_t begin = 0;
  int64_t end = 0;
};

// The output is written from its first byte to its last, nothing twice.
void expectWhole(const Transfers& transfers, int64_t element_bytes, int64_t bytes) {
  std::vector<Written> written;
  const auto add = [&](TransferMemory memory, int64_t offset, int64_t count) {
    if (memory == TransferMemory::Output) written.push_back({offset, offset + count});
  };
  for (const OwnCopy& copy : transfers.copies) add(TransferMemory::Output, copy.to, copy.bytes);
  for (const Transfer& it : transfers.receives) add(it.memory, it.offset, it.bytes);
  for (const Transfer& it : transfers.result_receives) add(it.memory, it.offset, it.bytes);
  for (const ReductionStep& it : transfers.steps) add(it.result_memory, it.result, it.count * element_bytes);
  std::ranges::sort(written, {}, &Written::begin);
  int64_t end = 0;
  for (const Written& part : written) {
    EXPECT_EQ(part.begin, end);
    end = part.end;
  }
  EXPECT_EQ(end, bytes);
}

void expectConsistent(const Operation& operation) {
  std::vector<Transfers> members;
  for (size_t position = 0; position < operation.team.size(); ++position)
    members.push_back(transfersOf(operation.requests[position], operation.team, position));
  expectPairs(members, &Transfers::sends, &Transfers::receives);
  expectPairs(members, &Transfers::result_sends, &Transfers::result_receives);
  for (size_t position = 0; position < members.size(); ++position) {
    const CommunicationRequest& request = operation.requests[position];
    const int64_t size = sizeOf(request.dtype);
    const BufferCounts counts = bufferCounts(request, operation.team, operation.team[position]);
    expectWhole(members[position], size, counts.output * size);
    for (const auto sends :
         {&Transfers::sends, &Transfers::receives, &Transfers::result_sends, &Transfers::result_receives}) {
      for (const Transfer& it : members[position].*sends) {
        EXPECT_GT(it.bytes, 0);
        EXPECT_LE(it.bytes, MpiFunctions::kMostBytes);
        const int64_t room = it.memory == TransferMemory::Input    ? counts.input * size
                             : it.memory == TransferMemory::Output ? counts.output * size
                                                                   : members[position].scratch_bytes;
        EXPECT_LE(it.offset + it.bytes, room);
      }
    }
  }
}

TEST(MpiTransfers, GiveEachElementOnceAndAreTheSameOnBothSides) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 3000; ++round) {
    const int64_t ranks = std::array<int64_t, 6>{1, 2, 3, 4, 5, 8}[random() % 6];
    OperationForm form = randomForm(random, ranks);
    if (round % 3 == 0) form.count = static_cast<int64_t>(random() % 20'000'000);  // several pieces
    const Operation operation = operationOf(form, firstRanks(ranks));
    SCOPED_TRACE(describe(operation.requests[0]) + " on " + std::to_string(ranks));
    expectConsistent(operation);
    if (testing::Test::HasFailure()) return;
  }
}

// Nothing is allocated: counts of MPI end at 2^31 - 1.
TEST(MpiTransfers, CountMoreElementsThanMpiDoes) {
  constexpr int64_t kMany = (int64_t{3} << 31U) + 5;
  for (const Kind kind : {Kind::Gather, Kind::Allgather, Kind::Scatter, Kind::Reduce, Kind::Allreduce,
                          Kind::ReduceScatter, Kind::Broadcast, Kind::AllToAll, Kind::CollectivePermute}) {
    for (const DataType dtype : {DataType::BF16, DataType::F64}) {
      SCOPED_TRACE(std::string(enumName(kind)));
      expectConsistent(operationOf({.kind = kind, .dtype = dtype, .count = kMany}, firstRanks(3)));
    }
  }
}

TEST(MpiTransfers, OfAnAllreduceAreAsFewBytesAsAnyOrderTakes) {
  for (const int64_t ranks : {2, 3, 4}) {
    constexpr int64_t kCount = 12 * 64 * 1000;
    const Operation operation = operationOf({.count = kCount}, firstRanks(ranks));
    const Transfers transfers = transfersOf(operation.requests[0], operation.team, 0);
    int64_t bytes = 0;
    for (const Transfer& it : transfers.sends) bytes += it.bytes;
    for (const Transfer& it : transfers.result_sends) bytes += it.bytes;
    EXPECT_EQ(bytes, 2 * (ranks - 1) * kCount * 4 / ranks);
  }
}

}  // namespace

}  // namespace tokamak
