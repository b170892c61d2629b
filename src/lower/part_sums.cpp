#include "lower/part_sums.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "kernel/kernel_walk.h"
#include "kernel/rewrite.h"

namespace tokamak {

namespace {

using kir::Loop;
using kir::Statement;
using kir::StatementRef;
using kir::Statements;
using kir::Store;
using kir::Value;
using kir::ValueKind;

constexpr int64_t kLongestRow = 64;
constexpr int64_t kParts = 8;

// Whether the store adds something to the f32 that it writes, at a place without the `indices`.
bool isAddition(const Store& store, const std::set<const Scalar*>& indices) {
  const Value& value = *store.value;
  if (store.tensor->dtype() != DataType::F32 || store.tensor->memoryType() != MemoryType::Local) return false;
  if (value.kind != ValueKind::Apply || value.function != FunctionId::add) return false;
  const Value& before = *value.operands[0];
  return before.kind == ValueKind::Load && before.tensor == store.tensor && before.scalar == store.index &&
         !kir::mentionsAny(*store.index, indices);
}

// How often the statements mention a buffer.
int mentionsOf(const TensorView& tensor, const Statements& statements) {
  int count = 0;
  kir::visitStatements(statements, [&](const Statement& each) {
    const auto* made = std::get_if<kir::Allocate>(&each.node);
    count += made != nullptr && made->tensor == &tensor ? 1 : 0;
    count += static_cast<int>(std::ranges::count(kir::tensorsOf(each), &tensor));
  });
  return count;
}

class SumParter {
 public:
  explicit SumParter(Fusion& fusion) : fusion_(fusion) {}

  // `around`: the body of the loop that the statements are in, or null.
  Statements rewrite(const Statements& statements, const Statements* around) {
    return kir::withLoops(statements, [&](const Loop& loop, Statements& result) {
      Loop copy = loop;
      if (around == nullptr || !isShortRow(loop)) {
        copy.body = rewrite(loop.body, &loop.body);
        result.push_back(kir::statement(std::move(copy)));
        return;
      }
      addByParts(std::move(copy), *around, result);
    });
  }

 private:
  static bool isShortRow(const Loop& loop) {
    const auto stop = loop.stop->constantInt();
    return loop.type == ParallelType::Serial && loop.start->isConstantInt(0) && stop && *stop > kParts &&
           *stop <= kLongestRow && std::ranges::all_of(loop.body, [](const StatementRef& each) {
             return std::holds_alternative<Store>(each->node) || std::holds_alternative<kir::Let>(each->node);
           });
  }

  void addByParts(Loop loop, const Statements& around, Statements& result) {
    std::set<const Scalar*> indices = kir::indicesIn(loop.body);
    indices.insert(loop.index);
    Statements after;
    for (StatementRef& each : loop.body) {
      const auto* store = std::get_if<Store>(&each->node);
      // Read once and written once in the loop around: its parts are nobody's business, and it is not a part itself.
      if (store == nullptr || !isAddition(*store, indices) || mentionsOf(*store->tensor, around) != 2) continue;
      Scalar* count = fusion_.constant(kParts);
      TensorView* parts = fusion_.tensor(DataType::F32, {fusion_.axis({.extent = count})});
      parts->setMemoryType(MemoryType::Local);
      result.push_back(kir::statement(kir::Allocate{parts, count}));
      const kir::ValueRef none = kir::number(fusion_.constant(0.0, DataType::F64), DataType::F32);
      result.push_back(forEachPart(0, [&](Scalar* part) { return Store{parts, part, none}; }));
      Scalar* first = fusion_.constant(0);
      after.push_back(forEachPart(1, [&](Scalar* part) { return addition(*parts, first, kir::load(*parts, part)); }));
      after.push_back(kir::statement(addition(*store->tensor, store->index, kir::load(*parts, first))));
      each =
          kir::statement(addition(*parts, fusion_.scalar(ScalarOp::Mod, loop.index, count), store->value->operands[1]));
    }
    result.push_back(kir::statement(std::move(loop)));
    result.insert(result.end(), after.begin(), after.end());
  }

  static Store addition(const TensorView& tensor, Scalar* index, kir::ValueRef more) {
    return {&tensor, index, kir::apply(FunctionId::add, DataType::F32, {kir::load(tensor, index), std::move(more)})};
  }

  template <class Make>
  StatementRef forEachPart(int64_t start, const Make& make) {
    Scalar* part = fusion_.symbol("k");
    return kir::statement(Loop{
        part, fusion_.constant(start), fusion_.constant(kParts), ParallelType::Serial, {kir::statement(make(part))}});
  }

  Fusion& fusion_;
};

// Cuts the chains of additions of long loops.
class ChainCutter {
 public:
  explicit ChainCutter(const kir::Kernel& kernel) : fusion_(*kernel.fusion) {
    kir::visitStatements(kernel.body, [&](const Statement& each) {
      if (const auto* made = std::get_if<kir::Allocate>(&each.node)) sizes_[made->tensor] = made->size;
    });
  }

