#include "runtime/cpu/element_row.h"

#include <algorithm>
#include <cstring>

#include "runtime/cpu/thread_scratch.h"

namespace tokamak {

namespace {

constexpr int64_t kBufferBytes = kChunk * 8;
constexpr int64_t kStageBytes = kTileBytes * kTileColumns;

bool isPlainLoad(const ElementProgram& program) {
  const ElementStep& last = program.steps.back();
  return last.kind == ElementKind::Load && program.accesses[last.access].atoms.empty();
}

// Whether the load's index is linear but for the position.
bool isGather(const ElementProgram& program, const ElementStep& indexed) {
  const ElementStep& body = program.steps[indexed.operands[1]];
  if (body.kind != ElementKind::Load) return false;
  const OperandAccess& access = program.accesses[body.access];
  return access.atoms.empty() && access.gathers.size() == 1 && access.gathers[0].second == indexed.position;
}

}  // namespace

ElementRow::ElementRow(const ElementProgram& program, void* const* addresses)
    : program_(program), addresses_(addresses) {
  const int64_t buffers = program.buffers * kBufferBytes;
  const int64_t stages = program.stages * kStageBytes;
  const auto filled = static_cast<int64_t>(program.steps.size() * sizeof(void*));
  buffers_ = threadScratch(buffers + stages + filled);
  stages_ = buffers_ + buffers;
  filled_ = reinterpret_cast<const void**>(stages_ + stages);
  std::fill_n(filled_, program.steps.size(), nullptr);
}

int64_t ElementRow::maxRow(const ElementProgram& program) {
  if (program.stages > 0) return kTileColumns;
  return isPlainLoad(program) ? int64_t{1} << 18U : kChunk;
}

char* ElementRow::addressOf(const OperandAccess& access) const {
  int64_t index = access.constant;
  for (size_t d = 0; d < access.strides.size(); ++d) index += access.strides[d] * at_[d];
  for (const auto& [factor, position] : access.gathers) index += factor * positions_[position];
  // Parameters are only read.
  if (access.is_parameter) return reinterpret_cast<char*>(const_cast<void**>(&addresses_[access.operand]));
  return static_cast<char*>(addresses_[access.operand]) + index * access.size;
}

void ElementRow::run(int64_t n, int64_t tile_rows, const Partials* partials) {
  partials_ = partials;
  if (program_.tile < 0) return runRow(n);
  const auto tile = static_cast<size_t>(program_.tile);
  const int64_t first = at_[tile];
  staged_ = 0;
  stage_row_ = first;
  stage_rows_ = tile_rows;
  for (; at_[tile] < first + tile_rows; ++at_[tile]) runRow(n);
  at_[tile] = first;
}

void ElementRow::runRow(int64_t n) {
  char* const out = addressOf(program_.result);
  const int64_t stride = program_.result.strides[program_.row];
  const size_t last = program_.steps.size() - 1;
  if (isPlainLoad(program_) && program_.tile < 0) {
    const OperandAccess& access = program_.accesses[program_.steps[last].access];
    copyStrided(out, stride, addressOf(access), access.strides[program_.row], n, access.size);
    return;
  }
  const bool is_dense = stride == 1 || n == 1;
  const void* const result = evaluate(last, program_.row, n, is_dense ? out : nullptr);
  if (result != out) copyStrided(out, is_dense ? 1 : stride, result, 1, n, program_.result.size);
}

const void* ElementRow::evaluate(size_t number, size_t along, int64_t n, void* to) {
  const ElementStep& step = program_.steps[number];
  switch (step.kind) {
    case ElementKind::Load: return load(step, number, along, n, to);
    case ElementKind::Value:
      if (step.line < 0) return step.constant.data();
      return countAlong(step, along, n, static_cast<char*>(to != nullptr ? to : buffer(step.buffer)));
    case ElementKind::Choose:
      return choose(number, along, n, static_cast<char*>(to != nullptr ? to : buffer(step.buffer)));
    case ElementKind::Indexed:
      return indexed(step, along, n, static_cast<char*>(to != nullptr ? to : buffer(step.buffer)));
    case ElementKind::Reduce: return reduce(step, n, to);
    case ElementKind::Apply:
    case ElementKind::Cast: break;
  }
  const void* in[4];
  for (size_t i = 0; i < step.operands.size(); ++i) in[i] = evaluate(step.operands[i], along, n, nullptr);
  void* const out = to != nullptr ? to : buffer(step.buffer);
  if (step.kind == ElementKind::Cast)
    step.cast(out, in[0], n);
  else
    step.function(out, in, n);
  return out;
}

const void* ElementRow::load(const ElementStep& step, size_t number, size_t along, int64_t n, void* to) {
  const OperandAccess& access = program_.accesses[step.access];
  if (!access.atoms.empty())
    return loadBent(access, along, n, static_cast<char*>(to != nullptr ? to : buffer(step.buffer)));
  if (access.stage >= 0) return loadStaged(access, n);
  const char* const from = addressOf(access);
  const int64_t stride = access.strides[along];
  if (stride == 1 || n == 1) return from;
  if (to != nullptr) {
    copyStrided(to, 1, from, stride, n, access.size);
    return to;
  }
  char* const own = buffer(step.buffer);
  if (stride != 0) {
    copyStrided(own, 1, from, stride, n, access.size);
  } else if (filled_[number] != from) {
    // (Filled completely, for the rest of the row.)
    copyStrided(own, 1, from, 0, kChunk, access.size);
    filled_[number] = from;
  }
  return own;
}

const void* ElementRow::loadStaged(const OperandAccess& access, int64_t n) {
  const auto tile = static_cast<size_t>(program_.tile);
  char* const stage = stages_ + access.stage * kStageBytes;
  const uint32_t bit = uint32_t{1} << static_cast<uint32_t>(access.stage);
  if ((staged_ & bit) == 0) {
    const int64_t row = at_[tile];
    at_[tile] = stage_row_;
    copyTransposed(stage, kTileColumns, addressOf(access), access.strides[program_.row], stage_rows_, n, access.size);
    at_[tile] = row;
    staged_ |= bit;
  }
  return stage + (at_[tile] - stage_row_) * kTileColumns * access.size;
}

const void* ElementRow::loadBent(const OperandAccess& access, size_t along, int64_t n, char* to) {
  const int64_t begin = at_[along];
  for (int64_t done = 0; done < n;) {
    at_[along] = begin + done;
    int64_t length = n - done;
    int64_t index = 0;
    int64_t stride = access.strides[along];
    for (const auto& [factor, line] : access.atoms) {
      const Line atom = program_.lines.at(line, at_, along, length);
      index += factor * atom.value;
      stride += factor * atom.slope;
    }
    copyStrided(to + done * access.size, 1, addressOf(access) + index * access.size, stride, length, access.size);
    done += length;
  }
  at_[along] = begin;
  return to;
}

const void* ElementRow::countAlong(const ElementStep& step, size_t along, int64_t n, char* to) {
  const int64_t begin = at_[along];
  for (int64_t done = 0; done < n;) {
    at_[along] = begin + done;
    int64_t length = n - done;
    const Line line = program_.lines.at(step.line, at_, along, length);
    fillCounting(line.value, line.slope, step.dtype, to + done * sizeOf(step.dtype), length);
    done += length;
  }
  at_[along] = begin;
  return to;
}

// Computes the body once per run of equal positions, often the whole row.
const void* ElementRow::indexed(const ElementStep& step, size_t along, int64_t n, char* to) {
  const auto* positions = static_cast<const int64_t*>(evaluate(step.operands[0], along, n, nullptr));
  if (isGather(program_, step) && positions[0] != positions[n - 1]) {
    const OperandAccess& access = program_.accesses[program_.steps[step.operands[1]].access];
    positions_[step.position] = 0;
    copyGathered(to, addressOf(access), access.strides[along], positions, access.gathers[0].first, n, access.size);
    return to;
  }
  const int64_t size = sizeOf(step.dtype);
  const int64_t begin = at_[along];
  for (int64_t done = 0; done < n;) {
    const int64_t position = positions[done];
    const int64_t* const end =
        std::find_if(positions + done, positions + n, [&](int64_t other) { return other != position; });
    const int64_t length = end - (positions + done);
    at_[along] = begin + done;
    positions_[step.position] = position;
    char* const part = to + done * size;
    const void* const result = evaluate(step.operands[1], along, length, part);
    if (result != part) std::memcpy(part, result, static_cast<size_t>(length * size));
    done += length;
  }
  at_[along] = begin;
  return to;
}

const void* ElementRow::choose(size_t number, size_t along, int64_t n, char* to) {
  const int64_t size = sizeOf(program_.steps[number].dtype);
  const int64_t begin = at_[along];
  for (int64_t done = 0; done < n;) {
    at_[along] = begin + done;
    int64_t length = n - done;
    size_t taken = number;
    while (program_.steps[taken].kind == ElementKind::Choose) {
      const ElementStep& step = program_.steps[taken];
      taken = step.operands[program_.lines.at(step.line, at_, along, length).value != 0 ? 0 : 1];
    }
    char* const part = to + done * size;
    const void* const result = evaluate(taken, along, length, part);
    if (result != part) std::memcpy(part, result, static_cast<size_t>(length * size));
    done += length;
  }
  at_[along] = begin;
  return to;
}

const void* ElementRow::reduce(const ElementStep& step, int64_t n, void* to) {
  char* const accumulators = buffer(step.buffer);
  if (partials_ == nullptr) {
    accumulateAll(step, n, accumulators, kBufferBytes);
  } else {
    step.reduction->start(accumulators, kBufferBytes, n);
    for (int64_t i = 0; i < partials_->pieces; ++i) {
      step.reduction->merge(accumulators, kBufferBytes, partials_->first + i * partials_->stride, partials_->stride / 2,
                            n);
    }
  }
  void* const out = to != nullptr ? to : buffer(step.buffer + 2);
  step.reduction->finish(out, accumulators, kBufferBytes, n);
  return out;
}

void ElementRow::accumulate(const ReducedRange& range, int64_t n, void* accumulators, int64_t bytes) {
  const auto step = std::ranges::find(program_.steps, ElementKind::Reduce, &ElementStep::kind);
  range_ = &range;
  accumulateAll(*step, n, static_cast<char*>(accumulators), bytes / 2);
  range_ = nullptr;
}

int64_t ElementRow::reducedBegin(size_t d) const {
  return range_ != nullptr && range_->dimension == d ? range_->begin : 0;
}
int64_t ElementRow::reducedEnd(size_t d) const {
  return range_ != nullptr && range_->dimension == d ? range_->end : program_.dimensions[d].extent;
}

// Calls `body` with at() at every point of the reduced dimensions but `except`.
template <class Body>
void ElementRow::overReduced(size_t except, const Body& body) {
  const size_t first = program_.result_dimensions;
  const size_t end = program_.dimensions.size();
  for (size_t d = first; d < end; ++d) {
    at_[d] = reducedBegin(d);
    if (reducedBegin(d) >= reducedEnd(d)) return;
  }
  while (true) {
    body();
    size_t d = end;
    while (d > first) {
      --d;
      if (d == except) continue;
      if (++at_[d] < reducedEnd(d)) break;
      at_[d] = reducedBegin(d);
      if (d == first) return;
    }
    if (d == first && (first == end || d == except)) return;
  }
}

void ElementRow::accumulateAll(const ElementStep& step, int64_t n, char* accumulators, int64_t distance) {
  step.reduction->start(accumulators, distance, n);
  if (program_.reduced_row < 0) return accumulateRows(step, n, accumulators, distance);
  const auto along = static_cast<size_t>(program_.reduced_row);
  const size_t body = step.operands[0];
  const int64_t width = step.reduction->accumulator_size;
  if (program_.dimensions.size() == program_.result_dimensions + 1 && isInPlace(body, along)) {
    // One row per result, with a constant stride.
    const OperandAccess& access = program_.accesses[program_.steps[body].access];
    const int64_t stride = access.strides[program_.row] * access.size;
    const int64_t length = reducedEnd(along) - reducedBegin(along);
    at_[along] = reducedBegin(along);
    const auto* row = static_cast<const char*>(evaluate(body, along, length, nullptr));
    for (int64_t i = 0; i < n; ++i, row += stride)
      step.reduction->add_all(accumulators + i * width, distance, row, length);
    return;
  }
  const int64_t begin = at_[program_.row];
  for (int64_t i = 0; i < n; ++i) {
    at_[program_.row] = begin + i;
    accumulateElement(step, accumulators + i * width, distance);
  }
  at_[program_.row] = begin;
}

void ElementRow::accumulateRows(const ElementStep& step, int64_t n, char* accumulators, int64_t distance) {
  const ReductionLoops& loops = *step.reduction;
  const size_t body = step.operands[0];
  const size_t end = program_.dimensions.size();
  // Rows of the last dimension have a constant stride: accumulators are loaded and stored once for several of them.
  const size_t last = end - 1;
  const bool is_in_place = end > program_.result_dimensions && isInPlace(body, program_.row);
  int64_t stride = 0;
  if (is_in_place) {
    const OperandAccess& access = program_.accesses[program_.steps[body].access];
    stride = access.strides[last] * access.size;
  }
  // Adds a block of rows before compensating, in the memory of the results.
  constexpr int64_t kBlock = 64;
  char* const sums = loops.keeps_losses ? buffer(step.buffer + 2) : accumulators;
  int64_t rows = 0;
  const auto finishBlock = [&] {
    if (loops.keeps_losses && rows > 0) loops.merge(accumulators, distance, sums, 0, n);
    rows = 0;
  };
  const auto add = [&](const void* first, int64_t count) {
    if (loops.keeps_losses && rows == 0) loops.start(sums, 0, n);
    if (count == 1)
      loops.add_each(sums, first, n);
    else
      loops.add_rows(sums, first, stride, n);
    rows += count;
    if (rows >= kBlock) finishBlock();
  };
  overReduced(is_in_place ? last : end, [&] {
    const auto* row = static_cast<const char*>(evaluate(body, program_.row, n, nullptr));
    int64_t left = is_in_place ? reducedEnd(last) - reducedBegin(last) : 1;
    while (left > 0) {
      const int64_t count = left >= ReductionLoops::kRows ? ReductionLoops::kRows : 1;
      add(row, count);
      row += count * stride;
      left -= count;
    }
  });
  finishBlock();
}

// Whether a step's elements along a dimension can be used in place.
bool ElementRow::isInPlace(size_t step, size_t along) const {
  const ElementStep& body = program_.steps[step];
  if (body.kind != ElementKind::Load) return false;
  const OperandAccess& access = program_.accesses[body.access];
  return access.atoms.empty() && access.stage < 0 && access.strides[along] == 1;
}

void ElementRow::accumulateElement(const ElementStep& step, char* accumulator, int64_t distance) {
  const auto along = static_cast<size_t>(program_.reduced_row);
  const int64_t longest = isInPlace(step.operands[0], along) ? program_.dimensions[along].extent : kChunk;
  overReduced(along, [&] {
    const int64_t end = reducedEnd(along);
    for (int64_t r = reducedBegin(along); r < end; r += longest) {
      at_[along] = r;
      const int64_t length = std::min(longest, end - r);
      step.reduction->add_all(accumulator, distance, evaluate(step.operands[0], along, length, nullptr), length);
    }
    at_[along] = reducedBegin(along);
  });
}

}  // namespace tokamak
