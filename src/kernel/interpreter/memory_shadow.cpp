#include "kernel/interpreter/memory_shadow.h"

#include <fmt/format.h>

namespace tokamak {

namespace {

bool isOrderedByCluster(const ThreadMoment& earlier, const ThreadMoment& later) {
  return earlier.cluster == later.cluster && earlier.arrivals < later.waits;
}

bool isOrdered(const ThreadMoment& earlier, const ThreadMoment& later) {
  if (earlier.block < 0) return true;  // never happened
  if (isOrderedByCluster(earlier, later)) return true;
  return earlier.block == later.block && (earlier.thread == later.thread || earlier.epoch < later.epoch);
}

std::string describe(const char* what, const ThreadMoment& by) {
  return fmt::format("{} by thread {} of block {}", what, by.thread, by.block);
}

}  // namespace

MemoryShadow::Cell& MemoryShadow::cellOf(int64_t element) {
  Page& page = pages_[static_cast<size_t>(element / kPageCells)];
  if (page.empty()) page.resize(kPageCells, Cell{.is_written = is_untouched_written_});
  return page[static_cast<size_t>(element % kPageCells)];
}

void MemoryShadow::forgetValues() {
  is_untouched_written_ = false;
  for (Page& page : pages_) {
    for (Cell& cell : page) cell.is_written = cell.is_under_way = false;
  }
}

std::optional<std::string> MemoryShadow::end(const ThreadMoment& by) const {
  for (const Page& page : pages_) {
    for (const Cell& cell : page) {
      if (cell.writer.block != by.block && !isOrdered(cell.writer, by))
        return describe("write", cell.writer) + fmt::format(" while block {} may have ended", by.block);
    }
  }
  return std::nullopt;
}

std::optional<std::string> MemoryShadow::note(AccessKind access, int64_t element, const ThreadMoment& by) {
  if (access == AccessKind::Read) return read(element, by);
  Cell& cell = cellOf(element);
  if (access == AccessKind::LandCopy) {
    cell = Cell{.writer = by, .is_written = true};
    return std::nullopt;
  }
  auto problem = write(element, by);
  if (access == AccessKind::BeginCopy) cell = Cell{.writer = by, .is_under_way = true};
  return problem;
}

std::optional<std::string> MemoryShadow::read(int64_t element, const ThreadMoment& by) {
  Cell& cell = cellOf(element);
  if (cell.is_under_way) return describe("copy under way", cell.writer) + ", " + describe("read", by);
  if (!cell.is_written) return describe("uninitialised read", by);
  if (!isOrdered(cell.writer, by)) return describe("race: write", cell.writer) + ", " + describe("read", by);
  if (cell.reader.block >= 0) {
    cell.has_other_blocks |= cell.reader.block != by.block;
    const bool is_same_epoch = cell.reader.epoch == by.epoch && !isOrderedByCluster(cell.reader, by);
    cell.has_other_threads = is_same_epoch && (cell.has_other_threads || cell.reader.thread != by.thread);
  }
  cell.reader = by;
  return std::nullopt;
}

std::optional<std::string> MemoryShadow::write(int64_t element, const ThreadMoment& by) {
  Cell& cell = cellOf(element);
  if (cell.is_under_way) return describe("copy under way", cell.writer) + ", " + describe("write", by);
  if (beginning_.block != by.block && !isOrdered(beginning_, by))
    return describe("write", by) + fmt::format(" while block {} may not have begun", beginning_.block);
  if (!isOrdered(cell.writer, by)) return describe("race: write", cell.writer) + ", " + describe("write", by);
  const bool is_same_epoch =
      cell.reader.block == by.block && cell.reader.epoch == by.epoch && !isOrderedByCluster(cell.reader, by);
  const bool is_read_beside =
      cell.has_other_blocks || !isOrdered(cell.reader, by) || (cell.has_other_threads && is_same_epoch);
  if (is_read_beside) return describe("race: read", cell.reader) + ", " + describe("write", by);
  cell = Cell{.writer = by, .is_written = true};
  return std::nullopt;
}

}  // namespace tokamak
