// MemoryShadow: what the interpreter knows of every element of a buffer: whether it was written, and who touched it
// last.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tokamak {

/// A thread at a moment: threads of one block are ordered by the block's barriers, which begin a new epoch; those of
/// one cluster by its barriers: what is done before the arrival number n, before what is done after that many waits;
/// others by nothing.
struct ThreadMoment {
  int32_t block = 0;
  int32_t thread = 0;
  int32_t epoch = 0;
  int32_t cluster = 0;
  int32_t arrivals = 0;
  int32_t waits = 0;
};

/// What is done to an element. An asynchronous copy to it begins, and lands when the thread that began it has waited;
/// in between nobody may touch it.
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

  /// The values are gone; who touched them stays known.
  void forgetValues();
  /// The memory is there from now on, for threads that come after this moment of some thread of its block, and for
  /// those of the block.
  void begin(const ThreadMoment& by) { beginning_ = by; }
  /// The memory is not there any more after this moment of a thread of its block; what is wrong with that: another
  /// block may not have written yet.
  std::optional<std::string> end(const ThreadMoment& by) const;

  /// Notes the access; what is wrong with it, in words: an uninitialised read, a race.
  std::optional<std::string> note(AccessKind access, int64_t element, const ThreadMoment& by);

 private:
  std::optional<std::string> read(int64_t element, const ThreadMoment& by);
  std::optional<std::string> write(int64_t element, const ThreadMoment& by);

  // Of the readers since the last write: one of them, and whether there were others that are not ordered with it.
  struct Cell {
    ThreadMoment writer{-1, -1, -1};
    ThreadMoment reader{-1, -1, -1};
    bool is_written = false;
    bool is_under_way = false;
    bool has_other_threads = false;
    bool has_other_blocks = false;
  };

  // A kernel may touch few elements of a large buffer: those beside one that it touches have cells.
  using Page = std::vector<Cell>;
  static constexpr int64_t kPageCells = 64;
  Cell& cellOf(int64_t element);

  int64_t size_;
  bool is_untouched_written_;
  std::vector<Page> pages_;  ///< empty: untouched
  ThreadMoment beginning_{.block = -1};
};

}  // namespace tokamak
