#include "lower/thread_private_memory.h"

#include <algorithm>
#include <map>
#include <vector>

#include "analysis/substitute.h"
#include "kernel/index_assumptions.h"
#include "symbolic/interval_analysis.h"
#include "symbolic/scalar_simplifier.h"

namespace tokamak {

namespace {

class ThreadPrivateMemory {
 public:
  explicit ThreadPrivateMemory(const kir::Kernel& kernel) : kernel_(kernel), fusion_(*kernel.fusion) {
    kir::assumeIndices(kernel, analysis_);
    kir::visitStatements(kernel.body, [&](const kir::Statement& each) { collect(each); });
  }

  std::set<const TensorView*> find() {
    std::set<const TensorView*> own;
    for (const auto& [tensor, accesses] : accesses_) {
      if (!foreign_.contains(tensor) && std::ranges::all_of(kernel_.dimensions, [&](const auto& dimension) {
            return !kir::isThreadType(dimension.type) || tellsIndex(accesses, dimension);
          }))
        own.insert(tensor);
    }
    return own;
  }

 private:
  void collect(const kir::Statement& each) {
    const auto add = [&](const TensorView& tensor, Scalar* index) {
      if (tensor.memoryType() == MemoryType::Shared) accesses_[&tensor].push_back(index);
    };
    const auto addReads = [&](const kir::Value& value) {
      kir::visitValues(value, [&](const kir::Value& inside) {
        if (inside.kind == kir::ValueKind::Load) add(*inside.tensor, inside.scalar);
      });
    };
    if (const auto* let = std::get_if<kir::Let>(&each.node)) addReads(*let->value);
    if (const auto* store = std::get_if<kir::Store>(&each.node)) {
      addReads(*store->value);
      add(*store->tensor, store->index);
      if (store->block != nullptr) foreign_.insert(store->tensor);
    }
    // A copy has several elements. (Passes that make copies come later.)
    if (const auto* copy = std::get_if<kir::Copy>(&each.node)) foreign_.insert({copy->to, copy->from});
  }

  // Whether index = access / step % extent for all accesses, with one step.
  bool tellsIndex(const std::vector<Scalar*>& accesses, const kir::LaunchDimension& dimension) {
    Substitution next(fusion_);
    next.set(*dimension.index, fusion_.add(dimension.index, fusion_.constant(1)));
    Scalar* step = simplify(fusion_.sub(next(accesses.front()), accesses.front()), analysis_);
    if (step->constantInt().value_or(0) < 1) return false;
    return std::ranges::all_of(accesses, [&](Scalar* access) {
      Scalar* index = fusion_.scalar(ScalarOp::Mod, fusion_.scalar(ScalarOp::FloorDiv, access, step), dimension.extent);
      return simplify(index, analysis_) == dimension.index;
    });
  }

  const kir::Kernel& kernel_;
  Fusion& fusion_;
  IntervalAnalysis analysis_;
  std::map<const TensorView*, std::vector<Scalar*>> accesses_;
  std::set<const TensorView*> foreign_;
};

}  // namespace

std::set<const TensorView*> threadPrivateTensors(const kir::Kernel& kernel) {
  return ThreadPrivateMemory(kernel).find();
}

}  // namespace tokamak
