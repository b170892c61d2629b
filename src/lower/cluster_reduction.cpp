#include "lower/cluster_reduction.h"

#include <algorithm>
#include <optional>

#include "kernel/index_assumptions.h"
#include "kernel/rewrite.h"
#include "symbolic/scalar_simplifier.h"

namespace tokamak {

namespace {

using kir::BlockReduce;
using kir::ClusterBarrier;
using kir::Kernel;
using kir::Loop;
using kir::statement;
using kir::Statement;
using kir::StatementRef;
using kir::Statements;
using Half = ClusterBarrier::Half;

const BlockReduce* clusterReduceOf(const Statement& statement) {
  const auto* reduce = std::get_if<BlockReduce>(&statement.node);
  return reduce != nullptr && std::ranges::count(reduce->dimensions, ParallelType::CIDx) > 0 ? reduce : nullptr;
}

bool hasBarrier(const Statement& statement) {
  bool found = false;
  kir::visitStatements({std::make_shared<const Statement>(statement)},
                       [&](const Statement& each) { found |= std::holds_alternative<ClusterBarrier>(each.node); });
  return found;
}

class Exchanger {
 public:
  explicit Exchanger(const Kernel& kernel) : kernel_(kernel), fusion_(*kernel.fusion) {
    kir::assumeIndices(kernel, analysis_);
  }

  Statements run() {
    Statements body = rewrite(kernel_.body);
    if (buffers_.empty()) return kernel_.body;
    finish(body);
    Statements result = std::move(buffers_);
    result.push_back(statement(ClusterBarrier{Half::Arrive}));
    result.insert(result.end(), body.begin(), body.end());
    return result;
  }

 private:
  // The exchange of one BlockReduce's results between blocks.
  struct Exchange {
    BlockReduce reduce;
    const TensorView* buffer = nullptr;  // [block][value][group]
    Scalar* group = nullptr;             // number of the result, where threads of a block have different ones
    Scalar* groups = nullptr;
    Scalar* is_sender = nullptr;  // holds in one thread per result; null: every thread has its own
  };

  Statements rewrite(const Statements& statements) {
    Statements result;
    for (size_t i = 0; i < statements.size();) {
      const Statement& each = *statements[i];
      size_t end = i;
      while (end < statements.size() && clusterReduceOf(*statements[end]) != nullptr) ++end;
      if (end > i) {
        exchange(std::span(statements).subspan(i, end - i), result);
        i = end;
        continue;
      }
      if (const auto* loop = std::get_if<Loop>(&each.node)) {
        Loop copy = *loop;
        copy.body = rewrite(loop->body);
        result.push_back(statement(std::move(copy)));
      } else if (const auto* guard = std::get_if<kir::If>(&each.node)) {
        result.push_back(statement(kir::If{guard->predicate, rewrite(guard->body)}));
      } else {
        result.push_back(statements[i]);
      }
      ++i;
    }
    return result;
  }

  // Removes the barrier after the last exchange, unless a loop repeats it: nothing is stored after it.
  static void finish(Statements& body) {
    const auto last =
        std::ranges::find_if(body.rbegin(), body.rend(), [](const auto& each) { return hasBarrier(*each); });
    if (std::holds_alternative<ClusterBarrier>((*last)->node)) {
      body.erase(std::next(last).base());
      return;
    }
    const bool has_grid = std::holds_alternative<kir::GridReduce>(body.back()->node);
    body.insert(has_grid ? std::prev(body.end()) : body.end(), statement(ClusterBarrier{Half::Wait}));
  }

  void exchange(std::span<const StatementRef> combines, Statements& result) {
    std::vector<Exchange> exchanges;
    for (const StatementRef& each : combines) {
      exchanges.push_back(exchangeOf(*clusterReduceOf(*each)));
      const BlockReduce& in_block = exchanges.back().reduce;
      if (!in_block.dimensions.empty()) result.push_back(statement(in_block));
    }
    result.push_back(statement(ClusterBarrier{Half::Wait}));
    for (const Exchange& each : exchanges) sendToBlocks(each, result);
    result.push_back(statement(ClusterBarrier{Half::Arrive}));
    result.push_back(statement(ClusterBarrier{Half::Wait}));
    for (const Exchange& each : exchanges) combineReceived(each, result);
    result.push_back(statement(ClusterBarrier{Half::Arrive}));
  }