  Statements rewrite(const Statements& statements) {
    const std::set<const TensorView*> made = madeIn(statements);
    return kir::withLoops(statements, [&](const Loop& loop, Statements& result) {
      Loop copy = loop;
      const std::vector<const TensorView*> sums = isLong(loop) ? sumsOf(loop, made) : std::vector<const TensorView*>{};
      if (sums.empty()) {
        copy.body = rewrite(loop.body);
        result.push_back(kir::statement(std::move(copy)));
        return;
      }
      std::map<const TensorView*, const TensorView*> parts;
      for (const TensorView* sum : sums) {
        TensorView* part = fusion_.tensor(DataType::F32, {fusion_.axis({.extent = sizes_.at(sum)})});
        part->setMemoryType(MemoryType::Local);
        parts[sum] = part;
        result.push_back(kir::statement(kir::Allocate{part, sizes_.at(sum)}));
        result.push_back(forEach(*sum, [&](Scalar* k) { return Statements{none(*part, k)}; }));
      }
      copy.body = into(copy.body, parts);
      Statements addition;
      Statements last;
      for (const TensorView* sum : sums) {
        const TensorView& part = *parts[sum];
        addition.push_back(forEach(*sum, [&](Scalar* k) { return Statements{sumOf(*sum, part, k), none(part, k)}; }));
        last.push_back(forEach(*sum, [&](Scalar* k) { return Statements{sumOf(*sum, part, k)}; }));
      }
      Scalar* turn = fusion_.scalar(ScalarOp::Mod, loop.index, fusion_.constant(kTurns));
      Scalar* is_last = fusion_.scalar(ScalarOp::Equal, turn, fusion_.constant(kTurns - 1));
      copy.body.push_back(kir::statement(kir::If{is_last, std::move(addition)}));
      result.push_back(kir::statement(std::move(copy)));
      result.insert(result.end(), last.begin(), last.end());
    });
  }

 private:
  static constexpr int64_t kTurns = 64;
  static constexpr int64_t kMostSums = 1024;

  static bool isLong(const Loop& loop) {
    const auto stop = loop.stop->constantInt();
    return loop.type == ParallelType::Serial && loop.start->isConstantInt(0) && (!stop || *stop > kTurns);
  }

  // The buffers of these statements, without those of loops among them.
  static std::set<const TensorView*> madeIn(const Statements& statements) {
    std::set<const TensorView*> made;
    for (const StatementRef& each : statements) {
      if (const auto* allocate = std::get_if<kir::Allocate>(&each->node)) made.insert(allocate->tensor);
      if (const auto* guard = std::get_if<kir::If>(&each->node)) made.merge(madeIn(guard->body));
    }
    return made;
  }

  // What the loop only adds to, at the same places in all turns; in the order of the additions. Not what other loops around it have a part of: the
  // other parts may not be there yet.
  std::vector<const TensorView*> sumsOf(const Loop& loop, const std::set<const TensorView*>& made) const {
    std::vector<const TensorView*> sums;
    std::map<const TensorView*, int> additions;
    const std::set<const Scalar*> turn = {loop.index};
    kir::visitStatements(loop.body, [&](const Statement& each) {
      const auto* store = std::get_if<Store>(&each.node);
      if (store == nullptr || !isAddition(*store, turn)) return;
      if (additions[store->tensor]++ == 0) sums.push_back(store->tensor);
    });
    std::erase_if(sums, [&](const TensorView* sum) {
      const auto size = sizes_.contains(sum) ? sizes_.at(sum)->constantInt() : std::nullopt;
      return !made.contains(sum) || !size || *size > kMostSums || mentionsOf(*sum, loop.body) != 2 * additions[sum];
    });
    return sums;
  }

  template <class Make>
  StatementRef forEach(const TensorView& sum, const Make& make) {
    Scalar* k = fusion_.symbol("k");
    return kir::statement(Loop{k, fusion_.constant(0), sizes_.at(&sum), ParallelType::Serial, make(k)});
  }
  StatementRef none(const TensorView& part, Scalar* k) {
    return kir::statement(Store{&part, k, kir::number(fusion_.constant(0.0, DataType::F64), DataType::F32)});
  }
  static StatementRef sumOf(const TensorView& sum, const TensorView& part, Scalar* k) {
    return kir::statement(
        Store{&sum, k, kir::apply(FunctionId::add, DataType::F32, {kir::load(sum, k), kir::load(part, k)})});
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
  std::map<const TensorView*, Scalar*> sizes_;
};

}  // namespace

kir::Kernel partSums(kir::Kernel kernel) {
  if (kernel.hasThreads()) return kernel;
  kernel.body = SumParter(*kernel.fusion).rewrite(kernel.body, nullptr);
  kernel.body = ChainCutter(kernel).rewrite(kernel.body);
  return kernel;
}

}  // namespace tokamak
