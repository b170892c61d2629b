// Schedule checks: whether there is a schedule at all, and whether its loops are legal at given sizes.
#pragma once

#include "ir/fusion.h"

namespace tokamak {

/// Whether somebody said how a kernel of the fusion is to be made. Loops that are dealt out over streams do not say
/// that, nor steps that lead to them; an rfactor always does.
bool isScheduled(const Fusion& fusion);
/// Whether somebody said it of this tensor.
bool isScheduled(const TensorView& tensor);
/// Factors that are not constant have to be at least 1 under the bindings. Errors: Schedule.
void requireLegalFactors(const Fusion& fusion, const ScalarBindings& bindings);
/// Loops of splits that do not divide go beyond the elements: no tensor's may have over 2^30 iterations and over 1,024
/// for each element. Errors: Schedule.
void requireFewIterations(const Fusion& fusion, const ScalarBindings& bindings);
/// Loops as they were before anything was said of them, those over streams included. Tensors that come from an rfactor
/// stay.
void dropSchedule(Fusion& fusion);

}  // namespace tokamak
