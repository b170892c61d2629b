#include "heuristics/kernel_kind.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "analysis/addresses.h"
#include "base/require.h"
#include "heuristics/outer_reductions.h"
#include "heuristics/persistent_buffers.h"
#include "heuristics/schedule_kernel.h"
#include "heuristics/transpose_template.h"

namespace tokamak {

namespace {

using Reason = std::optional<std::string>;

struct KindName {
  KernelKind kind;
  std::string_view name;
};

constexpr std::array kKinds = {KindName{KernelKind::NoOp, "no_op"},
                               KindName{KernelKind::Transpose, "transpose"},
                               KindName{KernelKind::Pointwise, "pointwise"},
                               KindName{KernelKind::InnerOuterPersistent, "inner_outer_persistent"},
                               KindName{KernelKind::InnerPersistent, "inner_persistent"},
                               KindName{KernelKind::OuterPersistent, "outer_persistent"},
                               KindName{KernelKind::Reduction, "reduction"}};

// The reductions of a kernel by direction; of each the first one, null where there is none.
struct KernelReductions {
  const TensorView* partial = nullptr;
  const TensorView* inner = nullptr;
  const TensorView* outer = nullptr;
};

KernelReductions reductionsOf(const ReductionStructure& structure) {
  const Strides strides = globalStrides(structure.fusion());
  KernelReductions found;
  for (const TensorView* tensor : structure.stored()) {
    if (!isReduced(*tensor)) continue;
    const TensorView*& first = structure.isPartialOuterReduction(*tensor)      ? found.partial
                               : isInnerReduction(structure, *tensor, strides) ? found.inner
                                                                               : found.outer;
    if (first == nullptr) first = tensor;
  }
  return found;
}

// What would be persistent, were there room for everything: it is read again behind a reduction of its row.
const TensorView* findReadAgain(const ReductionStructure& structure) {
  const bool is_followed =
      std::ranges::any_of(structure.stored(), [&](const TensorView* tensor) { return structure.isFollowed(*tensor); });
  if (!is_followed) return nullptr;
  const PersistentRoom room{.bytes = std::numeric_limits<int64_t>::max(), .has_room_for_inputs = true};
  for (const PersistentBuffer& value : findPersistentBuffers(structure, room)) {
    if (!value.rows.empty() && !value.inner.empty()) return value.tensor;
  }
  return nullptr;
}

// Why a kernel is not of a kind; it is known to be one.
class KindJudge {
 public:
  explicit KindJudge(const ReductionStructure& structure)
      : structure_(structure), reductions_(reductionsOf(structure)), read_again_(findReadAgain(structure)) {}

  Reason against(KernelKind kind) const {
    switch (kind) {
      case KernelKind::NoOp: return againstNoOp();
      case KernelKind::Transpose: return againstTranspose();
      case KernelKind::Pointwise: return againstPointwise();
      case KernelKind::InnerOuterPersistent: return againstInnerOuterPersistent();
      case KernelKind::InnerPersistent: return againstInnerPersistent();
      case KernelKind::OuterPersistent: return againstOuterPersistent();
      case KernelKind::Reduction: return againstReduction();
    }
    TK_CHECK(false, "no such kind of a kernel");
  }

 private:
  Reason againstNoOp() const {
    for (const TensorView* output : structure_.fusion().outputs()) {
      const bool is_empty = std::ranges::any_of(
          shapeOf(*output), [](const IterDomain* axis) { return axis->visibleExtent()->isConstantInt(0); });
      if (!is_empty) return fmt::format("{} has elements, which a kernel stores", nameOf(*output));
    }
    return std::nullopt;
  }

  Reason againstPointwise() const {
    for (const TensorView* tensor : {reductions_.inner, reductions_.outer, reductions_.partial}) {
      if (tensor != nullptr) return fmt::format("{} is a reduction", nameOf(*tensor));
    }
    return std::nullopt;
  }

  Reason againstTranspose() const {
    if (Reason reason = againstPointwise()) return reason;
    if (structure_.stored().size() != 1)
      return fmt::format("{} tensors are stored, a transpose stores one", structure_.stored().size());
    TensorView& stored = *structure_.stored()[0];
    if (findTranspose(structure_.fusion(), stored, globalStrides(structure_.fusion()))) return std::nullopt;
    return fmt::format("no input that {} reads at a permutation of its axes is contiguous along another axis",
                       nameOf(stored));
  }

  Reason againstInnerOuterPersistent() const {
    if (reductions_.partial != nullptr) return std::nullopt;
    return "there are no partial outer sums, of rows that blocks compute for something else";
  }

  // Against all kinds of rows without partial sums.
  Reason againstRows() const {
    if (reductions_.partial != nullptr) return fmt::format("{} is a partial outer sum", nameOf(*reductions_.partial));
    if (reductions_.inner == nullptr && reductions_.outer == nullptr) return "nothing is reduced";
    return std::nullopt;
  }

  Reason againstInnerPersistent() const {
    if (Reason reason = againstRows()) return reason;
    if (reductions_.outer != nullptr)
      return fmt::format("{} is no inner reduction: it reduces across contiguous memory", nameOf(*reductions_.outer));
    return againstPersistent();
  }

  Reason againstOuterPersistent() const {
    if (Reason reason = againstRows()) return reason;
    if (reductions_.inner != nullptr)
      return fmt::format("{} is no outer reduction: it reduces along contiguous memory", nameOf(*reductions_.inner));
    return againstPersistent();
  }

  Reason againstPersistent() const {
    if (read_again_ != nullptr) return std::nullopt;
    return "nothing reads a reduction and its input again";
  }

  Reason againstReduction() const {
    if (Reason reason = againstRows()) return reason;
    if (read_again_ == nullptr) return std::nullopt;
    return fmt::format("{} is reduced, and read again with the result", nameOf(*read_again_));
  }

  const ReductionStructure& structure_;
  KernelReductions reductions_;
  const TensorView* read_again_;
};

}  // namespace

std::string_view kernelKindName(KernelKind kind) { return std::ranges::find(kKinds, kind, &KindName::kind)->name; }

std::vector<KindVerdict> judgeKernelKinds(Fusion& fusion, const KernelTarget& target) {
  ReductionStructure structure(fusion);
  std::vector<KindVerdict> verdicts;
  if (const Reason problem = whyNotOneKernel(structure, target)) {
    for (const KindName& each : kKinds) verdicts.push_back({each.kind, "no single kernel: " + *problem});
    return verdicts;
  }
  const KindJudge judge(structure);
  for (const KindName& each : kKinds) verdicts.push_back({each.kind, judge.against(each.kind)});
  return verdicts;
}

KernelLoops kernelLoopsOf(const ReductionStructure& structure) {
  const KernelReductions reductions = reductionsOf(structure);
  return {.has_inner_rows = reductions.inner != nullptr || reductions.partial != nullptr,
          .has_outer_rows = reductions.outer != nullptr};
}

}  // namespace tokamak
