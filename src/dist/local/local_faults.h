// LocalFaults: what goes wrong between ranks of one process, from a seed: delays, other orders, deaths.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

namespace tokamak {

/// Points of an operation (a work of a team, on one of its ranks).
enum class OperationPoint : uint8_t {
  BeforeArrival,  ///< nobody knows of it
  AfterArrival,   ///< others may read this rank's memory
  BetweenParts,   ///< this rank has read parts of others, and perhaps not all
  BeforeEnd,      ///< it has read all
};

/// One death: of a rank, in the operation with this number, counted from 0 over all teams of the rank.
struct LocalDeath {
  int64_t rank = 0;
  int64_t operation = 0;
  OperationPoint point = OperationPoint::BeforeArrival;
};

/// The same seed gives each operation the same faults, whenever it runs.
struct LocalFaults {
  uint64_t seed = 0;
  std::chrono::microseconds longest_delay{0};  ///< at each point of an operation, for half of them
  bool reorders = false;                       ///< the parts of an operation move in any order
  double death_chance = 0;                     ///< at each point of an operation, from 0 to 1
  std::optional<LocalDeath> death = {};
};

/// What happens in one operation.
class OperationFaults {
 public:
  /// `key`: the same for one operation of one rank in every run.
  OperationFaults(const LocalFaults& faults, int64_t rank, uint64_t key, std::atomic<int64_t>& operations_of_rank);

  /// Pauses; whether the rank dies now.
  bool passIsDeath(OperationPoint point);
  /// Where to begin with `count` things that may be done in any order: the one at (first + i) % count is the i-th.
  int64_t firstOf(int64_t count);

 private:
  uint64_t draw();

  const LocalFaults& faults_;
  const int64_t rank_;
  int64_t operation_;
  uint64_t state_;
};

/// Bits that depend on both.
uint64_t mixed(uint64_t a, uint64_t b);

}  // namespace tokamak
