// Pass merge-equal: common subexpression elimination.
//
// Expressions are equal if op, attributes and operands are. The earlier result replaces the later one, unless that has
// a schedule or layout. If the later one is an output, the earlier one becomes that output, if it is none.
// Movement that is an output stays, as it may be a view. A set stays, as its reader wants a copy.
// Before: any fusion. After: no equal expressions with replaceable results. It runs after fold-casts, which makes more
// expressions equal.
#pragma once

#include <memory>

#include "ir/fusion.h"

namespace tokamak {

std::unique_ptr<Fusion> mergeEqual(const Fusion& fusion);

/// The fusion in which an output that equals an earlier one is a view of it (a slice of all), and its readers read the
/// earlier one; or null if there is none. Sets, outputs that update inputs, and outputs with a schedule or layout do
/// not change. For callers that accept views.
std::unique_ptr<Fusion> viewEqualOutputs(const Fusion& fusion);

}  // namespace tokamak
