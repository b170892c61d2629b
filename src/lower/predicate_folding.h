// Predicate folding: choices in values whose predicate a pass knows.
#pragma once

#include <functional>

#include "kernel/kernel.h"

namespace tokamak {

class IntervalAnalysis;

/// Calls `visit` for the predicates of all choices in values.
void visitChoices(const kir::Statements& statements, const std::function<void(Scalar&)>& visit);

/// The scalar, its operands, theirs, ...: each once, however many share it.
void visitNodesOf(Scalar& scalar, const std::function<void(Scalar&)>& visit);

/// Choices whose predicate is a constant become what they choose; what is guarded by a constant that does not hold
/// goes.
kir::Statements foldChoices(const kir::Statements& statements);

/// Without the values that nobody uses, from the last one on. Values of two loops may have the same names, each for
/// itself.
kir::Statements withoutUnusedValues(const kir::Statements& statements);

/// A new index of this name, in [0, stop).
Scalar* indexLike(const Scalar& index, Scalar& stop, Fusion& fusion, IntervalAnalysis& analysis);

/// Of a Less or LessEqual of integers: it holds where this is positive.
Scalar* marginOf(const Scalar& comparison, Fusion& fusion);

struct KnownComparison {
  Scalar* comparison = nullptr;
  bool holds = false;
};

/// The loop from `start` to `stop`, with indices of its own, where the comparison, its negation and what follows for
/// other comparisons with the index are known: choices are folded.
kir::Loop loopKnowing(const kir::Loop& loop, Scalar* start, Scalar* stop, KnownComparison fact, Fusion& fusion,
                      IntervalAnalysis& analysis);

}  // namespace tokamak
