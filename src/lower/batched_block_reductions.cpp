#include "lower/batched_block_reductions.h"

#include "analysis/substitute.h"
#include "ir/extent_assumptions.h"
#include "kernel/rewrite.h"
#include "symbolic/interval_analysis.h"
#include "symbolic/scalar_simplifier.h"

namespace tokamak {

namespace {

using kir::BlockReduce;
using kir::Loop;
using kir::statement;
using kir::StatementRef;
using kir::Statements;

class Grouper {
 public:
  explicit Grouper(Fusion& fusion) : fusion_(fusion) { assumeExtents(analysis_, fusion); }

  Statements rewrite(const Statements& statements) {
    return kir::withLoops(statements, [&](const Loop& loop, Statements& result) {
      Loop copy = loop;
      copy.body = rewrite(loop.body);
      result.push_back(grouped(std::move(copy)));
    });
  }

 private:
  StatementRef grouped(Loop loop) {
    const BlockReduce* reduce = loop.body.size() == 1 ? std::get_if<BlockReduce>(&loop.body[0]->node) : nullptr;
    const auto count = loop.stop->constantInt();
    if (reduce == nullptr || !count || !loop.start->isConstantInt(0)) return statement(std::move(loop));
    Substitution at_first(fusion_);
    at_first.set(*loop.index, fusion_.constant(0));
    Scalar* first = simplify(at_first(reduce->index), analysis_);
    // An iteration may have several elements, one after the other.
    Scalar* place = fusion_.add(first, fusion_.mul(loop.index, fusion_.constant(reduce->count)));
    if (!simplify(fusion_.sub(reduce->index, place), analysis_)->isConstantInt(0)) return statement(std::move(loop));
    BlockReduce all = *reduce;
    all.index = first;
    all.count *= *count;
    return statement(std::move(all));
  }

  Fusion& fusion_;
  IntervalAnalysis analysis_;
};

}  // namespace

kir::Kernel batchedBlockReductions(kir::Kernel kernel) {
  kernel.body = Grouper(*kernel.fusion).rewrite(kernel.body);
  return kernel;
}

}  // namespace tokamak
