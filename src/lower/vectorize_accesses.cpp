#include "lower/vectorize_accesses.h"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/substitute.h"
#include "compute/element.h"
#include "kernel/index_assumptions.h"
#include "kernel/kernel_walk.h"
#include "kernel/rewrite.h"
#include "symbolic/interval_analysis.h"
#include "symbolic/scalar_simplifier.h"

namespace tokamak {

namespace {

using kir::Allocate;
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

constexpr int64_t kWidestAccess = 16;

class Vectorizer {
 public:
  explicit Vectorizer(const Kernel& kernel) : fusion_(*kernel.fusion), alignment_(kernel.alignment) {
    kir::assumeIndices(kernel, analysis_);
  }

  Statements rewrite(const Statements& statements) {
    return kir::withLoops(statements, [&](const Loop& loop, Statements& result) {
      if (loop.type == ParallelType::Vectorize) return rewriteVector(loop, result);
      Loop copy = loop;
      copy.body = rewrite(loop.body);
      result.push_back(statement(std::move(copy)));
    });
  }

 private:
  // Accesses to neighbouring elements, `width` at a time, under a condition that is the same for all lanes of each.
  struct WideAccess {
    const TensorView* tensor;
    Scalar* first;
    Scalar* condition;  // null: always
    int64_t width;
    auto operator<=>(const WideAccess&) const = default;
  };

  void rewriteVector(const Loop& loop, Statements& result) {
    loop_ = &loop;
    lanes_ = loop.stop->constantInt().value_or(0);
    loads_.clear();
    before_.clear();
    after_.clear();
    defined_.clear();
    findReadAndWritten(loop.body);
    if (appendCopies(loop.body, result)) return;
    Loop lanes = loop;
    lanes.type = ParallelType::Unroll;
    for (const StatementRef& each : withoutInvariants(lanes.body)) result.push_back(each);
    kir::visitStatements(lanes.body, [&](const Statement& each) {
      if (const auto* inner = std::get_if<Loop>(&each.node)) defined_.insert(inner->index);
      if (const auto* let = std::get_if<Let>(&each.node)) defined_.insert(let->index);
    });
    lanes.body = rewriteBody(lanes.body, nullptr);
    result.insert(result.end(), before_.begin(), before_.end());
    result.push_back(statement(std::move(lanes)));
    result.insert(result.end(), after_.begin(), after_.end());
  }

  // Tensors that are both read and written: a load may read what the same iteration has stored.
  void findReadAndWritten(const Statements& body) {
    std::set<const TensorView*> stored;
    read_and_written_.clear();
    kir::visitStatements(body, [&](const Statement& each) {
      if (const auto* store = std::get_if<Store>(&each.node)) stored.insert(store->tensor);
    });
    kir::visitStatements(body, [&](const Statement& each) {
      for (const Value* value : kir::valuesOf(each)) {
        if (value->kind == ValueKind::Load && stored.contains(value->tensor)) read_and_written_.insert(value->tensor);
      }
    });
  }

  // A body that only copies elements becomes wide copies without lanes: compilers keep narrow elements packed then. A
  // copy to shared memory may become asynchronous (async-copies).
  bool appendCopies(const Statements& body, Statements& result) {
    Copies copies;
    Statements statements;
    if (!appendCopies(body, copies, statements)) return false;
    // (With a tensor on both sides the order of lanes would matter.)
    if (std::ranges::any_of(copies.from, [&](const TensorView* tensor) { return copies.to.contains(tensor); }))
      return false;
    result.insert(result.end(), statements.begin(), statements.end());
    return !copies.to.empty();
  }

  struct Copies {
    std::map<const kir::Variable*, const Value*> loaded;
    std::set<const TensorView*> from;
    std::set<const TensorView*> to;
  };

