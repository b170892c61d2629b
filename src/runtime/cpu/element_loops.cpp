#include "runtime/cpu/element_loops.h"

#include <algorithm>
#include <mutex>
#include <string>

#include "base/ceil_divide.h"
#include "base/spin_lock.h"
#include "device/work.h"
#include "ir/expr_summary.h"
#include "ir/fields.h"
#include "runtime/cpu/element_row.h"

namespace tokamak {

namespace {

// The fewest elements of a block that are worth a thread.
constexpr int64_t kBlockElements = 32768;
// A reduction with fewer chunks than this is split into pieces of at least kPieceElements.
constexpr int64_t kFewChunks = 32;
constexpr int64_t kPieceElements = 65536;

// The grid of chunks of the result: outer dimensions x tiles x parts of the row.
class ChunkGrid {
 public:
  ChunkGrid(const ElementProgram& program, int64_t row_length, int64_t tile_rows);

  int64_t chunks() const { return chunks_; }
  int64_t chunkLength() const { return steps_[program_->row]; }
  int64_t chunkElements() const;

  /// Sets `at` to the start of chunk `number`.
  void seek(int64_t number, int64_t* at) const;
  /// Moves `at` to the start of the next chunk.
  void advance(int64_t* at) const;
  /// How much of the dimension the chunk at `at` covers.
  int64_t length(size_t d, const int64_t* at) const {
    return std::min(steps_[d], program_->dimensions[d].extent - at[d]);
  }

 private:
  const ElementProgram* program_;
  std::vector<size_t> order_;   // fastest first
  std::vector<int64_t> steps_;  // per dimension
  int64_t chunks_ = 1;
};

ChunkGrid::ChunkGrid(const ElementProgram& program, int64_t row_length, int64_t tile_rows) : program_(&program) {
  steps_.assign(program.result_dimensions, 1);
  steps_[program.row] = row_length;
  // The tile dimension is fastest: consecutive tiles share pages and cache lines of the transposed operand.
  if (program.tile >= 0) {
    steps_[static_cast<size_t>(program.tile)] = tile_rows;
    order_.push_back(static_cast<size_t>(program.tile));
  }
  order_.push_back(program.row);
  for (size_t d = program.result_dimensions; d-- > 0;) {
    if (std::ranges::find(order_, d) == order_.end()) order_.push_back(d);
    chunks_ *= ceilDivide(program.dimensions[d].extent, steps_[d]);
  }
}

int64_t ChunkGrid::chunkElements() const {
  int64_t elements = 1;
  for (size_t d = 0; d < steps_.size(); ++d) elements *= std::min(steps_[d], program_->dimensions[d].extent);
  return elements;
}

void ChunkGrid::seek(int64_t number, int64_t* at) const {
  for (const size_t d : order_) {
    const int64_t count = ceilDivide(program_->dimensions[d].extent, steps_[d]);
    at[d] = number % count * steps_[d];
    number /= count;
  }
}

void ChunkGrid::advance(int64_t* at) const {
  for (const size_t d : order_) {
    at[d] += steps_[d];
    if (at[d] < program_->dimensions[d].extent) return;
    at[d] = 0;
  }
}

int64_t reducedElements(const ElementProgram& program) {
  int64_t elements = 1;
  for (size_t d = program.result_dimensions; d < program.dimensions.size(); ++d)
    elements *= program.dimensions[d].extent;
  return elements;
}

int64_t rowLengthOf(const ElementProgram& program) {
  if (program.is_empty) return 1;
  const int64_t longest = ElementRow::maxRow(program);
  if (program.reduced_row < 0) return longest;
  // Each element of the row is a reduction of its own.
  return std::clamp<int64_t>(kBlockElements / std::max<int64_t>(1, reducedElements(program)), 1, longest);
}

int64_t tileRowsOf(const ElementProgram& program) {
  int64_t size = 1;
  for (const OperandAccess& access : program.accesses) {
    if (access.stage >= 0) size = std::max(size, access.size);
  }
  return kTileBytes / size;
}

class ElementWork final : public CpuWork {
 public:
  ElementWork(std::string name, ElementProgram program);

  std::string_view name() const override { return name_; }
  int64_t hostBytes() const override;
  void run(void* const* addresses, BlockPool& pool) const override;

 private:
  void splitReduction();
  void runWhole(void* const* addresses, BlockPool& pool) const;
  void runCut(void* const* addresses, BlockPool& pool) const;
  std::unique_ptr<char[]> takePartials() const;

