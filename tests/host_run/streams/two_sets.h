// The program of two streamed copies, for the tests of its waits.
#pragma once

namespace tokamak {

inline constexpr const char* kTwoSets =
    "fusion two_sets(T0: f32[i0, i2]) -> T2 { T1 = set(T0) T2 = set(T1) } "
    "schedule { parallelize(T1, axis=0, type=Stream) parallelize(T2, axis=0, type=Stream) }";
inline constexpr long kTwoSetsRows = 4;
inline constexpr long kTwoSetsColumns = 1024;

}  // namespace tokamak