  bool appendCopies(const Statements& body, Copies& copies, Statements& result) {
    for (const StatementRef& each : body) {
      if (const auto* guard = std::get_if<If>(&each->node)) {
        Statements inside;
        if (mentions(*guard->predicate, *loop_->index) || !appendCopies(guard->body, copies, inside)) return false;
        result.push_back(statement(If{guard->predicate, std::move(inside)}));
        continue;
      }
      if (const auto* let = std::get_if<Let>(&each->node)) {
        if (let->index != nullptr || let->value->kind != ValueKind::Load) return false;
        copies.loaded[let->variable.get()] = let->value.get();
        continue;
      }
      const auto* store = std::get_if<Store>(&each->node);
      if (store == nullptr || store->block != nullptr || kir::isGlobal(*store->tensor)) return false;
      const Value* value = store->value.get();
      if (value->kind == ValueKind::Variable) {
        const auto found = copies.loaded.find(value->variable.get());
        if (found == copies.loaded.end()) return false;
        value = found->second;
      }
      if (value->kind != ValueKind::Load || value->tensor->dtype() != store->tensor->dtype() ||
          !appendMove(*store, *value, result))
        return false;
      copies.from.insert(value->tensor);
      copies.to.insert(store->tensor);
    }
    return true;
  }

  bool appendMove(const Store& store, const Value& from, Statements& copies) {
    Scalar* to_first = firstOf(*store.index);
    Scalar* from_first = firstOf(*from.scalar);
    const int64_t width = std::min(widthOf(*store.tensor), widthOf(*from.tensor));
    if (width < 2 || to_first == nullptr || from_first == nullptr) return false;
    if (!analysis_.of(*to_first).isDivisibleBy(width) || !analysis_.of(*from_first).isDivisibleBy(width)) return false;
    const bool is_uniform = store.tensor->memoryType() == MemoryType::Shared;
    if (is_uniform && !kir::isFill(fusion_, *store.tensor, *from.tensor)) return false;
    for (int64_t k = 0; k < lanes_; k += width) {
      const auto access = [&](Scalar* first) {
        return simplifyRemainders(fusion_.add(first, fusion_.constant(k)), analysis_);
      };
      copies.push_back(statement(kir::Copy{store.tensor, access(to_first), from.tensor, access(from_first), width}));
    }
    return true;
  }

  // The index of the first lane, if the lanes' indices are consecutive.
  Scalar* firstOf(Scalar& index) {
    Scalar* first = at(index, fusion_.constant(0));
    Scalar* step = simplifyRemainders(fusion_.sub(&index, fusion_.add(first, loop_->index)), analysis_);
    return step->isConstantInt(0) ? first : nullptr;
  }

  // Removes the invariant Lets from the body, and returns them.
  Statements withoutInvariants(Statements& body) {
    std::set<const TensorView*> stored;
    std::set<const kir::Variable*> varying;
    std::set<const Scalar*> indices = {loop_->index};
    kir::visitStatements(body, [&](const Statement& each) {
      if (const auto* store = std::get_if<Store>(&each.node)) stored.insert(store->tensor);
      if (const auto* inner = std::get_if<Loop>(&each.node)) indices.insert(inner->index);
    });
    Statements invariant;
    Statements rest;
    for (const StatementRef& each : body) {
      const auto* let = std::get_if<Let>(&each->node);
      bool varies = let == nullptr;
      if (let != nullptr) {
        kir::visitValues(*let->value, [&](const Value& value) {
          varies |= value.kind == ValueKind::Load && stored.contains(value.tensor);
          varies |= value.kind == ValueKind::Variable && varying.contains(value.variable.get());
          varies |= value.scalar != nullptr &&
                    std::ranges::any_of(indices, [&](const Scalar* index) { return mentions(*value.scalar, *index); });
        });
      }
      if (!varies) {
        invariant.push_back(each);
        continue;
      }
      rest.push_back(each);
      if (let == nullptr) continue;
      varying.insert(let->variable.get());
      if (let->index != nullptr) indices.insert(let->index);
    }
    body = std::move(rest);
    return invariant;
  }

