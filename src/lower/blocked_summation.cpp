#include "lower/blocked_summation.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <vector>

#include "kernel/index_assumptions.h"
#include "kernel/kernel_walk.h"
#include "kernel/rewrite.h"
#include "symbolic/interval_analysis.h"

namespace tokamak {

namespace {

using kir::Loop;
using kir::Statement;
using kir::StatementRef;
using kir::Statements;
using kir::Store;
using kir::Value;
using kir::ValueKind;

constexpr int64_t kLongestInnerLoop = 64;
constexpr int64_t kAccumulators = 8;

// Whether the store adds to the f32 or f64 element that it writes, whose index mentions none of `indices`.
bool isAddition(const Store& store, const std::set<const Scalar*>& indices) {
  const Value& value = *store.value;
  const DataType dtype = store.tensor->dtype();
  if ((dtype != DataType::F32 && dtype != DataType::F64) || store.tensor->memoryType() != MemoryType::Local)
    return false;
  if (value.kind != ValueKind::Apply || value.function != FunctionId::add) return false;
  const Value& before = *value.operands[0];
  return before.kind == ValueKind::Load && before.tensor == store.tensor && before.scalar == store.index &&
         !kir::mentionsAny(*store.index, indices);
}

// How often the statements mention a buffer.
int mentionsOf(const TensorView& tensor, const Statements& statements) {
  int count = 0;
  kir::visitStatements(statements, [&](const Statement& each) {
    const auto* allocated = std::get_if<kir::Allocate>(&each.node);
    count += allocated != nullptr && allocated->tensor == &tensor ? 1 : 0;
    count += static_cast<int>(std::ranges::count(kir::tensorsOf(each), &tensor));
  });
  return count;
}

class SumBlocker {
 public:
  explicit SumBlocker(Fusion& fusion) : fusion_(fusion) {}

  // `around`: the body of the loop that the statements are in, or null.
  Statements rewrite(const Statements& statements, const Statements* around) {
    return kir::withLoops(statements, [&](const Loop& loop, Statements& result) {
      Loop copy = loop;
      if (around == nullptr || !isShortInnerLoop(loop)) {
        copy.body = rewrite(loop.body, &loop.body);
        result.push_back(kir::statement(std::move(copy)));
        return;
      }
      addToAccumulators(std::move(copy), *around, result);
    });
  }

 private:
  static bool isShortInnerLoop(const Loop& loop) {
    const auto stop = loop.stop->constantInt();
    return loop.type == ParallelType::Serial && loop.start->isConstantInt(0) && stop && *stop > kAccumulators &&
           *stop <= kLongestInnerLoop && std::ranges::all_of(loop.body, [](const StatementRef& each) {
             return std::holds_alternative<Store>(each->node) || std::holds_alternative<kir::Let>(each->node);
           });
  }

  void addToAccumulators(Loop loop, const Statements& around, Statements& result) {
    std::set<const Scalar*> indices = kir::indicesIn(loop.body);
    indices.insert(loop.index);
    Statements after;
    for (StatementRef& each : loop.body) {
      const auto* store = std::get_if<Store>(&each->node);
      // The loop around reads and writes it once, so nothing else sees partial sums.
      if (store == nullptr || !isAddition(*store, indices) || mentionsOf(*store->tensor, around) != 2) continue;
      Scalar* count = fusion_.constant(kAccumulators);
      TensorView* parts = fusion_.tensor(store->tensor->dtype(), {fusion_.axis({.extent = count})});
      parts->setMemoryType(MemoryType::Local);
      result.push_back(kir::statement(kir::Allocate{parts, count}));
      const kir::ValueRef none = kir::number(fusion_.constant(0.0, DataType::F64), parts->dtype());
      result.push_back(forEachAccumulator(0, [&](Scalar* part) { return Store{parts, part, none}; }));
      Scalar* first = fusion_.constant(0);
      after.push_back(
          forEachAccumulator(1, [&](Scalar* part) { return addition(*parts, first, kir::load(*parts, part)); }));
      after.push_back(kir::statement(addition(*store->tensor, store->index, kir::load(*parts, first))));
      each =
          kir::statement(addition(*parts, fusion_.scalar(ScalarOp::Mod, loop.index, count), store->value->operands[1]));
    }
    result.push_back(kir::statement(std::move(loop)));
    result.insert(result.end(), after.begin(), after.end());
  }

