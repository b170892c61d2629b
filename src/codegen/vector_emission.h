// VectorEmission: C that compilers do not find by themselves: explicit vectors, in-register transposes by shuffles, and
// prefetches of what a processor does not foresee.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "codegen/in_register_transpose.h"
#include "codegen/loop_vectoriser.h"
#include "codegen/prefetch_insertion.h"
#include "kernel/kernel.h"

namespace tokamak {

/// What the writer of the kernel lends.
struct VectorSurroundings {
  const kir::Kernel* kernel = nullptr;
  IntervalAnalysis* analysis = nullptr;
  ScalarSource* scalars = nullptr;
  std::set<std::string>* helpers = nullptr;
  std::function<std::string(const kir::Value&)> value;
  std::function<std::string(const TensorView&, Scalar&)> element;
  std::function<std::string(const Scalar&)> name;                   ///< of an index
  std::function<std::string(const kir::Statement&)> one_iteration;  ///< a Let or Store
  std::function<std::string(const TensorView&)> streams;            ///< whether an output is written past the caches
};

class VectorEmission {
 public:
  /// `lanes`: of an f32 vector; 1: none of all this.
  VectorEmission(int lanes, VectorSurroundings surroundings)
      : lanes_(lanes), around_(std::move(surroundings)), passes_(*around_.kernel) {}

  bool isUsed() const { return lanes_ > 1; }

  /// A loop some iterations of which are done at a time.
  struct Vectors {
    std::vector<const kir::Let*> invariants;  ///< to be written before
    std::vector<std::string> lines;           ///< indented from the left margin
    std::optional<kir::Loop> rest;  ///< the iterations that are left, fewer than a vector has, if not among the lines
  };
  /// If that is possible. `outside`: indices of the loops around.
  std::optional<Vectors> vectorsOf(const kir::Loop& loop, std::span<Scalar* const> outside);

  /// The call for two loops that transpose a tile.
  std::optional<std::string> transposeOf(const kir::Loop& loop);
  /// Loops that fill a tile which a loop among `rest` iterations fetch, with each row, a row of where the tile will go,
  /// and with each vector what the next tile has there.
  struct Fetches {
    std::vector<std::string> before;
    std::vector<std::string> each_iteration;
  };
  Fetches tileFetches(const kir::Loop& loop, std::span<const kir::StatementRef> rest);

 private:
  std::vector<std::string> unrolled(const kir::Loop& loop, LoopVectoriser& lanes, int64_t count,
                                    const std::vector<std::string>& prefetches);
  std::optional<Vectors> vectorsOf(const kir::Loop& loop, std::span<Scalar* const> outside, LaneWidth width);
  std::vector<std::string> iterationsInStages(const kir::Loop& rest, LoopVectoriser& loop);
  std::vector<std::string> strips(const kir::Loop& loop, LoopVectoriser& lanes,
                                  const std::vector<std::string>& prefetches);
  std::vector<std::string> prefetchesOf(const kir::Loop& loop, LoopVectoriser& lanes, bool is_short, int64_t iterations,
                                        std::span<Scalar* const> outside);

  int lanes_;
  VectorSurroundings around_;
  int fetched_tiles_ = 0;
  std::set<const TensorView*> fetched_rows_;  // of which a loop of the block has fetched another block's rows
  std::map<const Scalar*, std::vector<std::string>>
      next_tiles_;  // of a tile's loop over rows: "T0[next_tile_0 + k * 4096"
  PrefetchInsertion passes_;
};

}  // namespace tokamak