  Statements rewriteBody(const Statements& statements, Scalar* condition) {
    Statements result;
    for (const StatementRef& each : statements) {
      if (const auto* let = std::get_if<Let>(&each->node)) {
        Let copy = *let;
        copy.value = rewriteValue(let->value, condition);
        result.push_back(statement(std::move(copy)));
      } else if (const auto* store = std::get_if<Store>(&each->node)) {
        result.push_back(rewriteStore(*store, condition));
      } else if (const auto* guard = std::get_if<If>(&each->node)) {
        result.push_back(statement(If{guard->predicate, rewriteBody(guard->body, both(condition, guard->predicate))}));
      } else if (const auto* inner = std::get_if<Loop>(&each->node)) {
        Loop copy = *inner;
        copy.body = rewriteBody(inner->body, condition);
        result.push_back(statement(std::move(copy)));
      } else {
        result.push_back(each);
      }
    }
    return result;
  }

  ValueRef rewriteValue(const ValueRef& value, Scalar* condition) {
    if (value->kind == ValueKind::Load) {
      const auto access = wideAccessOf(*value->tensor, *value->scalar, condition);
      return access ? kir::load(loaded(*access), loop_->index) : value;
    }
    Value copy = *value;
    if (value->kind == ValueKind::Choose) {
      Scalar* opposite = fusion_.scalar(ScalarOp::Not, value->scalar);
      copy.operands[0] = rewriteValue(value->operands[0], both(condition, value->scalar));
      copy.operands[1] = rewriteValue(value->operands[1], both(condition, opposite));
    } else {
      for (ValueRef& operand : copy.operands) operand = rewriteValue(operand, condition);
    }
    return copy.operands == value->operands ? value : std::make_shared<const Value>(std::move(copy));
  }

  StatementRef rewriteStore(const Store& store, Scalar* condition) {
    Store copy = store;
    copy.value = rewriteValue(store.value, condition);
    if (const auto access = wideAccessOf(*store.tensor, *store.index, condition)) {
      const TensorView& buffer = makeBuffer(*access);
      for (StatementRef& move : copies(*access, buffer, /*is_load=*/false)) after_.push_back(std::move(move));
      copy.tensor = &buffer;
      copy.index = loop_->index;
    }
    return statement(std::move(copy));
  }

  // The widest legal access, if there is one of several lanes.
  std::optional<WideAccess> wideAccessOf(const TensorView& tensor, Scalar& index, Scalar* condition) {
    if (lanes_ < 2 || tensor.memoryType() == MemoryType::Local || read_and_written_.contains(&tensor))
      return std::nullopt;
    Scalar* first = firstOf(index);
    if (first == nullptr || mentionsInside(*first)) return std::nullopt;
    if (condition != nullptr) condition = simplifyRemainders(condition, analysis_);
    if (condition != nullptr && mentionsInside(*condition)) return std::nullopt;
    for (int64_t width = widthOf(tensor); width > 1; width /= 2) {
      const bool is_uniform = condition == nullptr || isUniform(width, *condition);
      if (is_uniform && analysis_.of(*first).isDivisibleBy(width)) return WideAccess{&tensor, first, condition, width};
    }
    return std::nullopt;
  }

  // Whether the condition is the same for all lanes of each access of `width` lanes. For lane k a comparison is e + k
  // >= 0 or e - k >= 0. With k = width j + r, 0 <= r < width, r has no effect if e (in the second case: e + 1) is a
  // multiple of width.
  bool isUniform(int64_t width, Scalar& condition) {
    if (!mentions(condition, *loop_->index)) return true;
    const ScalarOp op = condition.op();
    if (op == ScalarOp::And || op == ScalarOp::Or || op == ScalarOp::Not) {
      return std::ranges::all_of(condition.operands(), [&](Scalar* part) { return isUniform(width, *part); });
    }
    if (op != ScalarOp::Less && op != ScalarOp::LessEqual) return false;
    Scalar* distance = fusion_.sub(condition.operands()[1], condition.operands()[0]);
    Scalar* first = at(*distance, fusion_.constant(0));
    const auto isAt = [&](Scalar* line) {
      return simplifyRemainders(fusion_.sub(distance, line), analysis_)->isConstantInt(0);
    };
    const bool rises = isAt(fusion_.add(first, loop_->index));
    if (!rises && !isAt(fusion_.sub(first, loop_->index))) return false;
    // e or e + 1, which has to be a multiple.
    const int64_t more = (rises ? 0 : 1) - (op == ScalarOp::Less ? 1 : 0);
    Scalar* multiple = simplifyRemainders(fusion_.add(first, fusion_.constant(more)), analysis_);
    return analysis_.of(*multiple).isDivisibleBy(width);
  }

