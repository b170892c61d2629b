#include "lower/async_copies.h"

#include <algorithm>
#include <set>

#include "kernel/kernel_walk.h"
#include "kernel/rewrite.h"

namespace tokamak {

namespace {

using kir::Copy;
using kir::CopyGroup;
using kir::statement;
using kir::Statement;
using kir::StatementRef;
using kir::Statements;
using Tensors = std::set<const TensorView*>;

bool isAsync(const Statement& each) {
  const auto* copy = std::get_if<Copy>(&each.node);
  return copy != nullptr && copy->is_async;
}

bool isTogether(const Statement& each) {
  return std::holds_alternative<kir::Barrier>(each.node) || std::holds_alternative<kir::ClusterBarrier>(each.node) ||
         std::holds_alternative<kir::GridReduce>(each.node);
}

// Whether circular-buffers has made the groups and waits for the copies to this buffer.
bool isGrouped(const TensorView& tensor) { return tensor.circularBuffer().has_value(); }

// Whether the statement has a barrier or a copy group, or touches the tensors otherwise than by copying to them.
bool needs(const StatementRef& each, const Tensors& tensors) {
  bool found = false;
  kir::visitStatements({each}, [&](const Statement& inside) {
    found |= isTogether(inside) || std::holds_alternative<CopyGroup>(inside.node);
    found |= isAsync(inside) && isGrouped(*std::get<Copy>(inside.node).to);
    for (const TensorView* tensor : kir::tensorsOf(inside)) found |= !isAsync(inside) && tensors.contains(tensor);
  });
  return found;
}

void appendWait(Statements& statements) {
  statements.push_back(statement(CopyGroup{CopyGroup::Step::Commit, 0}));
  statements.push_back(statement(CopyGroup{CopyGroup::Step::Wait, 0}));
}

// `open`: the destinations of copies in no group, before the statements and, on return, after them.
Statements rewrite(const Statements& statements, Tensors& open) {
  Statements result;
  const auto wait = [&] {
    appendWait(result);
    open.clear();
  };
  for (const StatementRef& each : statements) {
    if (!open.empty() && needs(each, open)) wait();
    if (isAsync(*each) && !isGrouped(*std::get<Copy>(each->node).to)) open.insert(std::get<Copy>(each->node).to);
    if (const auto* loop = std::get_if<kir::Loop>(&each->node)) {
      kir::Loop copy = *loop;
      Tensors inside;
      copy.body = rewrite(loop->body, inside);
      // The next iteration may read them.
      if (!inside.empty() && std::ranges::any_of(copy.body, [&](const auto& part) { return needs(part, inside); })) {
        appendWait(copy.body);
        inside.clear();
      }
      open.insert(inside.begin(), inside.end());
      result.push_back(statement(std::move(copy)));
    } else if (const auto* guard = std::get_if<kir::If>(&each->node)) {
      // A wait under a guard is no wait for threads that skip it.
      Tensors inside;
      result.push_back(statement(kir::If{guard->predicate, rewrite(guard->body, inside)}));
      open.insert(inside.begin(), inside.end());
    } else if (const auto* grid = std::get_if<kir::GridReduce>(&each->node)) {
      kir::GridReduce copy = *grid;
      copy.body = rewrite(grid->body, open);
      result.push_back(statement(std::move(copy)));
    } else {
      result.push_back(each);
    }
  }
  // Buffers live until the end of the body that allocates them.
  if (!open.empty() && std::ranges::any_of(statements, [&](const StatementRef& each) {
        const auto* allocate = std::get_if<kir::Allocate>(&each->node);
        return allocate != nullptr && open.contains(allocate->tensor);
      }))
    wait();
  return result;
}

// A Store that fills a circular buffer with an element of an input, as a Copy; null: it does something else.
StatementRef asCopy(const Statement& each) {
  const auto* store = std::get_if<kir::Store>(&each.node);
  if (store == nullptr || store->block != nullptr || !isGrouped(*store->tensor)) return nullptr;
  const kir::Value& value = *store->value;
  if (value.kind != kir::ValueKind::Load || value.dtype != store->tensor->dtype()) return nullptr;
  return statement(Copy{store->tensor, store->index, value.tensor, value.scalar, 1});
}

Statements withAsyncCopies(const kir::Kernel& kernel) {
  return kir::withLeaves(kernel.body, [&](const StatementRef& each) {
    const StatementRef stored = asCopy(*each);
    const auto* copy = std::get_if<Copy>(stored == nullptr ? &each->node : &stored->node);
    if (copy == nullptr || !kir::isFill(*kernel.fusion, *copy->to, *copy->from)) return each;
    const int64_t bytes = copy->count * sizeOf(copy->to->dtype());
    if (bytes < kir::kLeastAsyncBytes || bytes > kernel.alignment) return each;
    Copy asynchronous = *copy;
    asynchronous.is_async = true;
    return statement(asynchronous);
  });
}

Statements withoutGroups(const Statements& statements) {
  return kir::withLeaves(statements, [](const StatementRef& each) {
    return std::holds_alternative<CopyGroup>(each->node) ? nullptr : each;
  });
}

}  // namespace

kir::Kernel asyncCopies(kir::Kernel kernel) {
  if (kernel.hasThreads()) kernel.body = withAsyncCopies(kernel);
  bool has_copies = false;
  kir::visitStatements(kernel.body, [&](const Statement& each) { has_copies |= isAsync(each); });
  Tensors open;
  kernel.body = has_copies ? rewrite(kernel.body, open) : withoutGroups(kernel.body);
  return kernel;
}

}  // namespace tokamak
