// Machine: what the model of a job of devices knows of them: rates, latencies, links, and how they communicate.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "symbolic/data_type.h"

namespace tokamak {

/// A rank's way to other ranks. Seconds, and bytes per second in each direction.
struct MachineLink {
  double latency = 0;
  double bandwidth = 0;
};

/// How a transport moves the parts of a collective (docs/simulate.md has the formulas).
enum class TransportAlgorithm : uint8_t {
  Ring,    ///< from neighbour to neighbour, also reductions
  Direct,  ///< each part straight from the rank that has it to the one that needs it; it cannot reduce
};

/// A transport, and what of a rank it takes while it works.
struct MachineTransport {
  TransportAlgorithm algorithm = TransportAlgorithm::Ring;
  double latency = 0;       ///< of each communication, in seconds
  double step_latency = 0;  ///< of each step of it, beside the link's
  /// Of the link's bandwidth, what one communication reaches: by the size of the team, each for all sizes from it on up
  /// to the next one. Not empty.
  std::map<int64_t, double> bandwidth_fractions = {{1, 1.0}};
  int64_t multiprocessors = 0;  ///< held from the moment that a rank posts until the communication is over
  int64_t copy_engines = 0;     ///< taken while bytes move
};

/// Rates are of one rank. Legal is what requireLegal() says.
struct Machine {
  std::string name;
  int64_t ranks_per_host = 1;   ///< ranks [h r, (h + 1) r) are of host h
  int64_t multiprocessors = 1;  ///< of a rank
  int64_t copy_engines = 1;
  double memory_bandwidth = 0;               ///< bytes per second, read and written
  double function_rate = 0;                  ///< functions and steps of reductions per second
  std::map<DataType, double> product_rates;  ///< of matrix products, by type of the operands: operations per second
  double kernel_latency = 0;                 ///< seconds that each kernel takes beside its work
  double host_launch = 0;                    ///< seconds of the host per kernel, fill or communication
  double host_event = 0;                     ///< seconds of the host per record or wait
  MachineLink host_link;                     ///< to ranks of the same host
  std::optional<MachineLink> network = {};   ///< to those of others; none: there is one host
  /// To and from pinned and pageable memory of the host; none: that counts as the device's.
  std::optional<MachineLink> host_memory = {};
  std::map<std::string, MachineTransport> transports;  ///< by name: "nccl", "copy", "local"
};

/// Errors: Usage, naming the machine and the figure, for a rate, bandwidth or number of something that is not positive,
/// a latency that is negative, fractions that are none or not in (0, 1], and a transport that takes more than there is.
void requireLegal(const Machine& machine);

/// Of a team of so many ranks; those of less than the first size have its.
double bandwidthFraction(const MachineTransport& transport, int64_t members);

/// Errors: Usage, with the names that there are.
const MachineTransport& transportNamed(const Machine& machine, const std::string& name);

}  // namespace tokamak
