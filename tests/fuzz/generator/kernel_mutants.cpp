#include "generator/kernel_mutants.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>

#include "base/error.h"
#include "kernel/verify_kernel.h"

namespace tokamak::generator {

namespace {

using kir::Allocate;
using kir::Barrier;
using kir::BlockReduce;
using kir::ClusterBarrier;
using kir::Copy;
using kir::CopyGroup;
using kir::GridReduce;
using kir::If;
using kir::Kernel;
using kir::Let;
using kir::Loop;
using kir::Statement;
using kir::statement;
using kir::StatementRef;
using kir::Statements;
using kir::Store;
using kir::Value;
using kir::ValueKind;
using kir::ValueRef;
using Kind = KernelMutantKind;

constexpr std::array<std::string_view, kKernelMutantKinds> kNames = {
    "drop barrier",    "move barrier", "drop guard",   "weaken guard",   "unguard store",
    "drop store",      "shift index",  "wrong stride", "shift stop",     "shift start",
    "shift extent",    "shift number", "drop combine", "drop dimension", "change combine",
    "shrink allocate", "widen copy",   "change cast",  "swap choice",    "wait less"};

// The statements with one of them, told by its address, replaced by others.
Statements replaced(const Statements& statements, const Statement* target, const Statements& by) {
  Statements result;
  for (const StatementRef& each : statements) {
    if (each.get() == target) {
      result.insert(result.end(), by.begin(), by.end());
    } else if (const auto* loop = std::get_if<Loop>(&each->node)) {
      Loop copy = *loop;
      copy.body = replaced(loop->body, target, by);
      result.push_back(statement(std::move(copy)));
    } else if (const auto* grid = std::get_if<GridReduce>(&each->node)) {
      GridReduce copy = *grid;
      copy.body = replaced(grid->body, target, by);
      result.push_back(statement(std::move(copy)));
    } else if (const auto* guard = std::get_if<If>(&each->node)) {
      result.push_back(statement(If{guard->predicate, replaced(guard->body, target, by)}));
    } else {
      result.push_back(each);
    }
  }
  return result;
}

// The scalar with node number `number` (of those that `matches`, in order) replaced; null when there are not so many.
Scalar* withNode(Fusion& fusion, Scalar* scalar, int& number, const std::function<Scalar*(Scalar*)>& change) {
  if (Scalar* changed = change(scalar); changed != nullptr && number-- == 0) return changed;
  std::vector<Scalar*> operands(scalar->operands().begin(), scalar->operands().end());
  for (Scalar*& operand : operands) {
    if (Scalar* changed = withNode(fusion, operand, number, change)) {
      operand = changed;
      return fusion.rawScalar(scalar->op(), scalar->dtype(), operands, scalar->function());
    }
  }
  return nullptr;
}

class Maker {
 public:
  explicit Maker(const Kernel& kernel) : kernel_(kernel), fusion_(*kernel.fusion) {}

  std::vector<KernelMutant> make() {
    dimensions();
    clusterBarriers();
    kir::visitStatements(kernel_.body, [&](const Statement& each) {
      if (const auto* let = std::get_if<Let>(&each.node); let != nullptr && let->index == nullptr)
        named_[let->variable.get()] = let->value;
    });
    body(kernel_.body);
    return std::move(mutants_);
  }

 private:
  void add(Kind kind, const Statement& target, const Statements& by) {
    Kernel mutant = kernel_;
    mutant.body = replaced(kernel_.body, &target, by);
    mutants_.push_back({kind, std::move(mutant)});
  }

  void dimensions() {
    for (size_t i = 0; i < kernel_.dimensions.size(); ++i) {
      for (const int64_t shift : {-1, 1}) {
        Kernel mutant = kernel_;
        mutant.dimensions[i].extent = clampedAtZero(shifted(kernel_.dimensions[i].extent, shift));
        mutants_.push_back({Kind::ShiftExtent, std::move(mutant)});
      }
    }
  }

  Scalar* shifted(Scalar* scalar, int64_t by) { return fusion_.add(scalar, fusion_.constant(by)); }
  Scalar* clampedAtZero(Scalar* scalar) { return fusion_.scalar(ScalarOp::Max, scalar, fusion_.constant(0)); }