  Exchange exchangeOf(const BlockReduce& reduce) {
    Exchange exchange{.reduce = reduce, .group = fusion_.constant(0), .groups = fusion_.constant(1)};
    std::erase(exchange.reduce.dimensions, ParallelType::CIDx);
    for (const kir::LaunchDimension& dimension : kernel_.dimensions) {
      if (!kir::isThreadType(dimension.type)) continue;
      if (std::ranges::count(reduce.dimensions, dimension.type) > 0) {
        Scalar* is_first = fusion_.scalar(ScalarOp::Equal, dimension.index, fusion_.constant(0));
        exchange.is_sender =
            exchange.is_sender == nullptr ? is_first : fusion_.scalar(ScalarOp::And, exchange.is_sender, is_first);
      } else {
        exchange.group = fusion_.add(exchange.group, fusion_.mul(exchange.groups, dimension.index));
        exchange.groups = fusion_.mul(exchange.groups, dimension.extent);
      }
    }
    Scalar* size = fusion_.mul(fusion_.constant(kernel_.clusterBlocks() * reduce.count), exchange.groups);
    TensorView* buffer = fusion_.tensor(reduce.tensor->dtype(), {fusion_.axis({.extent = size})});
    buffer->setMemoryType(MemoryType::Shared);
    buffers_.push_back(statement(kir::Allocate{buffer, size}));
    exchange.buffer = buffer;
    return exchange;
  }

  // Stores the result of this block to every block's shared memory.
  void sendToBlocks(const Exchange& exchange, Statements& result) {
    const BlockReduce& reduce = exchange.reduce;
    Scalar* own = kernel_.dimension(ParallelType::CIDx)->index;
    Scalar* to = fusion_.symbol("k");
    analysis_.assumeIndex(*to, *fusion_.constant(kernel_.clusterBlocks()));
    Loop loop{to, fusion_.constant(0), fusion_.constant(kernel_.clusterBlocks()), ParallelType::Unroll, {}};
    loop.body.push_back(forEachValue(reduce, [&](Scalar* value) {
      return kir::Store{exchange.buffer, indexOf(exchange, own, value),
                        kir::load(*reduce.tensor, fusion_.add(reduce.index, value)), to};
    }));
    StatementRef all = statement(std::move(loop));
    result.push_back(exchange.is_sender == nullptr ? all : statement(kir::If{exchange.is_sender, {all}}));
  }

  // Combines the results of all blocks, in the same order everywhere, so that all get the same bits.
  void combineReceived(const Exchange& exchange, Statements& result) {
    const BlockReduce& reduce = exchange.reduce;
    result.push_back(forEachValue(reduce, [&](Scalar* value) {
      kir::ValueRef all;
      for (int64_t block = 0; block < kernel_.clusterBlocks(); ++block) {
        kir::ValueRef part = kir::load(*exchange.buffer, indexOf(exchange, fusion_.constant(block), value));
        const FunctionId function = kir::combiningFunction(reduce.kind);
        all = block == 0 ? part : kir::apply(function, reduce.tensor->dtype(), {all, part});
      }
      return kir::Store{reduce.tensor, fusion_.add(reduce.index, value), all};
    }));
  }

  Scalar* indexOf(const Exchange& exchange, Scalar* block, Scalar* value) {
    Scalar* row = fusion_.add(fusion_.mul(block, fusion_.constant(exchange.reduce.count)), value);
    return simplify(fusion_.add(fusion_.mul(row, exchange.groups), exchange.group), analysis_);
  }

  template <class Make>
  StatementRef forEachValue(const BlockReduce& reduce, const Make& make) {
    if (reduce.count == 1) return statement(make(fusion_.constant(0)));
    Loop loop{fusion_.symbol("k"), fusion_.constant(0), fusion_.constant(reduce.count), ParallelType::Unroll, {}};
    analysis_.assumeIndex(*loop.index, *loop.stop);
    loop.body.push_back(statement(make(loop.index)));
    return statement(std::move(loop));
  }

  const Kernel& kernel_;
  Fusion& fusion_;
  IntervalAnalysis analysis_;
  Statements buffers_;
};

}  // namespace

Kernel clusterReduction(Kernel kernel) {
  if (kernel.dimension(ParallelType::CIDx) != nullptr) kernel.body = Exchanger(kernel).run();
  return kernel;
}

}  // namespace tokamak