  static Store addition(const TensorView& tensor, Scalar* index, kir::ValueRef more) {
    return {&tensor, index, kir::apply(FunctionId::add, tensor.dtype(), {kir::load(tensor, index), std::move(more)})};
  }

  template <class Make>
  StatementRef forEachAccumulator(int64_t start, const Make& make) {
    Scalar* part = fusion_.symbol("k");
    return kir::statement(Loop{part,
                               fusion_.constant(start),
                               fusion_.constant(kAccumulators),
                               ParallelType::Serial,
                               {kir::statement(make(part))}});
  }

  Fusion& fusion_;
};

// Gives long loops partial sums.
class ChainSplitter {
 public:
  explicit ChainSplitter(const kir::Kernel& kernel) : fusion_(*kernel.fusion) {
    kir::assumeIndices(kernel, analysis_);
    kir::visitStatements(kernel.body, [&](const Statement& each) {
      if (const auto* allocated = std::get_if<kir::Allocate>(&each.node)) sizes_[allocated->tensor] = allocated->size;
    });
  }

  Statements rewrite(const Statements& statements) {
    const std::set<const TensorView*> allocated = allocatedIn(statements);
    return kir::withLoops(statements, [&](const Loop& loop, Statements& result) {
      Loop copy = loop;
      const std::vector<const TensorView*> sums = sumsOf(loop, allocated);
      std::vector<const TensorView*> of_iterations;
      for (const TensorView* sum : sums) {
        if (additionsIn(loop.body, *sum) >= kLongIteration) of_iterations.push_back(sum);
      }
      if (!of_iterations.empty() && isRepeated(loop)) copy.body = sumWithinIterations(copy.body, of_iterations);
      copy.body = rewrite(copy.body);
      if (sums.empty() || !isLong(copy, sums)) {
        result.push_back(kir::statement(std::move(copy)));
        return;
      }
      blockSums(std::move(copy), sums, result);
    });
  }

 private:
  static constexpr int64_t kIterations = 64;
  static constexpr int64_t kFewestIterations = 8;
  static constexpr int64_t kMostSums = 1024;
  // So many additions in one iteration deserve a partial sum.
  static constexpr int64_t kLongIteration = 16;
  static constexpr int64_t kUnknown = 1024;

  // An upper bound. A part of a loop counts as the whole loop.
  int64_t iterationsOf(const Loop& loop) { return std::max<int64_t>(0, analysis_.of(*loop.stop).upper); }
  bool isRepeated(const Loop& loop) { return loop.type == ParallelType::Serial && iterationsOf(loop) > 1; }

  // The length of the chain of additions to one element of the sum.
  int64_t additionsIn(const Statements& statements, const TensorView& sum) {
    int64_t count = 0;
    for (const StatementRef& each : statements) {
      if (const auto* store = std::get_if<Store>(&each->node)) count += store->tensor == &sum ? 1 : 0;
      if (const auto* guard = std::get_if<kir::If>(&each->node)) count += additionsIn(guard->body, sum);
      if (const auto* loop = std::get_if<Loop>(&each->node)) {
        const int64_t of_iteration = additionsIn(loop->body, sum);
        const bool adds_to_same = loop->type == ParallelType::Serial && of_iteration > 0 && !movesIn(*loop, sum);
        count += adds_to_same ? of_iteration * std::min(iterationsOf(*loop), kUnknown) : of_iteration;
      }
      if (count > kUnknown) return kUnknown;
    }
    return count;
  }

  static bool movesIn(const Loop& loop, const TensorView& sum) {
    bool moves = false;
    const std::set<const Scalar*> index = {loop.index};
    kir::visitStatements(loop.body, [&](const Statement& each) {
      const auto* store = std::get_if<Store>(&each.node);
      moves = moves || (store != nullptr && store->tensor == &sum && kir::mentionsAny(*store->index, index));
    });
    return moves;
  }

