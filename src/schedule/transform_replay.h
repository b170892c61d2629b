// TransformReplay: the steps that made one tensor's loop axes, found or done on the axes of another tensor that go
// along.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "ir/tensor_view.h"

namespace tokamak {

/// Axes of a reference tensor with the axes of another one that go along with them.
using AxisPairs = std::vector<std::pair<const IterDomain*, IterDomain*>>;

class TransformReplay {
 public:
  enum class Mode : uint8_t {
    Find,  ///< steps that the tensor has already
    Make,  ///< steps that it lacks are done where its axes are free: loop axes, Serial; shared loops leave none free
  };

  TransformReplay(TensorView& own, const AxisPairs& pairs, Mode mode);

  /// States that the tensor has no part in this axis of one element; merged with it, an axis stays what it was.
  void forward(const IterDomain* absent) { absent_.push_back(absent); }
  /// Goes through the steps that made these axes of the reference.
  void follow(const Axes& loop);

  /// The tensor's axis that goes along with this one of the reference, or null.
  IterDomain* at(const IterDomain& axis) const;
  /// The same, when it is a loop axis.
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
