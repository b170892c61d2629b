#include "host/lower/place_waits.h"

#include <algorithm>
#include <set>
#include <span>
#include <vector>

#include "host/lower/buffer_roots.h"
#include "ir/ops/host/communication.h"
#include "ir/ops/host/deallocate.h"
#include "ir/ops/host/hir_alias_select.h"
#include "ir/ops/host/hir_alias_slice.h"
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

  Block run() {
    Block result;
    for (Expr* statement : program_.topLevel().exprs) {
      std::erase_if(posted_, [&](const Expr* earlier) {
        if (!hasToWait(*earlier, *statement)) return false;
        result.exprs.push_back(waitFor(*earlier));
        return true;
      });
      result.exprs.push_back(statement);
      const auto* op = statement->as<Communication>();
      if (op != nullptr && !awaited_.contains(op->number)) posted_.push_back(statement);
    }
    for (const Expr* earlier : posted_) result.exprs.push_back(waitFor(*earlier));
    return result;
  }

 private:
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
    if (expr.is<HirAliasSelect>() || expr.is<HirAliasSlice>()) return true;
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
