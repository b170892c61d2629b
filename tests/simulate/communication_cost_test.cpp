// What communications take: the formulas of rings, trees and direct transfers, and what of the links they use.
#include "simulate/communication_cost.h"

#include <memory>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error_of.h"

namespace tokamak {
namespace {

using testing::HasSubstr;

// Steps of a second; a link of 8 bytes per second, of which half is reached; hosts of 4 ranks.
Machine costMachine() {
  Machine machine{.name = "test", .ranks_per_host = 4, .memory_bandwidth = 100};
  machine.host_link = {.latency = 0.25, .bandwidth = 8};
  machine.network = MachineLink{.latency = 1.25, .bandwidth = 2};
  return machine;
}
MachineTransport transportOf(TransportAlgorithm algorithm) {
  return {.algorithm = algorithm, .latency = 10, .step_latency = 0.75, .bandwidth_fractions = {{1, 0.5}}};
}

// A communication that all ranks of a team ask for.
struct Asked {
  std::vector<CommunicationRequest> requests;
  RankMeeting meeting;

  Asked(const CommunicationRequest& request, int64_t ranks, int64_t first = 0)
      : requests(static_cast<size_t>(ranks), request) {
    std::vector<int64_t> team(static_cast<size_t>(ranks));
    std::iota(team.begin(), team.end(), first);
    for (size_t i = 0; i < requests.size(); ++i) meeting.parties.push_back({team[i], 0, 0, &requests[i]});
    meeting.team = std::make_shared<std::vector<int64_t>>(std::move(team));
    meeting.expected = requests.size();
  }
};

CommunicationCost ringCost(const CommunicationRequest& request, int64_t ranks = 4, int64_t first = 0) {
  const Asked asked(request, ranks, first);
  return costOf(asked.meeting, costMachine(), transportOf(TransportAlgorithm::Ring));
}
CommunicationCost directCost(const CommunicationRequest& request) {
  const Asked asked(request, 4);
  return costOf(asked.meeting, costMachine(), transportOf(TransportAlgorithm::Direct));
}

// Four f32: 16 bytes, 4 seconds at the half of 8 bytes per second.
CommunicationRequest partsOf(CommunicationKind kind, int64_t root = -1) {
  return {.kind = kind, .counts = {4, 4, 4, 4}, .root = root};
}
CommunicationRequest oneOf(CommunicationKind kind, int64_t root = -1) {
  return {.kind = kind, .counts = {4}, .root = root};
}

TEST(CommunicationCost, RingAllgatherAndReduceScatterPassAllPartsButOne) {
  for (const CommunicationKind kind : {CommunicationKind::Allgather, CommunicationKind::ReduceScatter}) {
    const CommunicationCost cost = ringCost(partsOf(kind));
    EXPECT_EQ(cost.latency, 10 + 3);
    EXPECT_EQ(cost.seconds, 3 * 4);
    EXPECT_EQ(cost.moved[0].sent, 48);
    EXPECT_EQ(cost.moved[3].received, 48);
  }
}

TEST(CommunicationCost, UnequalPartsTakeTheMostThatAMemberMoves) {
  const CommunicationCost cost = ringCost({.kind = CommunicationKind::Allgather, .counts = {8, 8, 0, 0}});
  EXPECT_EQ(cost.seconds, 64 / 4.0);
}

TEST(CommunicationCost, AllreduceIsARingForManyBytesAndATreeForFew) {
  const CommunicationCost few = ringCost(oneOf(CommunicationKind::Allreduce));
  EXPECT_EQ(few.latency + few.seconds, 10 + 2 * 3 + 2 * 0.75 * 4);  // ring: 22; tree: 10 + 4 + 8, the same
  const CommunicationCost many = ringCost({.kind = CommunicationKind::Allreduce, .counts = {400}});
  EXPECT_EQ(many.latency, 10 + 6);
  EXPECT_EQ(many.seconds, 2 * 0.75 * 400);
  const CommunicationCost least = ringCost({.kind = CommunicationKind::Allreduce, .counts = {1}});
  EXPECT_EQ(least.latency, 10 + 4);
  EXPECT_EQ(least.seconds, 2);
}

TEST(CommunicationCost, BroadcastAndReduceAreAPipeline) {
  const CommunicationCost broadcast = ringCost(oneOf(CommunicationKind::Broadcast, 1));
  EXPECT_EQ(broadcast.latency, 10 + 3);
  EXPECT_EQ(broadcast.seconds, 4);
  EXPECT_EQ(broadcast.moved[1].received, 0);
  EXPECT_EQ(broadcast.moved[1].sent, 16);
  EXPECT_EQ(broadcast.moved[0].sent, 0);  // the last one
  const CommunicationCost reduce = ringCost(oneOf(CommunicationKind::Reduce, 1));
  EXPECT_EQ(reduce.moved[1].sent, 0);
  EXPECT_EQ(reduce.moved[2].received, 0);  // the first one
}

TEST(CommunicationCost, GatherAndScatterWaitForTheRoot) {
  const CommunicationCost gather = ringCost(partsOf(CommunicationKind::Gather, 2));
  EXPECT_EQ(gather.seconds, 3 * 4);
  EXPECT_EQ(gather.moved[2].received, 48);
  EXPECT_EQ(gather.moved[0].sent, 16);
  const CommunicationCost scatter = ringCost(partsOf(CommunicationKind::Scatter, 2));
  EXPECT_EQ(scatter.moved[2].sent, 48);
  EXPECT_EQ(scatter.moved[0].received, 16);
}

TEST(CommunicationCost, AllToAllMovesAllButOwnParts) {
  const CommunicationCost cost = ringCost(partsOf(CommunicationKind::AllToAll));
  EXPECT_EQ(cost.latency, 10 + 3);
  EXPECT_EQ(cost.seconds, 3 * 4);
  EXPECT_EQ(cost.moved[1].sent, 48);
  EXPECT_EQ(cost.moved[1].received, 48);
}

TEST(CommunicationCost, SendRecvAndTransfersAreOneStep) {
  const Asked asked(oneOf(CommunicationKind::SendRecv, 0), 2);
  const MachineTransport transport = transportOf(TransportAlgorithm::Ring);
  EXPECT_EQ(costOf(asked.meeting, costMachine(), transport).latency, 11);
  Asked transfer({.kind = CommunicationKind::Send, .counts = {4}, .send_to = 1}, 2);
  transfer.meeting.is_transfer = true;
  const CommunicationCost cost = costOf(transfer.meeting, costMachine(), transport);
  EXPECT_EQ(cost.latency, 11);
  EXPECT_EQ(cost.seconds, 4);
  EXPECT_EQ(cost.moved[0].sent, 16);
  EXPECT_EQ(cost.moved[1].received, 16);
}

TEST(CommunicationCost, DirectTransfersLoadTheOwner) {
  const CommunicationCost gather = directCost(partsOf(CommunicationKind::Allgather));
  EXPECT_EQ(gather.seconds, 3 * 4);
  EXPECT_EQ(gather.moved[0].sent, 48);
  const CommunicationCost broadcast = directCost(oneOf(CommunicationKind::Broadcast, 1));
  EXPECT_EQ(broadcast.seconds, 3 * 4);
  EXPECT_EQ(broadcast.moved[1].sent, 48);
  EXPECT_EQ(broadcast.moved[0].received, 16);
}

TEST(CommunicationCost, DirectTransportsDoNotReduce) {
  const Error error = errorOf([] { directCost(oneOf(CommunicationKind::Allreduce)); });
  EXPECT_EQ(error.code(), ErrorCode::Unsupported);
  EXPECT_THAT(error.message(), HasSubstr("Allreduce of 4 f32 (sum): a transport that moves parts directly cannot"));
}

TEST(CommunicationCost, OneRankCopies) {
  const CommunicationCost cost = ringCost(oneOf(CommunicationKind::Allreduce), 1);
  EXPECT_TRUE(cost.stays_in_memory);
  EXPECT_EQ(cost.seconds, 2 * 16 / 100.0);
}

TEST(CommunicationCost, TeamsOfSeveralHostsUseTheNetwork) {
  const CommunicationCost within = ringCost(partsOf(CommunicationKind::Allgather), 4, 4);
  EXPECT_FALSE(within.is_over_network);
  const CommunicationCost across = ringCost(partsOf(CommunicationKind::Allgather), 4, 2);
  EXPECT_TRUE(across.is_over_network);
  EXPECT_EQ(across.latency, 10 + 3 * 2);
  EXPECT_EQ(across.seconds, 48 / 1.0);
}

TEST(CommunicationCost, WithoutANetworkThereIsOneHost) {
  Machine machine = costMachine();
  machine.network.reset();
  const Asked asked(partsOf(CommunicationKind::Allgather), 4, 2);
  const Error error = errorOf([&] { costOf(asked.meeting, machine, transportOf(TransportAlgorithm::Ring)); });
  EXPECT_EQ(error.code(), ErrorCode::Usage);
  EXPECT_THAT(error.message(), HasSubstr("ranks 2 and 5 are of several hosts, which have 4 rank(s) each"));
}

TEST(CommunicationCost, TheFractionIsThatOfTheTeamsSize) {
  const MachineTransport transport{.bandwidth_fractions = {{2, 0.5}, {4, 0.75}}};
  EXPECT_EQ(bandwidthFraction(transport, 1), 0.5);
  EXPECT_EQ(bandwidthFraction(transport, 3), 0.5);
  EXPECT_EQ(bandwidthFraction(transport, 4), 0.75);
  EXPECT_EQ(bandwidthFraction(transport, 8), 0.75);
}

}  // namespace
}  // namespace tokamak
