#include "host/lower/place_waits.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "host/lower/buffer_roots.h"
#include "ir/ops/host/communication.h"
#include "ir/ops/host/deallocate.h"
#include "ir/ops/host/for_loop.h"
#include "ir/ops/host/get_current_stream.h"
#include "ir/ops/host/hir_alias_select.h"
#include "ir/ops/host/hir_alias_slice.h"
#include "ir/ops/host/set_current_stream.h"
#include "ir/ops/host/synchronize.h"
#include "ir/ops/host/wait.h"
#include "ir/ops/math/load_store_op.h"

namespace tokamak {

namespace {

using Roots = std::set<const TensorView*>;

struct RootUses {
  Roots read;
  Roots written;
};

class WaitPlacer {
 public:
  explicit WaitPlacer(HostIrContainer& program) : program_(program), roots_(program) {
    forEachStatement(program.topLevel(), [&](const Expr& expr) {
      if (const auto* wait = expr.as<Wait>()) awaited_.insert(wait->communication);
    });
  }

  Block run() { return withWaits(program_.topLevel()); }

 private:
  // What a block posts it waits for.
  Block withWaits(const Block& block) {
    Block result;
    const std::vector<const Expr*> posted_before = std::exchange(posted_, {});
    for (size_t i = 0; i < block.exprs.size(); ++i) {
      Expr* statement = block.exprs[i];
      if (const auto* loop = statement->as<ForLoop>()) statement = loopWithWaits(*statement, *loop);
      const std::span<Expr* const> ordered = orderedWith(block, i);
      std::erase_if(posted_, [&](const Expr* earlier) {
        const auto has_to_wait = [&](const Expr* next) { return hasToWait(*earlier, *next); };
        if (!statement->is<SetCurrentStream>() && std::ranges::none_of(ordered, has_to_wait)) return false;
        result.exprs.insert(beforeViews(result), waitFor(*earlier));
        return true;
      });
      result.exprs.push_back(statement);
      const auto* op = statement->as<Communication>();
      if (op != nullptr && !awaited_.contains(op->number)) posted_.push_back(statement);
    }
    for (const Expr* earlier : posted_) result.exprs.push_back(waitFor(*earlier));
    posted_ = posted_before;
    return result;
  }

  // Views that the statement reads are made behind the Wait, as the dumps have it.
  static std::vector<Expr*>::iterator beforeViews(Block& block) {
    auto at = block.exprs.end();
    while (at != block.exprs.begin() && isView(**std::prev(at))) --at;
    return at;
  }

  static bool isView(const Expr& expr) { return expr.is<HirAliasSelect>() || expr.is<HirAliasSlice>(); }

  // Workers of a loop wait for the caller's stream as it is where that is caught: a Wait comes before.
  static std::span<Expr* const> orderedWith(const Block& block, size_t i) {
    size_t count = 1;
    if (block.exprs[i]->is<GetCurrentStream>()) {
      const auto isEnd = [](const Expr* expr) { return expr->is<ForLoop>() && !isOnlyOfStreams(*expr->as<ForLoop>()); };
      const auto end = std::find_if(block.exprs.begin() + static_cast<std::ptrdiff_t>(i), block.exprs.end(), isEnd);
      if (end != block.exprs.end()) count = static_cast<size_t>(end - block.exprs.begin()) - i + 1;
    }
    return std::span(block.exprs).subspan(i, count);
  }

  static bool isOnlyOfStreams(const ForLoop& loop) {
    return std::ranges::all_of(
        loop.body.exprs, [](const Expr* expr) { return expr->is<SetCurrentStream>() || expr->is<Synchronize>(); });
  }

  Expr* loopWithWaits(Expr& statement, const ForLoop& loop) {
    ForLoop copy = loop;
    copy.body = withWaits(loop.body);
    return copy.body.exprs == loop.body.exprs ? &statement : program_.appendOp(std::move(copy));
  }

  Expr* waitFor(const Expr& posted) { return program_.appendOp(Wait{posted.as<Communication>()->number}); }

  bool hasToWait(const Expr& posted, const Expr& statement) const {
    const auto& op = *posted.as<Communication>();
    const auto* other = statement.as<Communication>();
    if (other != nullptr && other->in == op.in && other->out == op.out) return false;
    const RootUses own = usesOf(posted);
    const RootUses next = usesOf(statement);
    const auto meets = [](const Roots& a, const Roots& b) {
      return std::ranges::any_of(a, [&](const TensorView* root) { return b.contains(root); });
    };
    return meets(own.written, next.read) || meets(own.written, next.written) || meets(own.read, next.written);
  }

  // Whether the statement gives a buffer one more name, and looks at no element.
  bool isOnlyName(const Expr& expr) const {
    if (isView(expr)) return true;
    const auto* set = expr.as<LoadStoreOp>();
    return set != nullptr && !program_.isOutput(set->out) && roots_.root(set->out) == roots_.root(set->in);
  }

  RootUses usesOf(const Expr& statement) const {
    RootUses uses;
    Block alone;
    alone.exprs = {const_cast<Expr*>(&statement)};
    const auto add = [&](std::span<Val* const> vals, Roots& roots) {
      for (TensorView* tensor : tensorsOf(vals)) roots.insert(roots_.root(tensor));
    };
    forEachStatement(alone, [&](const Expr& expr) {
      if (isOnlyName(expr)) return;
      add(expr.inputs(), expr.is<Deallocate>() ? uses.written : uses.read);
      add(expr.outputs(), uses.written);
    });
    return uses;
  }

  HostIrContainer& program_;
  BufferRoots roots_;
  std::set<int64_t> awaited_;        // what has a Wait already
  std::vector<const Expr*> posted_;  // and not waited for yet
};

}  // namespace

void placeWaits(HostIrContainer& program) { program.setTopLevel(WaitPlacer(program).run()); }

}  // namespace tokamak
