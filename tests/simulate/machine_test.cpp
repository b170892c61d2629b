// Machines that cannot be are refused, with the figure.
#include "simulate/machine.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error_of.h"
#include "simulate/model_device.h"

namespace tokamak {
namespace {

using testing::HasSubstr;

std::string machineRefusal(const std::function<void(Machine&)>& change) {
  Machine machine{.name = "test", .memory_bandwidth = 1, .function_rate = 1, .host_link = {0, 1}};
  machine.transports["fast"] = {};
  requireLegal(machine);
  change(machine);
  const Error error = errorOf([&] { requireLegal(machine); });
  EXPECT_EQ(error.code(), ErrorCode::Usage);
  return error.message();
}

TEST(Machine, RatesArePositive) {
  EXPECT_THAT(machineRefusal([](Machine& machine) { machine.memory_bandwidth = 0; }),
              HasSubstr("machine test: the memory's bandwidth is 0; it has to be positive"));
  EXPECT_THAT(machineRefusal([](Machine& machine) { machine.product_rates[DataType::F32] = -1; }),
              HasSubstr("the rate of products is -1"));
  EXPECT_THAT(machineRefusal([](Machine& machine) { machine.network = MachineLink{}; }),
              HasSubstr("the bandwidth of the network is 0"));
  EXPECT_THAT(machineRefusal([](Machine& machine) { machine.host_memory = MachineLink{}; }),
              HasSubstr("the bandwidth to the host's memory is 0"));
}

TEST(Machine, LatenciesAreNotNegative) {
  EXPECT_THAT(machineRefusal([](Machine& machine) { machine.kernel_latency = -1; }),
              HasSubstr("kernel_latency is -1 seconds; it cannot be negative"));
}

TEST(Machine, TransportsReachAPartOfTheLink) {
  EXPECT_THAT(machineRefusal([](Machine& machine) { machine.transports["fast"].bandwidth_fractions = {{2, 1.5}}; }),
              HasSubstr("transport fast reaches 1.5 of a link's bandwidth"));
  EXPECT_THAT(machineRefusal([](Machine& machine) { machine.transports["fast"].bandwidth_fractions.clear(); }),
              HasSubstr("transport fast has no bandwidth_fractions"));
}

TEST(Machine, TransportsTakeWhatThereIs) {
  EXPECT_THAT(machineRefusal([](Machine& machine) { machine.transports["fast"].multiprocessors = 1; }),
              HasSubstr("transport fast takes 1 multiprocessors of 1; it has to leave one"));
  EXPECT_THAT(machineRefusal([](Machine& machine) { machine.transports["fast"].copy_engines = 2; }),
              HasSubstr("transport fast takes 2 copy engines; there are 1"));
}

TEST(Machine, TransportsHaveNames) {
  Machine machine{.name = "test"};
  machine.transports = {{"copy", {}}, {"nccl", {}}};
  const Error error = errorOf([&] { transportNamed(machine, "mpi"); });
  EXPECT_EQ(error.code(), ErrorCode::Usage);
  EXPECT_THAT(error.message(), HasSubstr("it has no transport mpi; it has: copy, nccl"));
}

TEST(ModelCommunicator, RanksOfAModelExchangeNothing) {
  ModelCommunicator communicator(0, 2, std::make_shared<ModelDevice>());
  const Error error = errorOf([&] { communicator.exchange("keys", {}, {}); });
  EXPECT_EQ(error.code(), ErrorCode::Unsupported);
  EXPECT_THAT(error.message(), HasSubstr("ranks of a model have nothing to exchange, and keys was to be"));
}

}  // namespace
}  // namespace tokamak
