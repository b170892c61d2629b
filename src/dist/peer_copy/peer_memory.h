// PeerMemory: memory of a rank's device that other ranks of the machine copy from, and theirs that this one reaches.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "dist/sockets/message.h"
#include "runtime/cuda/driver_context.h"

namespace tokamak {

/// Where memory of a rank lies, in words that other ranks understand.
struct PeerAddress {
  int64_t address = 0;     ///< in the rank's own process; 0: there is no memory
  int64_t allocation = 0;  ///< the driver's number of it, which no other one of the process ever has
  int64_t offset = 0;      ///< in bytes, from the allocation's begin
  driver::MemoryHandle handle = {};

  void addTo(MessageWriter& message) const;
  static PeerAddress readFrom(MessageReader& message);
};

/// Ranks of one process use each other's addresses. Memory of other processes is opened by a handle of the driver (CUDA
/// IPC) when it is first reached, and stays open: that costs some 100 us. What its owner frees goes back to the GPU
/// when all have closed it: when another allocation is reached at its address, when the owner has said that it is gone
/// (takeFreed()), or when this is destroyed.
/// Thread safety: any threads may use it side by side.
class PeerMemory {
 public:
  /// `is_here`: per rank of the job, whether it is in this process.
  PeerMemory(std::shared_ptr<DriverContext> context, std::vector<uint8_t> is_here);
  PeerMemory(const PeerMemory&) = delete;
  PeerMemory& operator=(const PeerMemory&) = delete;
  /// Closes what is open; nothing that uses it runs any more.
  ~PeerMemory();

  /// Of memory of this rank's device; null: none. Errors: Unsupported for memory that has no handle, as that of
  /// cuMemCreate, where ranks are in several processes; Device.
  PeerAddress share(const void* address);
  /// The address at which this rank's device reaches it. Errors: Unsupported, with the driver's words, where it cannot.
  void* reach(int64_t rank, const PeerAddress& memory);
  /// Numbers of own allocations that were shared, and are found to be gone. Looked for when a new one is shared.
  std::vector<int64_t> takeFreed();
  /// The rank has freed this allocation, which nothing here reads any more.
  void close(int64_t rank, int64_t allocation);
  /// How many allocations of other processes are open.
  int64_t openCount() const;

 private:
  struct Shared {
    driver::Address base = 0;
    driver::MemoryHandle handle;
  };
  struct Mapping {
    int64_t allocation = 0;
    driver::Address base = 0;
  };

  void findFreed();

  const std::shared_ptr<DriverContext> context_;
  const std::vector<uint8_t> is_here_;
  bool is_alone_ = true;  // all ranks are in this process
  mutable std::mutex mutex_;
  std::map<int64_t, Shared> shared_;                              // own allocations, by number
  std::vector<int64_t> freed_;                                    // of these
  std::map<std::pair<int64_t, int64_t>, Mapping> open_mappings_;  // by rank and base in its process
};

/// Zeroed words of device memory that front ends of GPUs write and wait for. Blocks are never given back before the
/// end: others may still write to them.
/// Thread safety: any threads may use it side by side.
class PeerFlags {
 public:
  explicit PeerFlags(std::shared_ptr<DriverContext> context);
  PeerFlags(const PeerFlags&) = delete;
  PeerFlags& operator=(const PeerFlags&) = delete;
  ~PeerFlags();

  /// The begin of so many words, at most kSlabWords. Errors: OutOfMemory, Device.
  uint64_t* take(int64_t words);
  static constexpr int64_t kSlabWords = 1 << 15;

  /// Writes values although streams wait: by a stream of its own, of the highest priority, which shares no queue of the
  /// hardware with theirs. Never fails.
  struct Value {
    driver::Address address = 0;
    uint64_t value = 0;
  };
  void release(const std::vector<Value>& values) noexcept;
  /// What stands there now; nothing where that is not found out within 100 ms.
  std::optional<uint64_t> read(driver::Address address) noexcept;

 private:
  const std::shared_ptr<DriverContext> context_;
  std::mutex mutex_;
  driver::Stream stream_ = nullptr;
  driver::Event is_read_ = nullptr;
  uint64_t* seen_ = nullptr;  // pinned, so that no copy waits on the host
  std::vector<driver::Address> slabs_;
  int64_t used_ = kSlabWords;  // words of the last slab
};

}  // namespace tokamak