  void body(const Statements& statements) {
    for (size_t i = 0; i < statements.size(); ++i) {
      const Statement& each = *statements[i];
      if (std::holds_alternative<Barrier>(each.node)) {
        add(Kind::DropBarrier, each, {});
        if (i > 0) moveBarrier(statements, i);
      }
      // Halves do not change their order.
      const bool is_half = std::holds_alternative<ClusterBarrier>(each.node);
      if (is_half && i > 0 && !std::holds_alternative<ClusterBarrier>(statements[i - 1]->node))
        moveBarrier(statements, i);
      std::visit([&](const auto& node) { of(node, each); }, each.node);
    }
  }

  // Whole barriers of a cluster go: an arrival and the wait that comes next; if that begins the body of a loop, also
  // the arrival at the body's end and the wait behind the loop.
  void clusterBarriers() {
    struct Half {
      const Statement* statement;
      const Statements* body;
      int depth;
    };
    std::vector<Half> halves;
    const auto collect = [&](const auto& self, const Statements& statements, int depth) -> void {
      for (const StatementRef& each : statements) {
        if (std::holds_alternative<ClusterBarrier>(each->node)) halves.push_back({each.get(), &statements, depth});
        if (const auto* loop = std::get_if<Loop>(&each->node)) self(self, loop->body, depth + 1);
        if (const auto* guard = std::get_if<If>(&each->node)) self(self, guard->body, depth + 1);
      }
    };
    collect(collect, kernel_.body, 0);
    for (size_t i = 0; i + 1 < halves.size(); i += 2) {
      const Half& wait = halves[i + 1];
      if (wait.depth < halves[i].depth) continue;
      Kernel mutant = kernel_;
      const auto drop = [&](size_t number) { mutant.body = replaced(mutant.body, halves[number].statement, {}); };
      drop(i);
      drop(i + 1);
      size_t end = i + 1;
      while (end < halves.size() && halves[end].depth >= wait.depth) ++end;
      if (wait.body != halves[i].body && end < halves.size()) {
        drop(end - 1);
        drop(end);
      }
      mutants_.push_back({Kind::DropBarrier, std::move(mutant)});
    }
  }

  void moveBarrier(const Statements& statements, size_t i) {
    Kernel mutant = kernel_;
    const Statements none;
    mutant.body = replaced(replaced(kernel_.body, statements[i].get(), none), statements[i - 1].get(),
                           {statements[i], statements[i - 1]});
    mutants_.push_back({Kind::MoveBarrier, std::move(mutant)});
  }

  void of(const Loop& loop, const Statement& each) {
    const auto with = [&](Kind kind, Scalar* start, Scalar* stop) {
      Loop copy = loop;
      copy.start = start;
      copy.stop = stop;
      add(kind, each, {statement(std::move(copy))});
    };
    with(Kind::ShiftStop, loop.start, shifted(loop.stop, 1));
    with(Kind::ShiftStop, loop.start, shifted(loop.stop, -1));
    with(Kind::ShiftStart, shifted(loop.start, 1), loop.stop);
    body(loop.body);
  }

  void of(const If& guard, const Statement& each) {
    add(Kind::DropGuard, each, guard.body);
    const auto weaker = [&](Scalar* scalar) -> Scalar* {
      if (scalar->op() == ScalarOp::Less)
        return fusion_.scalar(ScalarOp::LessEqual, scalar->operand(0), scalar->operand(1));
      return scalar->op() == ScalarOp::And ? scalar->operand(0) : nullptr;
    };
    forEachNode(guard.predicate, weaker,
                [&](Scalar* predicate) { add(Kind::WeakenGuard, each, {statement(If{predicate, guard.body})}); });
    for (size_t i = 0; i < guard.body.size(); ++i) {
      const auto* store = std::get_if<Store>(&guard.body[i]->node);
      if (store == nullptr) continue;
      Store outside = *store;
      outside.value = expanded(store->value);
      if (outside.value == nullptr) continue;
      const auto at = guard.body.begin() + static_cast<std::ptrdiff_t>(i);
      add(Kind::UnguardStore, each,
          {statement(If{guard.predicate, {guard.body.begin(), at}}), statement(std::move(outside)),
           statement(If{guard.predicate, {at + 1, guard.body.end()}})});
      // Positions that the guard's body names are not known outside.
      if (!kir::violationsOf(mutants_.back().kernel).empty()) mutants_.pop_back();
    }
    body(guard.body);
  }

