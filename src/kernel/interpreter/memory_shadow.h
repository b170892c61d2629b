// MemoryShadow: the state of every element of a buffer in the interpreter: whether it is initialised, and its last
// accesses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tokamak {

/// A thread at a moment. Barriers, each of which begins an epoch, order threads of one block. Cluster barriers order
/// threads of one cluster: accesses before arrival n come before those after wait n. Nothing orders other threads.
struct ThreadMoment {
  int32_t block = 0;
  int32_t thread = 0;
  int32_t epoch = 0;
  int32_t cluster = 0;
  int32_t arrivals = 0;
  int32_t waits = 0;
};

/// The kind of an access. An asynchronous copy begins, and lands when its thread has waited; in between nothing may
/// access the element.
enum class AccessKind : uint8_t { Read, Write, BeginCopy, LandCopy };

class MemoryShadow {
 public:
  MemoryShadow(int64_t elements, bool is_written)
      : size_(elements), is_untouched_written_(is_written), pages_(static_cast<size_t>(elements / kPageCells + 1)) {}

  int64_t size() const { return size_; }
  bool isWritten(int64_t element) const {
    const Page& page = pages_[static_cast<size_t>(element / kPageCells)];
    return page.empty() ? is_untouched_written_ : page[static_cast<size_t>(element % kPageCells)].is_written;
  }

  /// Makes all elements uninitialised; the last accesses stay.
  void forgetValues();
  /// The buffer begins at this moment of a thread of its block: for threads ordered after it, and for those of the
  /// block.
  void begin(const ThreadMoment& by) { beginning_ = by; }
  /// The buffer ends at this moment of a thread of its block. Returns what is wrong with that: another block may still
  /// write to it.
  std::optional<std::string> end(const ThreadMoment& by) const;

  /// Records the access. Returns what is wrong with it, as a sentence: an uninitialised read, a race.
  std::optional<std::string> note(AccessKind access, int64_t element, const ThreadMoment& by);

 private:
  std::optional<std::string> read(int64_t element, const ThreadMoment& by);
  std::optional<std::string> write(int64_t element, const ThreadMoment& by);

  // The last write; one of the reads since, and whether there were others that are not ordered with it.
  struct Cell {
    ThreadMoment writer{-1, -1, -1};
    ThreadMoment reader{-1, -1, -1};
    bool is_written = false;
    bool is_under_way = false;
    bool has_other_threads = false;
    bool has_other_blocks = false;
  };

  // (Cells are in pages, as a kernel may access few elements of a large buffer.)
  using Page = std::vector<Cell>;
  static constexpr int64_t kPageCells = 64;
  Cell& cellOf(int64_t element);

  int64_t size_;
  bool is_untouched_written_;
  std::vector<Page> pages_;  ///< empty: untouched
  ThreadMoment beginning_{.block = -1};
};

}  // namespace tokamak
