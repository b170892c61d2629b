// LoopVectoriser: several iterations of a loop at a time, on explicit vectors. C compilers' own vectorisers are turned
// off (toolchain/c_compiler_probe.cpp).
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "codegen/scalar_source.h"
#include "device_code/device_code.h"
#include "kernel/kernel.h"

namespace tokamak {

/// The source around the loop, from the loop's writer.
struct VectoriserContext {
  Fusion* fusion = nullptr;  ///< scalars are made in it
  IntervalAnalysis* analysis = nullptr;
  ScalarSource* scalars = nullptr;
  std::set<std::string>* helpers = nullptr;
  std::function<std::string(const kir::Value&)> uniform_value;     ///< source of a value that is the same for all lanes
  std::function<std::string(const TensorView&, Scalar&)> element;  ///< "T3[k * 4]"
  std::function<std::string(const kir::Statement&)> one_iteration;  ///< a Let or Store of one iteration
  /// Whether the tensor has non-temporal stores: "streams_T3", a variable of the source. Empty: none has.
  std::function<std::string(const TensorView&)> nontemporal_flag;
};

/// The lanes of a loop's vectors, and the bytes of its widest elements. Half types count as f32, in which they are
/// computed. Bools are bytes in memory, and as wide as the other elements in registers.
struct LaneWidth {
  int lanes;
  int element_bytes;
  bool is_narrow;  ///< for loops of constant length, shorter than a full vector
};
/// Widths in the order in which they are tried: for loops over bool alone; also over f32, i32 and half types; also over
/// f64 and i64. `f32_lanes`: of the widest vector registers.
constexpr std::array<LaneWidth, 5> laneWidths(int f32_lanes) {
  return {{{4 * f32_lanes, 1, false},
           {f32_lanes, 4, false},
           {f32_lanes / 2, 4, true},
           {f32_lanes / 2, 8, false},
           {f32_lanes / 4, 8, true}}};
}

/// A vectorisable loop has only Lets and Stores, and random words that feed them. Every access to memory is invariant
/// or unit-stride, and there is no loop-carried dependence.
class LoopVectoriser {
 public:
  /// `lanes`: iterations at a time; `element_bytes`: 1, 4 or 8, of the widest elements that the loop may have.
  LoopVectoriser(const kir::Loop& loop, int lanes, int element_bytes, VectoriserContext context);

  int laneCount() const { return lanes_; }
  int64_t elementBytes() const { return element_bytes_; }
  /// Whether the loop is vectorisable.
  bool isPossible() const { return is_possible_; }
  /// Whether the loop reads elements that it writes, as where outer loops accumulate into them.
  bool isAccumulating() const { return is_accumulating_; }

  /// Loop-invariant Lets, to be written before the loop: "const tk_f32 t5 = T5;"
  const std::vector<const kir::Let*>& invariants() const { return invariants_; }
  /// Whether an iteration is so long that stages are better (loop fission): out-of-order windows of some two hundred
  /// instructions then hold one dependent chain. Accumulating loops of short values are no such case: their rows are
  /// independent.
  bool isLong() const { return cost_ >= kLongCost && (has_long_values_ || !is_accumulating_); }
  /// Prefetches of what this loop will read `iterations` iterations of an outer loop (or blocks) later, whose index is
  /// `outer`. Hardware prefetchers foresee accesses along memory, but not the next row.
  /// None for 0 iterations, nor where indices do not move by a constant number of elements.
  std::vector<std::string> prefetches(Scalar& outer, const std::function<int64_t(const TensorView&)>& iterations);
  /// Prefetches of wanted tensors' next row into the L2 cache, as it may not fit in L1. `row`: the index whose next
  /// value is the next row.
  std::vector<std::string> prefetchesOfRow(Scalar& row, const std::function<bool(const TensorView&)>& isWanted);
  /// For a loop over short rows that are not contiguous, inside of one with the index `outer`: prefetches of the next
  /// block's row.
  std::vector<std::string> rowPrefetches(Scalar& block, Scalar& outer, int64_t length);
  /// For an outermost loop: prefetches of what the block `ahead` blocks later reads, if that is on another page.
  std::vector<std::pair<const TensorView*, std::string>> blockPrefetches(Scalar& block, int64_t ahead);
  /// The tensors in global memory that the loop accesses with unit stride.
  std::vector<const TensorView*> streamed() const;