  // The largest number of elements of one access.
  int64_t widthOf(const TensorView& tensor) const {
    const int64_t size = sizeOf(tensor.dtype());
    int64_t bytes = kWidestAccess;
    if (kir::isGlobal(tensor)) bytes = std::min(bytes, alignment_);
    int64_t width = std::max<int64_t>(1, bytes / size);
    while (lanes_ % width != 0) width /= 2;
    return width;
  }

  bool mentionsInside(const Scalar& scalar) const {
    return std::ranges::any_of(defined_,
                               [&](const Scalar* symbol) { return symbol != nullptr && mentions(scalar, *symbol); });
  }

  const TensorView& loaded(const WideAccess& access) {
    const auto [found, is_new] = loads_.try_emplace(access, nullptr);
    if (is_new) {
      found->second = &makeBuffer(access);
      for (StatementRef& move : copies(access, *found->second, /*is_load=*/true)) before_.push_back(std::move(move));
    }
    return *found->second;
  }

  const TensorView& makeBuffer(const WideAccess& access) {
    TensorView* buffer = fusion_.tensor(access.tensor->dtype(), {fusion_.axis({.extent = fusion_.constant(lanes_)})});
    buffer->setMemoryType(MemoryType::Local);
    before_.push_back(statement(Allocate{buffer, fusion_.constant(lanes_)}));
    return *buffer;
  }

  Statements copies(const WideAccess& access, const TensorView& buffer, bool is_load) {
    const bool has_own_conditions = access.condition != nullptr && mentions(*access.condition, *loop_->index);
    Statements copies;
    for (int64_t k = 0; k < lanes_; k += access.width) {
      Scalar* far = simplifyRemainders(fusion_.add(access.first, fusion_.constant(k)), analysis_);
      Scalar* near = fusion_.constant(k);
      Statements move = {statement(is_load ? kir::Copy{&buffer, near, access.tensor, far, access.width}
                                           : kir::Copy{access.tensor, far, &buffer, near, access.width})};
      if (has_own_conditions) move = under(at(*access.condition, near), std::move(move));
      copies.insert(copies.end(), move.begin(), move.end());
    }
    return has_own_conditions ? copies : under(access.condition, std::move(copies));
  }

  static Statements under(Scalar* condition, Statements statements) {
    if (condition == nullptr) return statements;
    if (condition->isConstant()) return asInt(condition->value()) != 0 ? statements : Statements{};
    return {statement(If{condition, std::move(statements)})};
  }

  Scalar* both(Scalar* a, Scalar* b) { return a == nullptr ? b : fusion_.scalar(ScalarOp::And, a, b); }

  Scalar* at(Scalar& scalar, Scalar* lane) {
    Substitution substitution(fusion_);
    substitution.set(*loop_->index, lane);
    return simplifyRemainders(substitution(&scalar), analysis_);
  }

  Fusion& fusion_;
  int64_t alignment_;
  IntervalAnalysis analysis_;
  const Loop* loop_ = nullptr;
  int64_t lanes_ = 0;
  std::map<WideAccess, const TensorView*> loads_;
  Statements before_;
  Statements after_;
  std::set<const Scalar*> defined_;  // indices that are defined in the loop
  std::set<const TensorView*> read_and_written_;
};

}  // namespace

Kernel vectorizeAccesses(Kernel kernel) {
  kernel.body = Vectorizer(kernel).rewrite(kernel.body);
  // Variables that left a loop may have the names of later ones.
  kernel.body = kir::withDistinctNames(kernel);
  return kernel;
}

}  // namespace tokamak
