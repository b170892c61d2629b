// The CUDA driver's types and numbers that are used here: own declarations of a stable binary interface, no CUDA
// header.
#pragma once

#include <cstdint>

namespace tokamak::driver {

using Result = int;        // CUresult
using Device = int;        // CUdevice
using Address = uint64_t;  // CUdeviceptr

using Context = struct ContextObject*;
using Stream = struct StreamObject*;
using Event = struct EventObject*;
using Module = struct ModuleObject*;
using Function = struct FunctionObject*;
using Graph = struct GraphObject*;
using GraphNode = struct GraphNodeObject*;
using GraphExec = struct GraphExecObject*;
using UserObject = struct UserObjectObject*;

inline constexpr Result kSuccess = 0;
inline constexpr Result kInvalidValue = 1;
inline constexpr Result kOutOfMemory = 2;
inline constexpr Result kNotReady = 600;
inline constexpr Result kPeerAccessAlreadyEnabled = 704;

/// CUipcMemHandle: names an allocation to other processes of the machine.
struct MemoryHandle {
  char bytes[64] = {};
};
inline constexpr unsigned kEnablePeerAccessLazily = 1;  // CUipcMem_flags

// CUdevice_attribute
inline constexpr int kMaxThreadsPerBlock = 1;
inline constexpr int kMaxSharedPerBlock = 8;
inline constexpr int kWarpSize = 10;
inline constexpr int kMultiprocessors = 16;
inline constexpr int kL2Bytes = 38;
inline constexpr int kMaxThreadsPerMultiprocessor = 39;
inline constexpr int kUnifiedAddressing = 41;
inline constexpr int kCapabilityMajor = 75;
inline constexpr int kCapabilityMinor = 76;
inline constexpr int kMaxSharedPerMultiprocessor = 81;
inline constexpr int kMaxRegistersPerMultiprocessor = 82;
inline constexpr int kCooperativeLaunch = 95;
inline constexpr int kMaxSharedPerBlockOptin = 97;
inline constexpr int kMaxBlocksPerMultiprocessor = 106;
inline constexpr int kReservedSharedPerBlock = 111;
inline constexpr int kClusterLaunch = 120;
inline constexpr int kStreamMemoryOps64 = 122;

// CUfunction_attribute
inline constexpr int kFunctionMaxThreads = 0;
inline constexpr int kFunctionStaticShared = 1;
inline constexpr int kFunctionLocalBytes = 3;
inline constexpr int kFunctionRegisters = 4;
inline constexpr int kFunctionMaxDynamicShared = 8;
inline constexpr int kFunctionAnyClusterSize = 14;

// CUpointer_attribute
inline constexpr int kPointerMemoryType = 2;
inline constexpr int kPointerDeviceAddress = 3;
inline constexpr int kPointerBufferId = 7;
inline constexpr int kPointerIsManaged = 8;
inline constexpr int kPointerOrdinal = 9;

// Flags of streams, events, host memory.
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventTiming = 0;
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr unsigned kHostPortable = 1;
inline constexpr unsigned kHostDeviceMap = 2;
inline constexpr unsigned kWaitGreaterOrEqual = 0;
inline constexpr unsigned kWriteDefault = 0;

// CUstreamCaptureMode, CUstreamCaptureStatus, CUuserObject_flags, CUuserObjectRetain_flags
inline constexpr int kCaptureRelaxed = 2;
inline constexpr int kCaptureActive = 1;
inline constexpr unsigned kNoDestructorSync = 1;
inline constexpr unsigned kRetainMove = 1;

// CUlaunchAttributeID
inline constexpr uint32_t kLaunchCooperative = 2;
inline constexpr uint32_t kLaunchClusterDimension = 4;
inline constexpr uint32_t kLaunchProgrammaticSerialization = 6;

/// CUlaunchAttribute: an id and a union of 64 bytes, here as words.
struct LaunchAttribute {
  uint32_t id = 0;
  uint32_t padding = 0;
  alignas(8) uint32_t value[16] = {};
};
static_assert(sizeof(LaunchAttribute) == 72);

/// CUlaunchConfig.
struct LaunchConfig {
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t shared_bytes = 0;
  Stream stream = nullptr;
  const LaunchAttribute* attributes = nullptr;
  uint32_t attribute_count = 0;
};
static_assert(sizeof(LaunchConfig) == 56);

/// CUDA_KERNEL_NODE_PARAMS_v2.
struct KernelNode {
  Function function = nullptr;
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t shared_bytes = 0;
  void** arguments = nullptr;
  void** extra = nullptr;
  void* kernel = nullptr;
  Context context = nullptr;
};
static_assert(sizeof(KernelNode) == 72);

}  // namespace tokamak::driver
