// MemoryWatch: which context wrote and read each byte of global and shared memory last, and whether barriers order
// these accesses.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tokamak::contexts {

/// How far a context has come; what orders its accesses.
struct Progress {
  uint32_t block = 0;
  uint32_t thread = 0;  ///< of the block
  uint32_t cluster = 0;
  uint32_t barriers = 0;  ///< of the block, that it has passed
  uint32_t arrivals = 0;  ///< at barriers of the cluster
  uint32_t waits = 0;
  uint32_t fences = 0;
};

class MemoryWatch {
 public:
  struct Region {
    const std::byte* begin = nullptr;
    int64_t bytes = 0;
    bool is_written = false;  ///< when it is added
    bool is_shared = false;
    std::string name;
  };
  void add(Region region);
  /// Without those of shared memory.
  void forgetShared();

  /// What is wrong with the access, or nothing: it is misaligned, outside of every region, of what nobody has written,
  /// or not ordered after another one.
  std::optional<std::string> access(const void* place, int64_t bytes, bool is_write, const Progress& now);
  bool contains(const void* place) const { return find(place) != nullptr; }

  /// What an asynchronous copy brings is under way until it is landed; nobody may touch it.
  std::optional<std::string> launch(const void* place, int64_t bytes, const Progress& now);
  std::optional<std::string> land(const void* place, int64_t bytes, const Progress& now);

  /// An atomic operation: ordered after those before it at the same place, with all that the fences before it order.
  /// `fences`: of the block's contexts.
  void synchronize(const void* place, const Progress& now, std::vector<uint32_t> fences);

 private:
  struct Cell {
    Progress write;
    Progress reads[2];  // by two contexts, the latest first
    bool is_written = false;
    bool has_write = false;
    uint8_t read_count = 0;
    bool is_under_way = false;
  };
  struct Watched {
    Region region;
    std::vector<Cell> cells;
  };
  struct Release {
    Progress by;
    std::vector<uint32_t> fences;
  };
  struct Acquire {
    const void* place = nullptr;
    size_t after = 0;  // so many releases
    Release at;
  };

  const Watched* find(const void* place) const;
  bool isOrdered(const Progress& earlier, const Progress& now) const;
  std::optional<std::string> touch(Cell& cell, bool is_write, const Progress& now) const;

  std::map<const std::byte*, Watched> regions_;
  std::map<const void*, std::deque<Release>> releases_;
  std::map<uint32_t, std::vector<Acquire>> acquires_;  // by block
};

std::string toString(const Progress& progress);

}  // namespace tokamak::contexts
