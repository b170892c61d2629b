#include "codegen/vector_emission.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "analysis/substitute.h"
#include "device_code/device_code.h"

namespace tokamak {

namespace {

using Lines = std::vector<std::string>;

void add(Lines& lines, size_t depth, std::string_view text) {
  lines.push_back(fmt::format("{}{}", std::string(2 * depth, ' '), text));
}
void addAll(Lines& lines, size_t depth, const Lines& more) {
  for (const std::string& each : more) add(lines, depth, each);
}

}  // namespace

std::optional<VectorEmission::Vectors> VectorEmission::vectorsOf(const kir::Loop& loop,
                                                                 std::span<Scalar* const> outside) {
  if (!isUsed()) return std::nullopt;
  for (const LaneWidth width : laneWidths(lanes_)) {
    if (auto vectors = vectorsOf(loop, outside, width)) return vectors;
  }
  return std::nullopt;
}

std::optional<VectorEmission::Vectors> VectorEmission::vectorsOf(const kir::Loop& loop,
                                                                 std::span<Scalar* const> outside, LaneWidth width) {
  constexpr int64_t kUnrolled = 4;           // vectors
  constexpr int64_t kMostAccumulators = 64;  // partial results in registers
  const auto start = loop.start->constantInt();
  const auto stop = loop.stop->constantInt();
  const bool is_known = start && stop;
  const int64_t iterations = is_known ? *stop - *start : 0;
  if (width.lanes < 2 || (is_known ? iterations < width.lanes : width.is_narrow)) return std::nullopt;
  const bool is_few = is_known && iterations / lanes_ <= kUnrolled;
  Fusion& fusion = *context_.kernel->fusion;
  LoopVectoriser lanes(loop, width.lanes, width.element_bytes,
                       {.fusion = &fusion,
                        .analysis = context_.analysis,
                        .scalars = context_.scalars,
                        .helpers = context_.helpers,
                        .uniform_value = context_.value,
                        .element = context_.element,
                        .one_iteration = context_.one_iteration,
                        .nontemporal_flag = is_few ? nullptr : context_.nontemporal_flag});
  if (!lanes.isPossible()) return std::nullopt;
  const bool fits_registers = is_known && iterations <= std::min<int64_t>(kMostAccumulators, int64_t{8} * lanes_) &&
                              lanes.isAccumulating() && !lanes.isLong();
  const bool is_short = (is_few || fits_registers) && !lanes.hasWords();
  const Lines prefetches = prefetchesOf(loop, lanes, is_short, iterations, outside);
  Vectors result;
  result.invariants = lanes.invariants();
  result.lines =
      is_short ? unrolled(loop, lanes, iterations / width.lanes, prefetches) : strips(loop, lanes, prefetches);
  Scalar* length = fusion.sub(loop.stop, loop.start);
  if (context_.analysis->of(*length).isDivisibleBy(width.lanes)) return result;
  // (A compiler's time grows faster than the length of straight-line code.)
  constexpr size_t kManyStages = 8;
  const bool is_brief = is_few && !lanes.hasWords() && lanes.countStages() <= kManyStages;
  if (is_brief && mayRepeatIterations(loop)) {
    addAll(result.lines, 0, vectorAt(loop, lanes, *stop - width.lanes));
    return result;
  }
  Scalar* step = fusion.constant(width.lanes);
  length = fusion.scalar(ScalarOp::Max, length, fusion.constant(0));
  result.rest = loop;
  result.rest->start = fusion.add(loop.start, fusion.mul(fusion.floorDiv(length, step), step));
  if (lanes.countStages() > kManyStages) {
    addAll(result.lines, 0, iterationsInStages(*result.rest, lanes));
    result.rest.reset();
  }
  return result;
}

// Whether iterations may be done twice: the loop reads nothing that it writes.
bool VectorEmission::mayRepeatIterations(const kir::Loop& loop) const {
  std::set<const TensorView*> written;
  for (const kir::StatementRef& each : loop.body) {
    if (const auto* store = std::get_if<kir::Store>(&each->node)) written.insert(store->tensor);
  }
  bool may = true;
  const auto visit = [&](const kir::Value& value) {
    if (value.kind != kir::ValueKind::Load) return;
    may = may && !written.contains(value.tensor) && !written.contains(context_.kernel->updateOf(*value.tensor));
  };
  for (const kir::StatementRef& each : loop.body) {
    if (const auto* store = std::get_if<kir::Store>(&each->node)) kir::visitValues(*store->value, visit);
    if (const auto* let = std::get_if<kir::Let>(&each->node)) kir::visitValues(*let->value, visit);
  }
  return may;
}

// The last iterations, as many as there are lanes: some of them have been done. (Not of long loops: what was written
// around the caches would be read again.)
Lines VectorEmission::vectorAt(const kir::Loop& loop, LoopVectoriser& lanes, int64_t first) {
  Lines lines;
  add(lines, 0, "{");
  add(lines, 1, fmt::format("const tk_i64 {} = {};", context_.name(*loop.index), first));
  addAll(lines, 1, lanes.iterations());
  add(lines, 0, "}");
  return lines;
}

Lines VectorEmission::iterationsInStages(const kir::Loop& rest, LoopVectoriser& loop) {
  const LoopVectoriser::Stages stages = loop.stagesOfIterations("turn");
  Lines lines;
  add(lines, 0, "{");
  add(lines, 1, fmt::format("const tk_i64 first = {};", context_.scalars->write(*rest.start)));
  add(lines, 1, fmt::format("const tk_i64 turns = {} - first;", context_.scalars->writeOperand(*rest.stop)));
  for (const std::string& array : stages.arrays) add(lines, 1, fmt::format("{}[{}];", array, loop.laneCount()));
  for (const Lines& stage : stages.lines) {
    add(lines, 1, "for (tk_i64 turn = 0; turn < turns; ++turn) {");
    add(lines, 2, fmt::format("const tk_i64 {} = first + turn;", context_.name(*rest.index)));
    addAll(lines, 2, stage);
    add(lines, 1, "}");
  }
  add(lines, 0, "}");
  return lines;
}

// Unrolled completely, so that partial results with constant indices are in registers.
Lines VectorEmission::unrolled(const kir::Loop& loop, LoopVectoriser& lanes, int64_t count, const Lines& prefetches) {
  const Lines iterations = lanes.iterations();
  const std::string start = context_.scalars->write(*loop.start);
  Lines lines;
  for (int64_t i = 0; i < count; ++i) {
    add(lines, 0, "{");
    add(lines, 1, fmt::format("const tk_i64 {} = {} + {};", context_.name(*loop.index), start, i * lanes.laneCount()));
    addAll(lines, 1, prefetches);
    addAll(lines, 1, iterations);
    add(lines, 0, "}");
  }
  return lines;
}

Lines VectorEmission::strips(const kir::Loop& loop, LoopVectoriser& lanes, const Lines& prefetches) {
  constexpr int64_t kLongest = 16;
  constexpr int64_t kMostBytes = 1 << 20;  // on the stack
  const int64_t width = lanes.laneCount();
  const std::string name = context_.name(*loop.index);
  const std::string start = context_.scalars->writeOperand(*loop.start);
  Lines lines;
  add(lines, 0, fmt::format("const tk_i64 whole = ({} - {}) / {};", context_.scalars->write(*loop.stop), start, width));
  LoopVectoriser::Stages stages;
  if (lanes.isLong() || lanes.hasWords()) stages = lanes.stages("turn", "turns");
  if (stages.lines.size() <= 1 && stages.before.empty()) {
    add(lines, 0, "for (tk_i64 strip = 0; strip < whole; ++strip) {");
    add(lines, 1, fmt::format("const tk_i64 {} = {} + strip * {};", name, start, width));
    addAll(lines, 1, prefetches);
    addAll(lines, 1, lanes.iterations());
    add(lines, 0, "}");
    return lines;
  }
  stages.lines.front().insert(stages.lines.front().begin(), prefetches.begin(), prefetches.end());
  const auto passed = std::max<int64_t>(1, static_cast<int64_t>(stages.arrays.size()));
  const int64_t longest = std::clamp<int64_t>(kMostBytes / (passed * width * lanes.elementBytes()), 1, kLongest);
  add(lines, 0, fmt::format("for (tk_i64 strip = 0; strip < whole; strip += {}) {{", longest));
  add(lines, 1, fmt::format("const tk_i64 turns = whole - strip < {} ? whole - strip : {};", longest, longest));
  for (const std::string& array : stages.arrays) add(lines, 1, fmt::format("{}[{}];", array, longest));
  addAll(lines, 1, stages.word_buffers);
  if (!stages.before.empty()) {
    add(lines, 1, fmt::format("const tk_i64 {} = {} + strip * {};", name, start, width));
    addAll(lines, 1, stages.before);
  }
  for (const Lines& stage : stages.lines) {
    add(lines, 1, "for (tk_i64 turn = 0; turn < turns; ++turn) {");
    add(lines, 2, fmt::format("const tk_i64 {} = {} + (strip + turn) * {};", name, start, width));
    addAll(lines, 2, stage);
    add(lines, 1, "}");
  }
  add(lines, 0, "}");
  return lines;
}

// The prefetches of a loop: the next row (PrefetchInsertion), later iterations of the outer loop, or later blocks.
// `iterations`: of the loop, 0 if not known.
Lines VectorEmission::prefetchesOf(const kir::Loop& loop, LoopVectoriser& lanes, bool is_short, int64_t iterations,
                                   std::span<Scalar* const> outside) {
  constexpr int64_t kAhead = 8192;  // bytes
  Scalar* row = prefetches_.enclosingRow(outside);
  Lines lines;
  // A cache line of the next tile with each vector of this one: many prefetches at once would stall.
  if (const auto tiles = outside.empty() ? next_tiles_.end() : next_tiles_.find(outside.back());
      tiles != next_tiles_.end()) {
    for (const std::string& place : tiles->second)
      lines.push_back(fmt::format("__builtin_prefetch(&{} + {}], 0, 2);", place, context_.name(*loop.index)));
    return lines;
  }
  if (!is_short && iterations > 0 && lanes.isAccumulating() && !outside.empty()) {
    // (A loop that ends earlier would not read it.)
    const int64_t last_iteration = context_.analysis->of(*outside.back()).upper;
    lines = lanes.prefetches(*outside.back(), [&](const TensorView& tensor) {
      if (row != nullptr && prefetches_.isRepeated(*row, tensor)) return int64_t{0};
      const int64_t ahead = std::clamp<int64_t>(kAhead / (iterations * sizeOf(tensor.dtype())), 1, 16);
      return ahead <= last_iteration ? ahead : 0;
    });
  }
  if (row != nullptr) {
    addAll(lines, 0, lanes.prefetchesOfRow(*row, [&](const TensorView& tensor) {
      return prefetches_.isPrefetchedIn(loop, outside, *row, tensor);
    }));
  }
  if (is_short && lines.empty() && !lanes.isAccumulating() && !outside.empty() &&
      context_.kernel->dimensions.size() == 1)
    lines = lanes.rowPrefetches(*context_.kernel->dimensions[0].index, *outside.back(), iterations);
  if (is_short && outside.empty() && !lanes.isAccumulating() && context_.kernel->dimensions.size() == 1) {
    constexpr int64_t kBlocksAhead = 4;
    std::set<const TensorView*> fetched;
    for (const auto& [tensor, line] : lanes.blockPrefetches(*context_.kernel->dimensions[0].index, kBlocksAhead)) {
      if (fetched_rows_.contains(tensor)) continue;
      fetched.insert(tensor);
      lines.push_back(line);
    }
    fetched_rows_.merge(fetched);
  }
  return lines;
}

std::optional<std::string> VectorEmission::transposeOf(const kir::Loop& loop) {
  if (!isUsed()) return std::nullopt;
  const auto transposed = findInRegisterTranspose(loop, *context_.kernel->fusion, *context_.analysis);
  if (!transposed) return std::nullopt;
  const DataType dtype = transposed->to->dtype();
  const bool is_bool = dtype == DataType::Bool;
  const std::string helper = isHalfType(dtype) ? "turn_half_f32"
                             : is_bool         ? "turn_bool_f32"
                                               : fmt::format("turn_{}", dataTypeName(dtype));
  context_.helpers->insert(helper);
  const auto text = [&](Scalar* scalar) { return context_.scalars->write(*scalar); };
  const std::string streams = is_bool ? "" : ", " + context_.nontemporal_flag(*transposed->to);
  return fmt::format("tk_{}(&{}, {}, &{}, {}, {}, {}{});", helper,
                     context_.element(*transposed->to, *transposed->first_to), text(transposed->to_stride),
                     context_.element(*transposed->from, *transposed->first_from), text(transposed->from_stride),
                     text(transposed->rows), text(transposed->columns), streams);
}

// Hardware prefetchers foresee neither.
VectorEmission::Fetches VectorEmission::tileFetches(const kir::Loop& loop, std::span<const kir::StatementRef> rest) {
  Fetches result;
  const kir::Kernel& kernel = *context_.kernel;
  if (!isUsed() || kernel.dimensions.size() != 1) return result;
  Fusion& fusion = *kernel.fusion;
  for (const kir::StatementRef& each : rest) {
    const auto* later = std::get_if<kir::Loop>(&each->node);
    const auto transposed =
        later == nullptr ? std::nullopt : findInRegisterTranspose(*later, fusion, *context_.analysis);
    const auto rows = transposed ? findRowsRead(loop, *transposed->from, fusion, *context_.analysis) : std::nullopt;
    if (!rows) continue;
    result.each_iteration.push_back(
        fmt::format("if (!{}) for (tk_i64 byte = 0; byte < {}; byte += 64) "
                    "__builtin_prefetch((const char*)&T{}[{} + {} * {}] + byte, 1, 2);",
                    context_.nontemporal_flag(*transposed->to),
                    transposed->columns->constantInt().value_or(0) * sizeOf(transposed->to->dtype()),
                    transposed->to->label(), context_.scalars->write(*transposed->first_to), context_.name(*loop.index),
                    context_.scalars->writeOperand(*transposed->to_stride)));
    Scalar& block = *kernel.dimensions[0].index;
    for (const RowsRead& row : *rows) {
      Substitution substitution(fusion);
      substitution.set(block, fusion.add(&block, fusion.constant(1)));
      const std::string next = fmt::format("next_tile_{}", fetched_tiles_++);
      result.before.push_back(
          fmt::format("const tk_i64 {} = {};", next, context_.scalars->write(*substitution(row.first))));
      next_tiles_[loop.index].push_back(fmt::format("T{}[{} + {} * {}", row.tensor->label(), next,
                                                    context_.name(*loop.index),
                                                    context_.scalars->writeOperand(*row.stride)));
    }
    break;
  }
  return result;
}

}  // namespace tokamak
