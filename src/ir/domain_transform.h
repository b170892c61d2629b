// How one list of axes comes from another by splits and merges: checks of it.
#pragma once

#include <string>
#include <vector>

#include "ir/tensor_view.h"

namespace tokamak {

class Cloner;

/// Empty when `to` comes from `from` by steps that use every axis exactly once: each axis of `from`, and each that a
/// step makes, is in `to` or goes into one step. Else what is wrong, in words.
std::string transformProblem(const Axes& from, const Axes& to);

/// Every step that the loop, logical and allocation axes come from, each once.
std::vector<const DomainExpr*> transformSteps(const TensorDomain& domain);

/// Empty when the step's axes have the extents that it says, else what is wrong. Extents are computed in the cloner's
/// target.
std::string stepProblem(const DomainExpr& step, Cloner& cloner);

}  // namespace tokamak