  /// Whether the loop has random words, which are made for whole strips.
  bool hasWords() const { return has_words_; }
  /// Source of as many iterations as there are lanes, from the current value of the loop's index on. Not for loops with
  /// random words.
  std::vector<std::string> iterations();

  /// The same in stages (loop fission): each runs for a strip of iterations before the next one. Arrays of a strip's
  /// length hold values that stages pass on, indexed by `strip_index`.
  /// `before` makes the random words of a strip of `iterations` iterations; the loop's index has its first value there.
  struct Stages {
    std::vector<std::string> arrays;        ///< types and names
    std::vector<std::string> word_buffers;  ///< arrays for random words
    std::vector<std::string> before;
    std::vector<std::vector<std::string>> lines;
  };
  Stages stages(std::string_view strip_index, std::string_view iterations);
  size_t countStages() const { return splitIntoStages().size(); }
  /// The stages of single iterations, for fewer of them than there are lanes.
  Stages stagesOfIterations(std::string_view iteration_index);

 private:
  /// How stages are written: names and types of the arrays, and the statements.
  struct StageText {
    std::string_view prefix;  ///< of the arrays' names
    std::string_view index;
    std::function<std::string(const kir::Variable&)> type;
    std::function<std::string(const kir::Statement&)> line;
  };
  Stages stagesOf(const StageText& text);

  using Access = std::pair<const TensorView*, Scalar*>;
  static constexpr int kLongCost = 20;
  static constexpr int kStageCost = 24;

  bool mentionsIndex(const Scalar& scalar) const;
  bool varies(const kir::Value& value) const;
  bool movesWithIndex(Scalar& index);
  std::optional<int64_t> difference(Scalar& index, Scalar& symbol, Scalar* from, Scalar* to);
  bool accept(const kir::Value& value);
  bool acceptWords(const kir::Value& value);
  bool acceptWord(const kir::Value& value);
  bool acceptRelation(const kir::Value& value);
  bool acceptStatement(const kir::Statement& statement);
  bool isOrdered() const;
  bool isVectorType(DataType dtype) const;
  LaneType laneType(DataType dtype) const { return {dtype, lanes_, element_bytes_}; }
  LaneType computeType(const kir::Value& value) const;
  void need(std::vector<std::string> helpers) { helpers_wanted_.insert(helpers.begin(), helpers.end()); }
  std::string access(std::string_view verb, DataType dtype);
  std::string typeName(DataType dtype) const;
  std::string laneName(DataType dtype) const;
  std::string lanes(const kir::Value& value);
  std::string applied(const kir::Value& value);
  std::optional<std::string> sumWithOne(const kir::Value& value);
  std::string splat(const kir::Value& value);
  std::string word(const kir::Value& value);
  std::string relation(const kir::Value& value);
  std::string words(const kir::Value& value, const std::string& room, std::string_view iterations);
  std::string line(const kir::Statement& statement);
  std::vector<Access> streamedAccesses() const;
  std::vector<const kir::Statement*> varyingStatements() const;
  std::vector<std::vector<const kir::Statement*>> splitIntoStages() const;

  const kir::Loop& loop_;
  int lanes_;
  int element_bytes_;
  VectoriserContext context_;
  bool is_possible_ = false;
  bool is_accumulating_ = false;
  bool has_words_ = false;
  int cost_ = 0;
  bool has_long_values_ = false;
  std::vector<const kir::Let*> invariants_;
  std::set<const kir::Variable*> varying_;
  std::set<std::string> helpers_wanted_;
};

}  // namespace tokamak
