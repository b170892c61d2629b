#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "host/lower/buffer_passes.h"
#include "host/lower/buffer_roots.h"
#include "host/lower/use_order.h"
#include "ir/ops/host/allocate.h"
#include "ir/ops/host/deallocate.h"
#include "ir/ops/host/for_loop.h"
#include "ir/ops/host/set_current_stream.h"

namespace tokamak {

namespace {

// The roots that a statement uses, bodies included.
void addRoots(const Expr& expr, const BufferRoots& roots, std::vector<TensorView*>& touched) {
  Block alone;
  alone.exprs = {const_cast<Expr*>(&expr)};
  forEachStatement(alone, [&](const Expr& inner) {
    for (const auto vals : {inner.inputs(), inner.outputs()}) {
      for (TensorView* tensor : tensorsOf(vals)) touched.push_back(roots.root(tensor));
    }
  });
}

class DeallocationInserter {
 public:
  DeallocationInserter(HostIrContainer& program, const BufferRoots& roots) : program_(program), roots_(roots) {
    // A loop's body owns its allocations if nothing outside mentions them.
    forEachStatement(program.topLevel(), [&](const Expr& expr) {
      if (const auto* loop = expr.as<ForLoop>()) countUses(loop->body, uses_in_body_[loop]);
      if (const auto* free = expr.as<Deallocate>()) is_freed_.insert(roots.root(free->buffer));
    });
    countUses(program.topLevel(), uses_);
  }

  Block run() { return run(program_.topLevel(), nullptr, UseOrder(program_, roots_)); }

 private:
  using UseCounts = std::unordered_map<const TensorView*, int64_t>;

  void countUses(const Block& block, UseCounts& counts) const {
    std::vector<TensorView*> touched;
    for (const Expr* expr : block.exprs) addRoots(*expr, roots_, touched);
    for (const TensorView* root : touched) ++counts[root];
  }

  // The buffers that end in the block, by the statement of their last use.
  std::vector<std::vector<TensorView*>> findLastUses(const Block& block, const ForLoop* loop) const {
    std::map<TensorView*, size_t, ById> last_use;
    for (size_t i = 0; i < block.exprs.size(); ++i) {
      if (const auto* allocate = block.exprs[i]->as<Allocate>()) last_use.emplace(roots_.root(allocate->buffer), i);
      std::vector<TensorView*> touched;
      addRoots(*block.exprs[i], roots_, touched);
      for (TensorView* root : touched) {
        if (const auto use = last_use.find(root); use != last_use.end()) use->second = i;
      }
    }
    std::vector<std::vector<TensorView*>> ends(block.exprs.size());
    for (const auto& [root, statement] : last_use) {
      if (isOwn(loop, root)) ends[statement].push_back(root);
    }
    return ends;
  }

  bool isOwn(const ForLoop* loop, const TensorView* root) const {
    if (roots_.isCallers(root) || is_freed_.contains(root)) return false;
    return loop == nullptr || uses_in_body_.at(loop).at(root) == uses_.at(root);
  }

  Block run(const Block& block, const ForLoop* loop, UseOrder order) {
    const std::vector<std::vector<TensorView*>> ends = findLastUses(block, loop);
    Block result;
    std::vector<TensorView*> used_up;  // and not released yet
    for (size_t i = 0; i < block.exprs.size(); ++i) {
      result.exprs.push_back(withFrees(*block.exprs[i], order));
      order.take(*block.exprs[i]);
      used_up.insert(used_up.end(), ends[i].begin(), ends[i].end());
      std::erase_if(used_up, [&](TensorView* root) {
        if (!order.isOver(root)) return false;
        result.exprs.push_back(program_.appendOp(Deallocate{root}));
        return true;
      });
    }
    // At the program's end the caller's stream is ordered after everything. In a body, unordered buffers are not
    // released.
    if (loop != nullptr || used_up.empty()) return result;
    if (!order.isOnCallersStream())
      result.exprs.push_back(program_.appendOp(SetCurrentStream{program_.defaultStream()}));
    for (TensorView* root : used_up) result.exprs.push_back(program_.appendOp(Deallocate{root}));
    return result;
  }

  // The statement with Deallocates in its bodies.
  Expr* withFrees(Expr& expr, UseOrder& order) {
    const auto* loop = expr.as<ForLoop>();
    if (loop == nullptr) return &expr;
    ForLoop copy = *loop;
    copy.body = run(loop->body, loop, order.forBody());
    return copy.body.exprs == loop->body.exprs ? &expr : program_.appendOp(std::move(copy));
  }

  HostIrContainer& program_;
  const BufferRoots& roots_;
  std::unordered_set<const TensorView*> is_freed_;  // by the program itself
  UseCounts uses_;
  std::unordered_map<const ForLoop*, UseCounts> uses_in_body_;
};

}  // namespace

void insertDeallocations(HostIrContainer& program) {
  const BufferRoots roots(program);
  program.setTopLevel(DeallocationInserter(program, roots).run());
}

}  // namespace tokamak
