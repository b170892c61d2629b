#include <algorithm>
#include <unordered_map>

#include "host/buffer_passes.h"
#include "host/buffer_roots.h"
#include "ir/ops/host/allocate.h"
#include "ir/ops/host/deallocate.h"

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

class DeallocationInserter {
 public:
  DeallocationInserter(HostIrContainer& program, const BufferRoots& roots) : program_(program), roots_(roots) {}

  Block run(const Block& block) {
    std::unordered_map<TensorView*, size_t> allocated_at;
    std::unordered_map<TensorView*, size_t> last_use;
    for (size_t i = 0; i < block.exprs.size(); ++i) {
      if (const auto* allocate = block.exprs[i]->as<Allocate>()) allocated_at.emplace(roots_.root(allocate->buffer), i);
      std::vector<TensorView*> touched;
      addRoots(*block.exprs[i], roots_, touched);
      for (TensorView* root : touched) last_use[root] = i;
    }
    std::vector<std::vector<TensorView*>> ends(block.exprs.size());
    for (const auto& [root, first] : allocated_at) {
      if (!roots_.isCallers(root)) ends[last_use.at(root)].push_back(root);
    }
    Block result;
    for (size_t i = 0; i < block.exprs.size(); ++i) {
      result.exprs.push_back(block.exprs[i]);
      std::ranges::sort(ends[i], ById{});
      for (TensorView* root : ends[i]) result.exprs.push_back(program_.appendOp(Deallocate{root}));
    }
    return result;
  }

 private:
  HostIrContainer& program_;
  const BufferRoots& roots_;
};

}  // namespace

void insertDeallocations(HostIrContainer& program) {
  const BufferRoots roots(program);
  program.setTopLevel(DeallocationInserter(program, roots).run(program.topLevel()));
}

}  // namespace tokamak