  std::string name_;
  ElementProgram program_;
  ChunkGrid grid_;
  int64_t chunks_per_block_ = 1;
  int64_t pieces_ = 1;        // that each reduction is split into
  int64_t piece_length_ = 0;  // along split_dimension_
  size_t split_dimension_ = 0;
  int64_t chunk_bytes_ = 0;  // of a chunk's accumulators
  // Memory for the accumulators of pieces, reused by later runs; concurrent runs have one each.
  mutable SpinLock partials_lock_;
  mutable std::vector<std::unique_ptr<char[]>> partials_;
};

ElementWork::ElementWork(std::string name, ElementProgram program)
    : name_(std::move(name)),
      program_(std::move(program)),
      grid_(program_, rowLengthOf(program_), tileRowsOf(program_)) {
  if (program_.is_empty) return;
  splitReduction();
  const int64_t work = grid_.chunkElements() * std::max<int64_t>(1, reducedElements(program_));
  chunks_per_block_ = std::max<int64_t>(1, kBlockElements / std::max<int64_t>(1, work));
}

// By sizes only, so that the order of additions does not depend on the number of threads.
void ElementWork::splitReduction() {
  const auto reductions = std::ranges::count(program_.steps, ElementKind::Reduce, &ElementStep::kind);
  if (reductions != 1 || grid_.chunks() >= kFewChunks || program_.dimensions.size() == program_.result_dimensions)
    return;
  const int64_t work = reducedElements(program_) * grid_.chunkElements();
  for (size_t d = program_.result_dimensions; d < program_.dimensions.size(); ++d) {
    if (split_dimension_ == 0 || program_.dimensions[d].extent > program_.dimensions[split_dimension_].extent)
      split_dimension_ = d;
  }
  const int64_t extent = program_.dimensions[split_dimension_].extent;
  const int64_t wanted = std::min(ceilDivide(2 * kFewChunks, grid_.chunks()), work / kPieceElements);
  if (wanted < 2 || extent < 2) return;
  piece_length_ = ceilDivide(extent, std::min(wanted, extent));
  pieces_ = ceilDivide(extent, piece_length_);
  chunk_bytes_ = grid_.chunkLength() * 2 * 8;
}

// With the memory for pieces of one run.
int64_t ElementWork::hostBytes() const {
  size_t bytes = sizeof(ElementWork) + program_.dimensions.size() * sizeof(Dimension);
  for (const ElementStep& step : program_.steps)
    bytes += sizeof(ElementStep) + step.operands.size() * sizeof(size_t) + step.constant.size();
  for (const OperandAccess& access : program_.accesses) bytes += sizeof(OperandAccess) + access.strides.size() * 8;
  return static_cast<int64_t>(bytes) + (pieces_ > 1 ? pieces_ * grid_.chunks() * chunk_bytes_ : 0);
}

void ElementWork::run(void* const* addresses, BlockPool& pool) const {
  if (program_.is_empty) return;
  if (pieces_ > 1)
    runCut(addresses, pool);
  else
    runWhole(addresses, pool);
}

void ElementWork::runWhole(void* const* addresses, BlockPool& pool) const {
  pool.parallelFor(ceilDivide(grid_.chunks(), chunks_per_block_), [&](int64_t block) {
    ElementRow row(program_, addresses);
    const int64_t begin = block * chunks_per_block_;
    const int64_t end = std::min(begin + chunks_per_block_, grid_.chunks());
    grid_.seek(begin, row.at());
    for (int64_t chunk = begin; chunk < end; ++chunk, grid_.advance(row.at())) {
      const int64_t tile_rows = program_.tile < 0 ? 1 : grid_.length(static_cast<size_t>(program_.tile), row.at());
      row.run(grid_.length(program_.row, row.at()), tile_rows);
    }
  });
}

std::unique_ptr<char[]> ElementWork::takePartials() const {
  const std::lock_guard lock(partials_lock_);
  if (partials_.empty()) return std::make_unique<char[]>(static_cast<size_t>(pieces_ * grid_.chunks() * chunk_bytes_));
  auto memory = std::move(partials_.back());
  partials_.pop_back();
  return memory;
}

void ElementWork::runCut(void* const* addresses, BlockPool& pool) const {
  auto memory = takePartials();
  pool.parallelFor(pieces_ * grid_.chunks(), [&](int64_t block) {
    ElementRow row(program_, addresses);
    const int64_t chunk = block / pieces_;
    const int64_t begin = block % pieces_ * piece_length_;
    grid_.seek(chunk, row.at());
    const ReducedRange range{split_dimension_, begin,
                             std::min(begin + piece_length_, program_.dimensions[split_dimension_].extent)};
    row.accumulate(range, grid_.length(program_.row, row.at()), memory.get() + block * chunk_bytes_, chunk_bytes_);
  });
  pool.parallelFor(grid_.chunks(), [&](int64_t chunk) {
    ElementRow row(program_, addresses);
    grid_.seek(chunk, row.at());
    const Partials partials{memory.get() + chunk * pieces_ * chunk_bytes_, pieces_, chunk_bytes_};
    row.run(grid_.length(program_.row, row.at()), 1, &partials);
  });
  const std::lock_guard lock(partials_lock_);
  partials_.push_back(std::move(memory));
}

}  // namespace

std::shared_ptr<const CpuWork> prepareElementWork(const Expr& expr, std::span<const OperandDesc> operands,
                                                  const ScalarBindings& bindings,
                                                  std::span<const int64_t> coordinate_offsets,
                                                  std::span<const Scalar* const> parameters) {
  return std::make_shared<ElementWork>(summaryOf(expr),
                                       makeElementProgram(expr, operands, bindings, coordinate_offsets, parameters));
}

}  // namespace tokamak
