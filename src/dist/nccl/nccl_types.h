// NCCL's types and numbers that are used here: own declarations of a stable binary interface, no NCCL header.
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>

namespace tokamak::nccl {

using Result = int;  // ncclResult_t
using Communicator = struct CommunicatorObject*;

inline constexpr Result kSuccess = 0;
inline constexpr Result kSystemError = 2;
inline constexpr Result kRemoteError = 6;
inline constexpr Result kInProgress = 7;

// ncclDataType_t
inline constexpr int kUint8 = 1;
inline constexpr int kInt32 = 2;
inline constexpr int kInt64 = 4;
inline constexpr int kFloat16 = 6;
inline constexpr int kFloat32 = 7;
inline constexpr int kFloat64 = 8;
inline constexpr int kBfloat16 = 9;

// ncclRedOp_t
inline constexpr int kSum = 0;
inline constexpr int kProd = 1;
inline constexpr int kMax = 2;
inline constexpr int kMin = 3;

/// ncclUniqueId.
struct UniqueId {
  char bytes[128] = {};
};
static_assert(sizeof(UniqueId) == 128);

inline constexpr int kUndefined = INT_MIN;
inline constexpr unsigned kConfigMagic = 0xcafebeef;
inline constexpr int kOldestVersion = 21800;  // 2.18: what the configuration below has

/// ncclConfig_t of version 2.18: later libraries take it as one of that version, by its size and number.
struct Config {
  size_t size = sizeof(Config);
  unsigned magic = kConfigMagic;
  unsigned version = kOldestVersion;
  int blocking = kUndefined;
  int cluster_size = kUndefined;
  int fewest_blocks = kUndefined;
  int most_blocks = kUndefined;
  const char* network = nullptr;
  int shares_split = kUndefined;
};
static_assert(sizeof(Config) == 48);

}  // namespace tokamak::nccl
