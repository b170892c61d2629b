// StructuralForm: what a fusion is apart from its names: programs of one form compute the same in the same way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ir/fusion.h"

namespace tokamak {

struct StructuralForm {
  /// Everything but names and labels: tensors, axes and symbols are numbered as they are met.
  std::vector<int64_t> words;
  /// The symbols by these numbers. Those of two fusions of one form stand for each other.
  std::vector<Scalar*> symbols;
};

/// Inputs, then ops in the program's order, then outputs; schedules and layouts included. Not for host programs.
StructuralForm structuralFormOf(const Fusion& fusion);

/// A hash of the words.
struct FormHash {
  size_t operator()(const std::vector<int64_t>& words) const;
};

}  // namespace tokamak
