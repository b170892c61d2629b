#include "lower/insert_barriers.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/require.h"
#include "lower/thread_private_memory.h"

namespace tokamak {

namespace {

using kir::Barrier;
using kir::Copy;
using kir::Kernel;
using kir::Let;
using kir::Loop;
using kir::Statement;
using kir::statement;
using kir::StatementRef;
using kir::Statements;
using kir::Store;

using Tensors = std::set<const TensorView*>;

// The shared tensors that were accessed since the last barrier.
struct Accesses {
  Tensors read;
  Tensors written;
  Tensors allocated;

  // A tensor whose accesses need a barrier in between, or null. Two stores need none, as one thread writes an element;
  // a new allocation does, as other threads used the memory.
  const TensorView* conflictWith(const Accesses& later) const {
    const std::pair<const Tensors*, const Tensors*> pairs[] = {
        {&written, &later.read}, {&read, &later.written}, {&read, &later.allocated}, {&written, &later.allocated}};
    for (const auto& [before, after] : pairs) {
      const auto found =
          std::ranges::find_if(*before, [&](const TensorView* tensor) { return after->contains(tensor); });
      if (found != before->end()) return *found;
    }
    return nullptr;
  }
  void add(const Accesses& more) {
    read.insert(more.read.begin(), more.read.end());
    written.insert(more.written.begin(), more.written.end());
    allocated.insert(more.allocated.begin(), more.allocated.end());
  }
  bool isEmpty() const { return read.empty() && written.empty() && allocated.empty(); }
  auto operator<=>(const Accesses&) const = default;
};

class BarrierInserter {
 public:
  explicit BarrierInserter(const Kernel& kernel) : own_(threadPrivateTensors(kernel)) {}

  // `open`: the accesses since the last barrier, before the statements and, on return, after them.
  Statements rewrite(const Statements& statements, Accesses& open) {
    Statements result;
    for (const StatementRef& each : statements) {
      if (const auto* loop = std::get_if<Loop>(&each->node)) {
        const Accesses& inside = accessesInside(*loop);
        if (inside.isEmpty()) {
          result.push_back(each);
          continue;
        }
        if (open.conflictWith(inside) != nullptr) {
          result.push_back(statement(Barrier{}));
          open = {};
        }
        open.add(rewriteBody(*loop, open).open);
        Loop copy = *loop;
        const Rewritten& body = rewriteBody(*loop, open);
        copy.body = body.statements;
        open = body.open;
        result.push_back(statement(std::move(copy)));
        continue;
      }
      if (const auto* grid = std::get_if<kir::GridReduce>(&each->node)) {
        // (A grid reduction has a barrier before its body.)
        open = {};
        kir::GridReduce copy = *grid;
        copy.body = rewrite(grid->body, open);
        result.push_back(statement(std::move(copy)));
        continue;
      }
      Accesses here;
      kir::visitStatements({each}, [&](const Statement& inside) {
        const Accesses more = accessesOf(inside);
        const TensorView* conflict = here.conflictWith(more);
        TK_REQUIRE(conflict == nullptr, Schedule,
                   "{} goes through shared memory inside of a guard that some threads do not pass; give the tensors "
                   "loops that divide",
                   nameOf(*conflict));
        here.add(more);
      });
      if (open.conflictWith(here) != nullptr) {
        result.push_back(statement(Barrier{}));
        open = {};
      }
      open.add(here);
      result.push_back(each);
    }
    return result;
  }

 private:
  struct Rewritten {
    Statements statements;
    Accesses open;
  };

  // Of all statements in the loop.
  const Accesses& accessesInside(const Loop& loop) {
    const auto [known, is_new] = inside_.try_emplace(&loop);
    if (is_new) kir::visitStatements(loop.body, [&](const Statement& part) { known->second.add(accessesOf(part)); });
    return known->second;
  }

  // The rewritten body after the accesses `open`. It is memoised: each loop asks twice, nested ones 2^depth times.
  const Rewritten& rewriteBody(const Loop& loop, const Accesses& open) {
    const auto known = rewritten_.find({&loop, open});
    if (known != rewritten_.end()) return known->second;
    Rewritten body{.statements = {}, .open = open};
    body.statements = rewrite(loop.body, body.open);
    return rewritten_.emplace(std::pair(&loop, open), std::move(body)).first->second;
  }

  // Whether threads exchange values through the tensor.
  bool isExchanged(const TensorView& tensor) const {
    return tensor.memoryType() == MemoryType::Shared && !own_.contains(&tensor);
  }

  void addReads(const kir::Value& value, Accesses& accesses) const {
    kir::visitValues(value, [&](const kir::Value& each) {
      if (each.kind == kir::ValueKind::Load && isExchanged(*each.tensor)) accesses.read.insert(each.tensor);
    });
  }

  // Of one statement, without those inside of it.
  Accesses accessesOf(const Statement& each) const {
    Accesses accesses;
    const auto write = [&](const TensorView& tensor) {
      if (isExchanged(tensor)) accesses.written.insert(&tensor);
    };
    if (const auto* allocate = std::get_if<kir::Allocate>(&each.node);
        allocate != nullptr && isExchanged(*allocate->tensor))
      accesses.allocated.insert(allocate->tensor);
    if (const auto* let = std::get_if<Let>(&each.node)) addReads(*let->value, accesses);
    if (const auto* store = std::get_if<Store>(&each.node)) {
      addReads(*store->value, accesses);
      write(*store->tensor);
    }
    if (const auto* copy = std::get_if<Copy>(&each.node)) {
      if (isExchanged(*copy->from)) accesses.read.insert(copy->from);
      write(*copy->to);
    }
    return accesses;
  }

  const Tensors own_;
  std::map<const Loop*, Accesses> inside_;
  std::map<std::pair<const Loop*, Accesses>, Rewritten> rewritten_;
};

}  // namespace

Kernel insertBarriers(Kernel kernel) {
  Accesses open;
  kernel.body = BarrierInserter(kernel).rewrite(kernel.body, open);
  return kernel;
}

}  // namespace tokamak
