#include "codegen/vector_text.h"

#include <algorithm>

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

bool isInnermost(const kir::Loop& loop) {
  return std::ranges::none_of(
      loop.body, [](const kir::StatementRef& each) { return std::holds_alternative<kir::Loop>(each->node); });
}

}  // namespace

std::optional<VectorText::Vectors> VectorText::vectorsOf(const kir::Loop& loop, std::span<Scalar* const> outside) {
  constexpr int64_t kUnrolled = 4;
  constexpr int64_t kFewTurns = 16;  // compilers unroll them wholly
  if (!isUsed()) return std::nullopt;
  const auto start = loop.start->constantInt();
  const auto stop = loop.stop->constantInt();
  const bool is_known = start && stop;
  const int64_t turns = is_known ? *stop - *start : 0;
  if (is_known && turns < lanes_) return std::nullopt;
  const bool is_few = is_known && turns / lanes_ <= kUnrolled;
  Fusion& fusion = *around_.kernel->fusion;
  LaneLoop lanes(loop, lanes_,
                 {.fusion = &fusion,
                  .analysis = around_.analysis,
                  .scalars = around_.scalars,
                  .helpers = around_.helpers,
                  .one_lane = around_.value,
                  .place = around_.place,
                  .one_turn = around_.one_turn,
                  .streams = is_few ? nullptr : around_.streams});
  if (!lanes.isPossible()) return std::nullopt;
  const bool is_short = is_few && !lanes.hasWords();
  const Lines prefetches = prefetchesOf(loop, lanes, is_short, turns, outside);
  const bool is_writing = lanes.isWriting() && !(is_known && turns / lanes_ <= kFewTurns);
  if (!(is_short || lanes.isAccumulating() || lanes.isLong() || is_writing || !prefetches.empty())) return std::nullopt;
  if (is_short || lanes.isAccumulating()) is_written_out_ = false;
  Vectors result;
  result.invariants = lanes.invariants();
  result.lines = is_short ? unrolled(loop, lanes, turns / lanes_, prefetches) : strips(loop, lanes, prefetches);
  Scalar* length = fusion.sub(loop.stop, loop.start);
  if (around_.analysis->of(*length).isDivisibleBy(lanes_)) return result;
  Scalar* width = fusion.constant(lanes_);
  length = fusion.scalar(ScalarOp::Max, length, fusion.constant(0));
  result.rest = loop;
  result.rest->start = fusion.add(loop.start, fusion.mul(fusion.floorDiv(length, width), width));
  // Compilers take more than twice as long for straight code of twice the length.
  constexpr size_t kManyStages = 8;
  if (lanes.countStages() > kManyStages) {
    addAll(result.lines, 0, turnsInStages(*result.rest, lanes.stagesOfTurns("turn")));
    result.rest.reset();
  }
  return result;
}

Lines VectorText::turnsInStages(const kir::Loop& rest, const LaneLoop::Stages& stages) {
  Lines lines;
  add(lines, 0, "{");
  add(lines, 1, fmt::format("const tk_i64 first = {};", around_.scalars->write(*rest.start)));
  add(lines, 1, fmt::format("const tk_i64 turns = {} - first;", around_.scalars->writeOperand(*rest.stop)));
  for (const std::string& array : stages.arrays) add(lines, 1, fmt::format("{}[{}];", array, lanes_));
  for (const Lines& stage : stages.lines) {
    add(lines, 1, "for (tk_i64 turn = 0; turn < turns; ++turn) {");
    add(lines, 2, "__asm__(\"\");");
    add(lines, 2, fmt::format("const tk_i64 {} = first + turn;", around_.name(*rest.index)));
    addAll(lines, 2, stage);
    add(lines, 1, "}");
  }
  add(lines, 0, "}");
  return lines;
}