  TensorView* partOf(const TensorView& sum, Statements& result) {
    TensorView* part = fusion_.tensor(sum.dtype(), {fusion_.axis({.extent = sizes_.at(&sum)})});
    part->setMemoryType(MemoryType::Local);
    sizes_[part] = sizes_.at(&sum);
    result.push_back(kir::statement(kir::Allocate{part, sizes_.at(&sum)}));
    forEach(sum, result, [&](Scalar* k) { return Statements{none(*part, k)}; });
    return part;
  }

  // Gives each iteration a partial sum.
  Statements sumWithinIterations(const Statements& body, const std::vector<const TensorView*>& sums) {
    Statements result;
    std::map<const TensorView*, const TensorView*> parts;
    for (const TensorView* sum : sums) parts[sum] = partOf(*sum, result);
    const Statements changed = into(body, parts);
    result.insert(result.end(), changed.begin(), changed.end());
    for (const TensorView* sum : sums)
      forEach(*sum, result, [&](Scalar* k) { return Statements{sumOf(*sum, *parts[sum], k)}; });
    return result;
  }

  int64_t mostAdditions(const Loop& loop, const std::vector<const TensorView*>& sums) {
    int64_t additions = 1;
    for (const TensorView* sum : sums) additions = std::max(additions, additionsIn(loop.body, *sum));
    return additions;
  }

  // The numbers of iterations after which the partial sums of each level begin anew, innermost level first.
  std::vector<int64_t> periodsOf(const Loop& loop, const std::vector<const TensorView*>& sums) {
    const int64_t additions = mostAdditions(loop, sums);
    const auto iterations = static_cast<uint64_t>(std::max(kIterations / additions, kFewestIterations));
    const auto first = static_cast<int64_t>(std::bit_floor(iterations));
    std::vector<int64_t> periods = {first};
    // Several elements (vector accumulators) divide the iterations among them; a single one needs more levels.
    const auto isSingle = [&](const TensorView* sum) { return sizes_.at(sum)->isConstantInt(1); };
    const size_t most = std::ranges::all_of(sums, isSingle) ? 3 : 1;
    while (periods.size() < most && periods.back() * kIterations < iterationsOf(loop))
      periods.push_back(periods.back() * kIterations);
    return periods;
  }

  // Adds a level of partial sums for each period.
  void blockSums(Loop loop, const std::vector<const TensorView*>& sums, Statements& result) {
    std::map<const TensorView*, const TensorView*> parts;
    std::map<const TensorView*, const TensorView*> wholes;
    for (const TensorView* sum : sums) wholes[sum] = sum;
    Statements addition;
    Statements last;
    const std::vector<int64_t> periods = periodsOf(loop, sums);
    for (size_t level = periods.size(); level-- > 0;) {
      Statements at_end;
      Statements behind;
      for (const TensorView* sum : sums) {
        const TensorView& whole = *wholes[sum];
        const TensorView* part = partOf(whole, result);
        forEach(whole, at_end, [&](Scalar* k) { return Statements{sumOf(whole, *part, k), none(*part, k)}; });
        forEach(whole, behind, [&](Scalar* k) { return Statements{sumOf(whole, *part, k)}; });
        parts[sum] = wholes[sum] = part;
      }
      Scalar* iteration = fusion_.scalar(ScalarOp::Mod, loop.index, fusion_.constant(periods[level]));
      Scalar* is_last = fusion_.scalar(ScalarOp::Equal, iteration, fusion_.constant(periods[level] - 1));
      // Inner levels are added first.
      at_end.insert(at_end.end(), addition.begin(), addition.end());
      addition = {kir::statement(kir::If{is_last, std::move(at_end)})};
      last.insert(last.begin(), behind.begin(), behind.end());
    }
    loop.body = into(loop.body, parts);
    loop.body.insert(loop.body.end(), addition.begin(), addition.end());
    result.push_back(kir::statement(std::move(loop)));
    result.insert(result.end(), last.begin(), last.end());
  }

  bool isLong(const Loop& loop, const std::vector<const TensorView*>& sums) {
    if (loop.type != ParallelType::Serial || !loop.start->isConstantInt(0)) return false;
    const int64_t iterations = std::min(iterationsOf(loop), kUnknown);
    return iterations > kIterations || iterations * mostAdditions(loop, sums) > kIterations;
  }

