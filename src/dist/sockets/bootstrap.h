// Bootstrap: how the ranks of a job first hear of one another, by whatever started them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/export.h"

namespace tokamak {

/// Used once per communicator, to make sockets between all ranks (rank_sockets.h); whatever comes later, and who has
/// died, is told by these.
/// Thread safety: one thread at a time.
class TOKAMAK_EXPORT Bootstrap {
 public:
  Bootstrap() = default;
  Bootstrap(const Bootstrap&) = delete;
  Bootstrap& operator=(const Bootstrap&) = delete;
  virtual ~Bootstrap();

  /// From 0 to size() - 1.
  virtual int64_t rank() const = 0;
  virtual int64_t size() const = 0;
  /// What each rank gave, by its number. All ranks call it, equally often; it returns when all have. Errors: as the
  /// implementation says.
  virtual std::vector<std::vector<std::byte>> exchange(std::span<const std::byte> bytes) = 0;
};

/// A caller's function as a bootstrap: a torch process group, or an own launcher. `exchange` is called on the thread
/// that makes the communicator; what it raises comes out there.
using ExchangeFunction = std::function<std::vector<std::vector<std::byte>>(std::span<const std::byte>)>;
/// Errors: Usage for a rank that is not below `size`, or without a function.
TOKAMAK_EXPORT std::unique_ptr<Bootstrap> functionBootstrap(int64_t rank, int64_t size, ExchangeFunction exchange);

/// The bootstraps of a job whose ranks are threads of this process, by rank. Their exchanges wait for one another, for
/// so long. Errors: Usage without ranks; CommunicationError (TimedOut) in an exchange that a rank does not come to.
TOKAMAK_EXPORT std::vector<std::unique_ptr<Bootstrap>> threadBootstraps(int64_t size,
                                                                        std::chrono::milliseconds timeout);

struct TcpBootstrapOptions {
  int64_t rank = 0;
  int64_t size = 1;
  std::string address = "127.0.0.1";  ///< of rank 0, a name or a number
  int64_t port = 29500;               ///< where rank 0 listens
  std::chrono::milliseconds timeout{600'000};
};
/// As $RANK, $WORLD_SIZE, $MASTER_ADDR and $MASTER_PORT say, which torchrun and most launchers set. torchrun itself
/// listens at $MASTER_PORT: its ranks (for whom $TORCHELASTIC_USE_AGENT_STORE is True) meet 1,000 ports above, or below
/// where there is none. $TOKAMAK_BOOTSTRAP_PORT names another port. Under Open MPI's mpirun, which sets
/// $OMPI_COMM_WORLD_RANK and $OMPI_COMM_WORLD_SIZE, they count where $RANK is not set. The address is then this machine
/// where all processes are on it, and the port 29500, unless the others say otherwise.
/// Errors: Usage, naming the variable, for one that is missing or no number.
TOKAMAK_EXPORT TcpBootstrapOptions tcpBootstrapFromEnvironment();
/// The number of this process among those of its machine, as $LOCAL_RANK or $OMPI_COMM_WORLD_LOCAL_RANK says; else
/// `rank`. Errors: Usage, naming the variable, for one that is no number.
TOKAMAK_EXPORT int64_t localRankFromEnvironment(int64_t rank);
/// Rank 0 listens and gives all what all gave; the others are connected to it. The connections stay open as long as the
/// bootstrap.
/// Errors: Usage for a rank that is not below the size; Device for an address that nobody knows or a port that is
/// taken; CommunicationError: TimedOut for ranks that do not come (rank 0 names the first, the others rank 0), Died
/// for one whose connection ends, Mismatch for two processes that say that they are one rank, or another size.
TOKAMAK_EXPORT std::unique_ptr<Bootstrap> tcpBootstrap(const TcpBootstrapOptions& options);

}  // namespace tokamak