// Places that are constant keep partial results in registers.
Lines VectorText::unrolled(const kir::Loop& loop, LaneLoop& lanes, int64_t count, const Lines& prefetches) {
  const Lines turns = lanes.turns();
  const std::string start = around_.scalars->write(*loop.start);
  Lines lines;
  for (int64_t i = 0; i < count; ++i) {
    add(lines, 0, "{");
    add(lines, 1, fmt::format("const tk_i64 {} = {} + {};", around_.name(*loop.index), start, i * lanes_));
    addAll(lines, 1, prefetches);
    addAll(lines, 1, turns);
    add(lines, 0, "}");
  }
  return lines;
}

Lines VectorText::strips(const kir::Loop& loop, LaneLoop& lanes, const Lines& prefetches) {
  constexpr int64_t kLongest = 16;
  constexpr int64_t kMostBytes = 1 << 20;  // on the stack
  const std::string name = around_.name(*loop.index);
  const std::string start = around_.scalars->writeOperand(*loop.start);
  Lines lines;
  add(lines, 0, fmt::format("const tk_i64 whole = ({} - {}) / {};", around_.scalars->write(*loop.stop), start, lanes_));
  LaneLoop::Stages stages;
  if (lanes.isLong() || lanes.hasWords()) stages = lanes.stages("turn", "turns");
  if (stages.lines.size() <= 1 && stages.before.empty()) {
    add(lines, 0, "for (tk_i64 strip = 0; strip < whole; ++strip) {");
    add(lines, 1, fmt::format("const tk_i64 {} = {} + strip * {};", name, start, lanes_));
    addAll(lines, 1, prefetches);
    addAll(lines, 1, lanes.turns());
    add(lines, 0, "}");
    return lines;
  }
  stages.lines.front().insert(stages.lines.front().begin(), prefetches.begin(), prefetches.end());
  const auto passed = std::max<int64_t>(1, static_cast<int64_t>(stages.arrays.size()));
  const int64_t longest = std::clamp<int64_t>(kMostBytes / (passed * lanes_ * sizeOf(DataType::F32)), 1, kLongest);
  add(lines, 0, fmt::format("for (tk_i64 strip = 0; strip < whole; strip += {}) {{", longest));
  add(lines, 1, fmt::format("const tk_i64 turns = whole - strip < {} ? whole - strip : {};", longest, longest));
  for (const std::string& array : stages.arrays) add(lines, 1, fmt::format("{}[{}];", array, longest));
  addAll(lines, 1, stages.rooms);
  if (!stages.before.empty()) {
    add(lines, 1, fmt::format("const tk_i64 {} = {} + strip * {};", name, start, lanes_));
    addAll(lines, 1, stages.before);
  }
  for (const Lines& stage : stages.lines) {
    add(lines, 1, "for (tk_i64 turn = 0; turn < turns; ++turn) {");
    add(lines, 2, fmt::format("const tk_i64 {} = {} + (strip + turn) * {};", name, start, lanes_));
    addAll(lines, 2, stage);
    add(lines, 1, "}");
  }
  add(lines, 0, "}");
  return lines;
}

// What several loops of a row go over is fetched for the next row by one of them. Other loops over `turns` elements, if that is known and there are many,
// inside of another one fetch the other one's next turns.
Lines VectorText::prefetchesOf(const kir::Loop& loop, LaneLoop& lanes, bool is_short, int64_t turns,
                               std::span<Scalar* const> outside) {
  constexpr int64_t kAhead = 8192;  // bytes
  Scalar* row = passes_.rowAround(outside);
  Lines lines;
  // A line of the next tile beside each vector of this one: many at once would wait for each other.
  if (const auto tiles = outside.empty() ? next_tiles_.end() : next_tiles_.find(outside.back());
      tiles != next_tiles_.end()) {
    for (const std::string& place : tiles->second)
      lines.push_back(fmt::format("__builtin_prefetch(&{} + {}], 0, 2);", place, around_.name(*loop.index)));
    return lines;
  }
  if (!is_short && turns > 0 && lanes.isAccumulating() && !outside.empty()) {
    lines = lanes.prefetches(*outside.back(), [&](const TensorView& tensor) {
      if (row != nullptr && passes_.isRepeated(*row, tensor)) return int64_t{0};
      return std::clamp<int64_t>(kAhead / (turns * sizeOf(tensor.dtype())), 1, 16);
    });
  }
  if (row != nullptr) {
    addAll(lines, 0, lanes.prefetchesOfRow(*row, [&](const TensorView& tensor) {
      return passes_.isFetchedIn(loop, outside, *row, tensor);
    }));
  }
  if (is_short && lines.empty() && !lanes.isAccumulating() && !outside.empty() &&
      around_.kernel->dimensions.size() == 1)
    lines = lanes.rowPrefetches(*around_.kernel->dimensions[0].index, *outside.back(), turns);
  if (is_short && outside.empty() && !lanes.isAccumulating() && around_.kernel->dimensions.size() == 1) {
    constexpr int64_t kBlocksAhead = 4;
    std::set<const TensorView*> fetched;
    for (const auto& [tensor, line] : lanes.blockPrefetches(*around_.kernel->dimensions[0].index, kBlocksAhead)) {
      if (fetched_rows_.contains(tensor)) continue;
      fetched.insert(tensor);
      lines.push_back(line);
    }
    fetched_rows_.merge(fetched);
  }
  return lines;
}

