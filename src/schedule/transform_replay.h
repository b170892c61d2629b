// TransformReplay: finds or repeats the steps that made one tensor's loop axes on the axes of another tensor that map.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "ir/tensor_view.h"

namespace tokamak {

/// Axes of a reference tensor, and the axes of another one that map to them.
using AxisPairs = std::vector<std::pair<const IterDomain*, IterDomain*>>;

class TransformReplay {
 public:
  enum class Mode : uint8_t {
    Find,  ///< only steps that the tensor has
    Make,  ///< steps that it lacks are made where its axes are Serial loop axes and no loop is shared
  };

  TransformReplay(TensorView& own, const AxisPairs& pairs, Mode mode);

  /// The tensor lacks this broadcast axis: merging another axis with it gives that axis.
  void forward(const IterDomain* absent) { absent_.push_back(absent); }
  /// Finds or repeats the steps that made these axes of the reference.
  void follow(const Axes& loop);

  /// The tensor's axis that maps to this one of the reference, or null.
  IterDomain* at(const IterDomain& axis) const;
  /// The same if it is a loop axis, else null.
  IterDomain* loopAxisAt(const IterDomain& axis) const;
  bool hasMadeSteps() const { return has_made_steps_; }

 private:
  void followAxis(const IterDomain& axis);
  bool isAbsent(const IterDomain& axis) const;
  bool isInLoop(const IterDomain* axis) const;
  bool isFree(const IterDomain* axis) const;
  const DomainExpr* sameStep(const DomainExpr& step, IterDomain* first, IterDomain* second);

  TensorView* own_;
  Mode mode_;
  std::map<const IterDomain*, IterDomain*> axes_;
  std::vector<const IterDomain*> absent_;
  bool has_made_steps_ = false;
};

}  // namespace tokamak
