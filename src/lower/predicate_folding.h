// Predicate folding: a choice with a known predicate becomes one of its operands.
#pragma once

#include <functional>

#include "kernel/kernel.h"

namespace tokamak {

class IntervalAnalysis;

/// Calls `visit` for the predicate of each choice in a value.
void visitChoices(const kir::Statements& statements, const std::function<void(Scalar&)>& visit);

/// Visits the scalar and its operands, transitively, each once.
void visitNodesOf(Scalar& scalar, const std::function<void(Scalar&)>& visit);

/// Folds choices with a constant predicate, and removes statements under a guard that is false.
kir::Statements foldChoices(const kir::Statements& statements);

/// Removes unused Lets, from the last one on. (Two loops may define the same variable.)
kir::Statements withoutUnusedValues(const kir::Statements& statements);

/// A new index of the same name, in [0, stop).
Scalar* indexLike(const Scalar& index, Scalar& stop, Fusion& fusion, IntervalAnalysis& analysis);

/// A Less or LessEqual of integers holds if and only if this is positive.
Scalar* marginOf(const Scalar& comparison, Fusion& fusion);

struct KnownComparison {
  Scalar* comparison = nullptr;
  bool holds = false;
};

/// The loop from `start` to `stop`, with new indices, in which the comparison is known: choices by it, its negation and
/// comparisons that follow are folded.
kir::Loop loopGiven(const kir::Loop& loop, Scalar* start, Scalar* stop, KnownComparison fact, Fusion& fusion,
                    IntervalAnalysis& analysis);

}  // namespace tokamak
