// Reference: what a program must give for some inputs, and the judgement of results.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "oracle/compare.h"
#include "oracle/evaluate.h"

namespace tokamak::oracle {

/// The evaluations of one fusion on one set of inputs; typed ones are made when a judgement needs them. The fusion
/// outlives the reference. Not for several threads at once.
class Reference {
 public:
  /// Errors: those of evaluate().
  Reference(const Fusion& fusion, std::vector<Input> inputs, ScalarBindings bindings = {});

  const std::vector<Input>& inputs() const { return inputs_; }
  const Evaluation& exact() const { return exact_; }
  /// Number 0 is rounded to nearest, 1 to kVariations are in varied mode.
  const Evaluation& typed(int number) const;
  /// Judges an output of the fusion. Errors: Bind when type or sizes differ.
  Comparison compare(size_t output, const StoredTensor& actual) const;

 private:
  const Fusion* fusion_;
  std::vector<Input> inputs_;
  ScalarBindings bindings_;
  Evaluation exact_;
  mutable std::array<std::optional<Evaluation>, kVariations + 1> typed_ = {};  // kept once asked for
};

}  // namespace tokamak::oracle