  // Without names; null where a name stands for a position.
  ValueRef expanded(const ValueRef& value) {
    if (value->kind == ValueKind::Variable) {
      const auto found = named_.find(value->variable.get());
      return found == named_.end() ? nullptr : expanded(found->second);
    }
    Value copy = *value;
    for (ValueRef& operand : copy.operands) {
      operand = expanded(operand);
      if (operand == nullptr) return nullptr;
    }
    return std::make_shared<const Value>(std::move(copy));
  }

  void of(const Allocate& allocate, const Statement& each) {
    Scalar* size = clampedAtZero(shifted(allocate.size, -1));
    add(Kind::ShrinkAllocate, each, {statement(Allocate{allocate.tensor, size})});
  }

  void of(const Let& let, const Statement& each) {
    forEachValue(let.value, [&](Kind kind, ValueRef value) {
      if (kind == Kind::ShiftNumber) return;
      Let copy = let;
      copy.value = std::move(value);
      add(kind, each, {statement(std::move(copy))});
    });
  }

  void of(const Store& store, const Statement& each) {
    add(Kind::DropStore, each, {});
    forEachIndex(store.index, [&](Kind kind, Scalar* index) {
      add(kind, each, {statement(Store{store.tensor, index, store.value, store.block})});
    });
    forEachValue(store.value, [&](Kind kind, ValueRef value) {
      add(kind, each, {statement(Store{store.tensor, store.index, std::move(value), store.block})});
    });
    if (store.block != nullptr)
      add(Kind::ShiftIndex, each, {statement(Store{store.tensor, store.index, store.value, shifted(store.block, 1)})});
  }

  void of(const Copy& copy, const Statement& each) {
    const auto with = [&](Kind kind, Scalar* to, Scalar* from, int64_t count) {
      add(kind, each, {statement(Copy{copy.to, to, copy.from, from, count, copy.is_async})});
    };
    with(Kind::WidenCopy, copy.to_index, copy.from_index, copy.count * 2);
    with(Kind::ShiftIndex, shifted(copy.to_index, copy.count), copy.from_index, copy.count);
    with(Kind::ShiftIndex, copy.to_index, shifted(copy.from_index, copy.count), copy.count);
    with(Kind::ShiftIndex, copy.to_index, shifted(copy.from_index, 1), copy.count);
    add(Kind::DropStore, each, {});
  }

  void of(const CopyGroup& group, const Statement& each) {
    add(Kind::WaitLess, each, {});
    if (group.step == CopyGroup::Step::Wait)
      add(Kind::WaitLess, each, {statement(CopyGroup{group.step, group.pending + 1})});
  }

  void of(const BlockReduce& combine, const Statement& each) {
    add(Kind::DropCombine, each, {});
    BlockReduce shifted_place = combine;
    shifted_place.index = shifted(combine.index, 1);
    add(Kind::ShiftIndex, each, {statement(std::move(shifted_place))});
    for (size_t i = 0; combine.dimensions.size() > 1 && i < combine.dimensions.size(); ++i) {
      BlockReduce fewer = combine;
      fewer.dimensions.erase(fewer.dimensions.begin() + static_cast<std::ptrdiff_t>(i));
      add(Kind::DropDimension, each, {statement(std::move(fewer))});
    }
    BlockReduce other = combine;
    other.kind = combine.kind == ReductionKind::Max ? ReductionKind::Min : ReductionKind::Max;
    add(Kind::ChangeCombine, each, {statement(std::move(other))});
  }

