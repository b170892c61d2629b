#include "simulate/machine.h"

#include <iterator>
#include <string_view>
#include <vector>

#include "base/require.h"
#include "base/text.h"

namespace tokamak {

namespace {

void requirePositive(const Machine& machine, std::string_view what, double value) {
  TK_REQUIRE(value > 0, Usage, "machine {}: {} is {}; it has to be positive", machine.name, what, value);
}

void requireLatency(const Machine& machine, std::string_view what, double value) {
  TK_REQUIRE(value >= 0, Usage, "machine {}: {} is {} seconds; it cannot be negative", machine.name, what, value);
}

void requireLegal(const Machine& machine, std::string_view name, const MachineTransport& transport) {
  requireLatency(machine, "the latency of a transport", transport.latency);
  requireLatency(machine, "the latency of a transport's step", transport.step_latency);
  TK_REQUIRE(!transport.bandwidth_fractions.empty(), Usage,
             "machine {}: transport {} has no bandwidth_fractions; it needs one, for teams of 1 rank on", machine.name,
             name);
  for (const auto& [members, fraction] : transport.bandwidth_fractions)
    TK_REQUIRE(fraction > 0 && fraction <= 1, Usage,
               "machine {}: transport {} reaches {} of a link's bandwidth; legal is more than 0, up to 1", machine.name,
               name, fraction);
  TK_REQUIRE(transport.multiprocessors >= 0 && transport.multiprocessors < machine.multiprocessors, Usage,
             "machine {}: transport {} takes {} multiprocessors of {}; it has to leave one", machine.name, name,
             transport.multiprocessors, machine.multiprocessors);
  TK_REQUIRE(transport.copy_engines >= 0 && transport.copy_engines <= machine.copy_engines, Usage,
             "machine {}: transport {} takes {} copy engines; there are {}", machine.name, name, transport.copy_engines,
             machine.copy_engines);
}

}  // namespace

void requireLegal(const Machine& machine) {
  requirePositive(machine, "ranks_per_host", static_cast<double>(machine.ranks_per_host));
  requirePositive(machine, "multiprocessors", static_cast<double>(machine.multiprocessors));
  requirePositive(machine, "copy_engines", static_cast<double>(machine.copy_engines));
  requirePositive(machine, "the memory's bandwidth", machine.memory_bandwidth);
  requirePositive(machine, "the rate of functions", machine.function_rate);
  for (const auto& [dtype, rate] : machine.product_rates) requirePositive(machine, "the rate of products", rate);
  requireLatency(machine, "kernel_latency", machine.kernel_latency);
  requireLatency(machine, "host_launch", machine.host_launch);
  requireLatency(machine, "host_event", machine.host_event);
  requirePositive(machine, "the bandwidth of the host's link", machine.host_link.bandwidth);
  requireLatency(machine, "the latency of the host's link", machine.host_link.latency);
  if (machine.network) {
    requirePositive(machine, "the bandwidth of the network", machine.network->bandwidth);
    requireLatency(machine, "the latency of the network", machine.network->latency);
  }
  if (machine.host_memory) {
    requirePositive(machine, "the bandwidth to the host's memory", machine.host_memory->bandwidth);
    requireLatency(machine, "the latency of the host's memory", machine.host_memory->latency);
  }
  for (const auto& [name, transport] : machine.transports) requireLegal(machine, name, transport);
}

double bandwidthFraction(const MachineTransport& transport, int64_t members) {
  const auto next = transport.bandwidth_fractions.upper_bound(members);
  return next == transport.bandwidth_fractions.begin() ? next->second : std::prev(next)->second;
}

const MachineTransport& transportNamed(const Machine& machine, const std::string& name) {
  const auto found = machine.transports.find(name);
  std::vector<std::string> names;
  for (const auto& [known, transport] : machine.transports) names.push_back(known);
  TK_REQUIRE(found != machine.transports.end(), Usage, "machine {}: it has no transport {}; it has: {}", machine.name,
             name, joined(names));
  return found->second;
}

}  // namespace tokamak
