// VectorEmission: C that compilers do not make by themselves: explicit vectors, in-register transposes by shuffles, and
// software prefetches.
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

/// Functions of the kernel's writer.
struct EmissionContext {
  const kir::Kernel* kernel = nullptr;
  IntervalAnalysis* analysis = nullptr;
  ScalarSource* scalars = nullptr;
  std::set<std::string>* helpers = nullptr;
  std::function<std::string(const kir::Value&)> value;
  std::function<std::string(const TensorView&, Scalar&)> element;
  std::function<std::string(const Scalar&)> name;                   ///< of an index
  std::function<std::string(const kir::Statement&)> one_iteration;  ///< a Let or Store
  std::function<std::string(const TensorView&)> nontemporal_flag;   ///< as in VectoriserContext
};

class VectorEmission {
 public:
  /// `lanes`: of an f32 vector; 1: nothing is vectorised, transposed or prefetched.
  VectorEmission(int lanes, EmissionContext context)
      : lanes_(lanes), context_(std::move(context)), prefetches_(*context_.kernel) {}

  bool isUsed() const { return lanes_ > 1; }

  /// A vectorised loop.
  struct Vectors {
    std::vector<const kir::Let*> invariants;  ///< to be written before
    std::vector<std::string> lines;           ///< indented from the left margin
    std::optional<kir::Loop> rest;            ///< the remaining iterations, fewer than lanes, unless `lines` has them
  };
  /// Nothing if the loop is not vectorisable. `outside`: indices of the loops around.
  std::optional<Vectors> vectorsOf(const kir::Loop& loop, std::span<Scalar* const> outside);

  /// The call that replaces two loops if they transpose a tile.
  std::optional<std::string> transposeOf(const kir::Loop& loop);
  /// Prefetches for a loop that fills a tile, which a loop of `rest` transposes: with each row the row of its
  /// destination, and with each vector that of the next tile.
  struct Fetches {
    std::vector<std::string> before;
    std::vector<std::string> each_iteration;
  };
  Fetches tileFetches(const kir::Loop& loop, std::span<const kir::StatementRef> rest);

 private:
  std::vector<std::string> unrolled(const kir::Loop& loop, LoopVectoriser& lanes, int64_t count,
                                    const std::vector<std::string>& prefetches);
  std::optional<Vectors> vectorsOf(const kir::Loop& loop, std::span<Scalar* const> outside, LaneWidth width);
  bool mayRepeatIterations(const kir::Loop& loop) const;
  std::vector<std::string> vectorAt(const kir::Loop& loop, LoopVectoriser& lanes, int64_t first);
  std::vector<std::string> iterationsInStages(const kir::Loop& rest, LoopVectoriser& loop);
  std::vector<std::string> strips(const kir::Loop& loop, LoopVectoriser& lanes,
                                  const std::vector<std::string>& prefetches);
  std::vector<std::string> prefetchesOf(const kir::Loop& loop, LoopVectoriser& lanes, bool is_short, int64_t iterations,
                                        std::span<Scalar* const> outside);

  int lanes_;
  EmissionContext context_;
  int fetched_tiles_ = 0;
  std::set<const TensorView*> fetched_rows_;  // another block's rows of which have been prefetched
  std::map<const Scalar*, std::vector<std::string>>
      next_tiles_;  // index of a tile's loop over rows -> "T0[next_tile_0 + k * 4096"
  PrefetchInsertion prefetches_;
};

}  // namespace tokamak
