#include <algorithm>
#include <map>
#include <unordered_map>

#include "host/buffer_passes.h"
#include "host/buffer_roots.h"
#include "ir/ops/host/allocate.h"
#include "ir/ops/host/deallocate.h"
#include "ir/ops/host/for_loop.h"
#include "ir/ops/host/set_current_stream.h"

namespace tokamak {

namespace {

// The roots that a statement, with everything in its bodies, touches.
void addRoots(const Expr& expr, const BufferRoots& roots, std::vector<TensorView*>& touched) {
  Block alone;
  alone.exprs = {const_cast<Expr*>(&expr)};
  forEachStatement(alone, [&](const Expr& inner) {
    for (const auto vals : {inner.inputs(), inner.outputs()}) {
      for (TensorView* tensor : tensorsOf(vals)) touched.push_back(roots.root(tensor));
    }
  });
}

bool switchesStream(const Expr& expr) {
  Block alone;
  alone.exprs = {const_cast<Expr*>(&expr)};
  bool switches = false;
  forEachStatement(alone, [&](const Expr& inner) { switches |= inner.is<SetCurrentStream>(); });
  return switches;
}

class DeallocationInserter {
 public:
  DeallocationInserter(HostIrContainer& program, const BufferRoots& roots) : program_(program), roots_(roots) {
    // A loop's body owns what it allocates if nothing outside of it knows of it.
    forEachStatement(program.topLevel(), [&](const Expr& expr) {
      if (const auto* loop = expr.as<ForLoop>()) countUses(loop->body, uses_in_body_[loop]);
    });
    countUses(program.topLevel(), uses_);
  }

  Block run() { return run(program_.topLevel(), nullptr); }

 private:
  using UseCounts = std::unordered_map<const TensorView*, int64_t>;

  struct Life {
    size_t allocated;
    size_t last_use;
  };

  void countUses(const Block& block, UseCounts& counts) const {
    std::vector<TensorView*> touched;
    for (const Expr* expr : block.exprs) addRoots(*expr, roots_, touched);
    for (const TensorView* root : touched) ++counts[root];
  }

  Block run(const Block& block, const ForLoop* loop) {
    std::map<TensorView*, Life, ById> lives;
    for (size_t i = 0; i < block.exprs.size(); ++i) {
      if (const auto* allocate = block.exprs[i]->as<Allocate>()) {
        lives.try_emplace(roots_.root(allocate->buffer), Life{.allocated = i, .last_use = i});
      }
      std::vector<TensorView*> touched;
      addRoots(*block.exprs[i], roots_, touched);
      for (TensorView* root : touched) {
        if (const auto life = lives.find(root); life != lives.end()) life->second.last_use = i;
      }
    }
    std::vector<std::vector<TensorView*>> ends(block.exprs.size());
    for (const auto& [root, life] : lives) {
      if (mayFree(block, loop, root, life)) ends[life.last_use].push_back(root);
    }
    Block result;
    for (size_t i = 0; i < block.exprs.size(); ++i) {
      result.exprs.push_back(withFrees(*block.exprs[i]));
      for (TensorView* root : ends[i]) result.exprs.push_back(program_.appendOp(Deallocate{root}));
    }
    return result;
  }

  // Frees in the bodies of loops, where there are any.
  Expr* withFrees(Expr& expr) {
    const auto* loop = expr.as<ForLoop>();
    if (loop == nullptr) return &expr;
    ForLoop copy = *loop;
    copy.body = run(loop->body, loop);
    return copy.body.exprs == loop->body.exprs ? &expr : program_.appendOp(std::move(copy));
  }

  bool mayFree(const Block& block, const ForLoop* loop, const TensorView* root, const Life& life) const {
    if (roots_.isCallers(root)) return false;
    if (loop == nullptr) return true;
    if (uses_in_body_.at(loop).at(root) != uses_.at(root)) return false;
    // What an iteration takes on one stream it gives back on the same.
    return std::none_of(block.exprs.begin() + static_cast<std::ptrdiff_t>(life.allocated),
                        block.exprs.begin() + static_cast<std::ptrdiff_t>(life.last_use),
                        [](const Expr* expr) { return switchesStream(*expr); });
  }

  HostIrContainer& program_;
  const BufferRoots& roots_;
  UseCounts uses_;
  std::unordered_map<const ForLoop*, UseCounts> uses_in_body_;
};

}  // namespace

void insertDeallocations(HostIrContainer& program) {
  const BufferRoots roots(program);
  program.setTopLevel(DeallocationInserter(program, roots).run());
}

}  // namespace tokamak