  void of(const GridReduce& grid, const Statement& each) {
    add(Kind::DropCombine, each, grid.body);
    const auto with = [&](Kind kind, const std::function<void(GridReduce&)>& change) {
      GridReduce copy = grid;
      change(copy);
      add(kind, each, {statement(std::move(copy))});
    };
    for (size_t i = 0; i < grid.values.size(); ++i) {
      with(Kind::ShiftIndex, [&](GridReduce& copy) { copy.values[i].index = shifted(copy.values[i].index, 1); });
      with(Kind::ChangeCombine, [&](GridReduce& copy) {
        ReductionKind& kind = copy.values[i].kind;
        kind = kind == ReductionKind::Max ? ReductionKind::Min : ReductionKind::Max;
      });
      if (grid.values.size() > 1)
        with(Kind::DropCombine,
             [&](GridReduce& copy) { copy.values.erase(copy.values.begin() + static_cast<std::ptrdiff_t>(i)); });
      if (!grid.values[i].spread.empty())
        with(Kind::DropDimension, [&](GridReduce& copy) { copy.values[i].spread.pop_back(); });
    }
    body(grid.body);
  }

  void of(const Barrier&, const Statement&) {}
  void of(const ClusterBarrier&, const Statement&) {}

  void forEachNode(Scalar* scalar, const std::function<Scalar*(Scalar*)>& change,
                   const std::function<void(Scalar*)>& take) {
    for (int i = 0;; ++i) {
      int number = i;
      Scalar* changed = withNode(fusion_, scalar, number, change);
      if (changed == nullptr) return;
      take(changed);
    }
  }

  void forEachIndex(Scalar* index, const std::function<void(Kind, Scalar*)>& take) {
    take(Kind::ShiftIndex, shifted(index, 1));
    const auto wider = [&](Scalar* scalar) -> Scalar* {
      if (scalar->op() != ScalarOp::Mul) return nullptr;
      return fusion_.mul(scalar->operand(0), shifted(scalar->operand(1), 1));
    };
    forEachNode(index, wider, [&](Scalar* changed) { take(Kind::WrongStride, changed); });
  }

  void forEachValue(const ValueRef& value, const std::function<void(Kind, ValueRef)>& take) {
    const auto with = [&](Kind kind, const std::function<void(Value&)>& change) {
      Value copy = *value;
      change(copy);
      take(kind, std::make_shared<const Value>(std::move(copy)));
    };
    if (value->kind == ValueKind::Load) {
      forEachIndex(value->scalar, [&](Kind kind, Scalar* index) { with(kind, [&](Value& v) { v.scalar = index; }); });
    }
    if (value->kind == ValueKind::Number && value->scalar->isConstant()) shiftNumber(*value, take);
    if (value->kind == ValueKind::Choose)
      with(Kind::SwapChoice, [](Value& v) { std::swap(v.operands[0], v.operands[1]); });
    if (value->kind == ValueKind::Cast) {
      for (const DataType through : {DataType::I32, DataType::BF16, DataType::Bool}) {
        if (through == value->dtype || through == value->operands[0]->dtype) continue;
        with(Kind::ChangeCast, [&](Value& v) { v.operands[0] = kir::cast(through, v.operands[0]); });
      }
    }
    for (size_t i = 0; i < value->operands.size(); ++i) {
      forEachValue(value->operands[i], [&](Kind kind, ValueRef operand) {
        with(kind, [&](Value& v) { v.operands[i] = std::move(operand); });
      });
    }
  }

  void shiftNumber(const Value& value, const std::function<void(Kind, ValueRef)>& take) {
    ScalarValue other =
        convertValue(int64_t{asDouble(convertValue(value.scalar->value(), DataType::F64)) == 1 ? 0 : 1}, value.dtype);
    take(Kind::ShiftNumber, kir::number(fusion_.constant(other, value.dtype), value.dtype));
  }

  const Kernel& kernel_;
  Fusion& fusion_;
  std::map<const kir::Variable*, ValueRef> named_;
  std::vector<KernelMutant> mutants_;
};

}  // namespace

std::string_view kernelMutantKindName(KernelMutantKind kind) { return kNames[static_cast<size_t>(kind)]; }

std::vector<KernelMutant> mutantsOf(const kir::Kernel& kernel) { return Maker(kernel).make(); }

}  // namespace tokamak::generator
