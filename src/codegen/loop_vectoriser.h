// LoopVectoriser: several iterations of a loop are done at a time, on explicit vectors. C compilers are told to
// vectorise nothing themselves (toolchain/c_compiler_probe.cpp).
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

/// What the loop's writer tells about the source around the loop.
struct LaneSurroundings {
  Fusion* fusion = nullptr;  ///< scalars are made in it
  IntervalAnalysis* analysis = nullptr;
  ScalarSource* scalars = nullptr;
  std::set<std::string>* helpers = nullptr;
  std::function<std::string(const kir::Value&)> one_lane;  ///< the text of a value that is the same for all lanes
  std::function<std::string(const TensorView&, Scalar&)> element;   ///< "T3[k * 4]"
  std::function<std::string(const kir::Statement&)> one_iteration;  ///< a Let or Store of one iteration
  std::function<std::string(const TensorView&)>
      streams;  ///< whether it is written past the caches: "streams_T3"; empty: nothing is
};

/// How many lanes a loop's vectors have, and the bytes of its widest elements: half types count as the f32 that they
/// are computed in; bools are bytes in memory and as wide as the rest in registers.
struct LaneWidth {
  int lanes;
  int element_bytes;
  bool is_narrow;  ///< for loops of a known length that is less than what a vector holds
};
/// For loops over bool alone; over f32, i32 and half types, too; over f64 and i64, too. The first that a loop fits in
/// is taken. `f32_lanes`: of the widest vector registers.
constexpr std::array<LaneWidth, 5> laneWidths(int f32_lanes) {
  return {{{4 * f32_lanes, 1, false},
           {f32_lanes, 4, false},
           {f32_lanes / 2, 4, true},
           {f32_lanes / 2, 8, false},
           {f32_lanes / 4, 8, true}}};
}

/// A vectorisable loop has only Lets and Stores, and random words that feed them. Every access to memory is invariant
/// or unit-stride, and no iteration reads what another one writes.
class LoopVectoriser {
 public:
  /// `lanes`: how many iterations at a time; `element_bytes`: 1, 4 or 8, of the widest elements that the loop may have.
  LoopVectoriser(const kir::Loop& loop, int lanes, int element_bytes, LaneSurroundings surroundings);

  int laneCount() const { return lanes_; }
  int64_t elementBytes() const { return element_bytes_; }
  /// Whether the loop is vectorisable.
  bool isPossible() const { return is_possible_; }
  /// Whether loops around accumulate into what this loop writes: it reads elements that it writes.
  bool isAccumulating() const { return is_accumulating_; }

  /// Loop-invariant values, to be written before the loop: "const tk_f32 t5 = T5;"
  const std::vector<const kir::Let*>& invariants() const { return invariants_; }
  /// Whether one iteration takes so long that iterations are better done in stages: a processor looks at some two
  /// hundred instructions at a time, and has little to do where all of these wait for each other. What is only added up
  /// does not: the rows of one iteration are read side by side.
  bool isLong() const { return cost_ >= kLongCost && (has_long_values_ || !is_accumulating_); }
  /// What will be read `iterations` iterations of a loop around (or blocks) later, whose index is `around`, is fetched
  /// while this loop computes: processors foresee what is read along memory, but not that it goes on in another row,
  /// and wait for the next row while they do nothing but compute. Nothing for 0 iterations, nor where indices do not
  /// move by a constant number of elements.
  std::vector<std::string> prefetches(Scalar& around, const std::function<int64_t(const TensorView&)>& iterations);
  /// The next row of tensors that are wanted, into the second cache: it may be longer than the first one.
  /// `row`: the index whose next value is the next row.
  std::vector<std::string> prefetchesOfRow(Scalar& row, const std::function<bool(const TensorView&)>& isWanted);
  /// For a loop over short rows inside of one with the index `outer`, whose rows lie apart: the row that the next block
  /// has in place of each.
  std::vector<std::string> rowPrefetches(Scalar& block, Scalar& outer, int64_t length);
  /// For a loop that stands in no other one: what the block `ahead` of this one reads in place of each row, where that
  /// is not on the same page.
  std::vector<std::pair<const TensorView*, std::string>> blockPrefetches(Scalar& block, int64_t ahead);
  /// The tensors in global memory that the loop goes along.
  std::vector<const TensorView*> streamed() const;

  /// Random numbers come in strips.
  bool hasWords() const { return has_words_; }
  /// Text of as many iterations as there are lanes, from the index that the loop's name has. Not where there are words.
  std::vector<std::string> iterations();

  /// The same in stages, each for a strip of iterations before the next one begins: what stages pass on is in arrays of
  /// a strip's length, indexed by `strip_index`. Random words are made for a whole strip, `iterations` long, before:
  /// the index has its first value there.
  struct Stages {
    std::vector<std::string> arrays;  ///< types and names
    std::vector<std::string> rooms;   ///< for random words
    std::vector<std::string> before;
    std::vector<std::vector<std::string>> lines;
  };
  Stages stages(std::string_view strip_index, std::string_view iterations);
  size_t countStages() const { return cutIntoStages().size(); }
  /// Iteration by iteration, in stages for as many iterations as there are lanes.
  Stages stagesOfIterations(std::string_view iteration_index);

 private:
  /// How stages are written: the names of what they pass on, and what defines it.
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
  bool isLaneable(DataType dtype) const;
  LaneType laneType(DataType dtype) const { return {dtype, lanes_, element_bytes_}; }
  LaneType computeType(const kir::Value& value) const;
  void need(std::vector<std::string> helpers) { helpers_wanted_.insert(helpers.begin(), helpers.end()); }
  std::string access(std::string_view verb, DataType dtype);
  std::string typeName(DataType dtype) const;
  std::string laneName(DataType dtype) const;
  std::string lanes(const kir::Value& value);
  std::string applied(const kir::Value& value);
  std::string splat(const kir::Value& value);
  std::string word(const kir::Value& value);
  std::string relation(const kir::Value& value);
  std::string words(const kir::Value& value, const std::string& room, std::string_view iterations);
  std::string line(const kir::Statement& statement);
  std::vector<Access> streamedAccesses() const;
  std::vector<const kir::Statement*> varyingStatements() const;
  std::vector<std::vector<const kir::Statement*>> cutIntoStages() const;

  const kir::Loop& loop_;
  int lanes_;
  int element_bytes_;
  LaneSurroundings around_;
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
