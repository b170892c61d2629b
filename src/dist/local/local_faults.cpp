#include "dist/local/local_faults.h"

#include <thread>

namespace tokamak {

// The finaliser of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
uint64_t mixed(uint64_t a, uint64_t b) {
  uint64_t bits = a * 0x9e3779b97f4a7c15U + b + 0x9e3779b97f4a7c15U;
  bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebU;
  return bits ^ (bits >> 31U);
}

OperationFaults::OperationFaults(const LocalFaults& faults, int64_t rank, uint64_t key,
                                 std::atomic<int64_t>& operations_of_rank)
    : faults_(faults),
      rank_(rank),
      operation_(operations_of_rank.fetch_add(1, std::memory_order_relaxed)),
      state_(mixed(mixed(faults.seed, static_cast<uint64_t>(rank)), key)) {}

uint64_t OperationFaults::draw() { return state_ = mixed(state_, 1); }

bool OperationFaults::passIsDeath(OperationPoint point) {
  const auto& death = faults_.death;
  if (death && death->rank == rank_ && death->operation == operation_ && death->point == point) return true;
  const uint64_t pause = faults_.longest_delay.count() > 0 ? draw() : 0;
  if ((pause & 1U) != 0) {
    const auto longest = static_cast<uint64_t>(faults_.longest_delay.count());
    std::this_thread::sleep_for(std::chrono::microseconds((pause >> 1U) % (longest + 1)));
  }
  constexpr double kUnit = 0x1p-53;
  return faults_.death_chance > 0 && static_cast<double>(draw() >> 11U) * kUnit < faults_.death_chance;
}

int64_t OperationFaults::firstOf(int64_t count) {
  return faults_.reorders && count > 1 ? static_cast<int64_t>(draw() % static_cast<uint64_t>(count)) : 0;
}

}  // namespace tokamak