  // The buffers that these statements allocate, outside of loops.
  static std::set<const TensorView*> allocatedIn(const Statements& statements) {
    std::set<const TensorView*> allocated;
    for (const StatementRef& each : statements) {
      if (const auto* allocate = std::get_if<kir::Allocate>(&each->node)) allocated.insert(allocate->tensor);
      if (const auto* guard = std::get_if<kir::If>(&each->node)) allocated.merge(allocatedIn(guard->body));
    }
    return allocated;
  }

  // The tensors that the loop only adds to, at the same indices in all iterations. Not those that are allocated outside
  // of the body: other loops may add to them, too.
  std::vector<const TensorView*> sumsOf(const Loop& loop, const std::set<const TensorView*>& allocated) const {
    std::vector<const TensorView*> sums;
    std::map<const TensorView*, int> additions;
    const std::set<const Scalar*> iteration = {loop.index};
    kir::visitStatements(loop.body, [&](const Statement& each) {
      const auto* store = std::get_if<Store>(&each.node);
      if (store == nullptr || !isAddition(*store, iteration)) return;
      if (additions[store->tensor]++ == 0) sums.push_back(store->tensor);
    });
    std::erase_if(sums, [&](const TensorView* sum) {
      const auto size = sizes_.contains(sum) ? sizes_.at(sum)->constantInt() : std::nullopt;
      return !allocated.contains(sum) || !size || *size > kMostSums ||
             mentionsOf(*sum, loop.body) != 2 * additions[sum];
    });
    return sums;
  }

  template <class Make>
  void forEach(const TensorView& sum, Statements& result, const Make& make) {
    if (sizes_.at(&sum)->isConstantInt(1)) {
      for (StatementRef& each : make(fusion_.constant(0))) result.push_back(std::move(each));
      return;
    }
    Scalar* k = fusion_.symbol("k");
    result.push_back(kir::statement(Loop{k, fusion_.constant(0), sizes_.at(&sum), ParallelType::Serial, make(k)}));
  }
  StatementRef none(const TensorView& part, Scalar* k) {
    return kir::statement(Store{&part, k, kir::number(fusion_.constant(0.0, DataType::F64), part.dtype())});
  }
  static StatementRef sumOf(const TensorView& sum, const TensorView& part, Scalar* k) {
    return kir::statement(
        Store{&sum, k, kir::apply(FunctionId::add, sum.dtype(), {kir::load(sum, k), kir::load(part, k)})});
  }

  using Parts = std::map<const TensorView*, const TensorView*>;

  static kir::ValueRef into(const kir::ValueRef& value, const Parts& parts) {
    Value copy = *value;
    if (copy.tensor != nullptr && parts.contains(copy.tensor)) copy.tensor = parts.at(copy.tensor);
    for (kir::ValueRef& operand : copy.operands) operand = into(operand, parts);
    return std::make_shared<const Value>(std::move(copy));
  }

  static Statements into(const Statements& statements, const Parts& parts) {
    Statements result;
    for (const StatementRef& each : statements) {
      if (const auto* loop = std::get_if<Loop>(&each->node)) {
        Loop copy = *loop;
        copy.body = into(loop->body, parts);
        result.push_back(kir::statement(std::move(copy)));
      } else if (const auto* guard = std::get_if<kir::If>(&each->node)) {
        result.push_back(kir::statement(kir::If{guard->predicate, into(guard->body, parts)}));
      } else if (const auto* store = std::get_if<Store>(&each->node);
                 store != nullptr && parts.contains(store->tensor)) {
        result.push_back(kir::statement(Store{parts.at(store->tensor), store->index, into(store->value, parts)}));
      } else {
        result.push_back(each);
      }
    }
    return result;
  }

  Fusion& fusion_;
  IntervalAnalysis analysis_;
  std::map<const TensorView*, Scalar*> sizes_;
};

}  // namespace

kir::Kernel blockedSummation(kir::Kernel kernel) {
  if (kernel.hasThreads()) return kernel;
  kernel.body = SumBlocker(*kernel.fusion).rewrite(kernel.body, nullptr);
  kernel.body = ChainSplitter(kernel).rewrite(kernel.body);
  return kernel;
}

}  // namespace tokamak