void VectorText::leaveToCompiler(const kir::Loop& loop) {
  if (isUsed() && isInnermost(loop)) is_written_out_ = false;
}

std::optional<std::string> VectorText::turnOf(const kir::Loop& loop) {
  if (!isUsed()) return std::nullopt;
  const auto turned = findTurnedLoops(loop, *around_.kernel->fusion, *around_.analysis);
  if (!turned) return std::nullopt;
  const std::string helper = isHalfType(turned->to->dtype()) ? "turn_half_f32" : "turn_f32";
  around_.helpers->insert(helper);
  is_written_out_ = false;
  const auto text = [&](Scalar* scalar) { return around_.scalars->write(*scalar); };
  return fmt::format("tk_{}(&{}, {}, &{}, {}, {}, {}, {});", helper, around_.place(*turned->to, *turned->first_to),
                     text(turned->to_stride), around_.place(*turned->from, *turned->first_from),
                     text(turned->from_stride), text(turned->rows), text(turned->columns),
                     around_.streams(*turned->to));
}

// Neither is where a processor would look for it.
VectorText::Fetches VectorText::tileFetches(const kir::Loop& loop, std::span<const kir::StatementRef> rest) {
  Fetches result;
  const kir::Kernel& kernel = *around_.kernel;
  if (!isUsed() || kernel.dimensions.size() != 1) return result;
  Fusion& fusion = *kernel.fusion;
  for (const kir::StatementRef& each : rest) {
    const auto* later = std::get_if<kir::Loop>(&each->node);
    const auto turned = later == nullptr ? std::nullopt : findTurnedLoops(*later, fusion, *around_.analysis);
    const auto rows = turned ? findRowsRead(loop, *turned->from, fusion, *around_.analysis) : std::nullopt;
    if (!rows) continue;
    result.each_turn.push_back(fmt::format(
        "if (!{}) for (tk_i64 byte = 0; byte < {}; byte += 64) "
        "__builtin_prefetch((const char*)&T{}[{} + {} * {}] + byte, 1, 2);",
        around_.streams(*turned->to), turned->columns->constantInt().value_or(0) * sizeOf(turned->to->dtype()),
        turned->to->label(), around_.scalars->write(*turned->first_to), around_.name(*loop.index),
        around_.scalars->writeOperand(*turned->to_stride)));
    Scalar& block = *kernel.dimensions[0].index;
    for (const RowsRead& row : *rows) {
      Substitution substitution(fusion);
      substitution.set(block, fusion.add(&block, fusion.constant(1)));
      const std::string next = fmt::format("next_tile_{}", fetched_tiles_++);
      result.before.push_back(
          fmt::format("const tk_i64 {} = {};", next, around_.scalars->write(*substitution(row.first))));
      next_tiles_[loop.index].push_back(fmt::format("T{}[{} + {} * {}", row.tensor->label(), next,
                                                    around_.name(*loop.index),
                                                    around_.scalars->writeOperand(*row.stride)));
    }
    break;
  }
  return result;
}

}  // namespace tokamak
