// Drawing random programs that are legal by construction.
#pragma once

#include "program.h"

namespace tokamak::generator {

struct DrawOptions {
  int64_t max_ops = 20;
  int64_t max_elements = 2048;  ///< of any tensor
  int repeats =
      0;  ///< percent of ops that are of the kind of the op before and read its result: chains for passes to fold
  int pointwise = 0;  ///< percent of ops that are functions of elements for sure: long programs are one kernel then
  int chained = 0;    ///< percent of those that read the result before: deep programs
  /// Inputs, casts on the way and outputs are f32, f64, i32, i64 and bool equally often, f16 and bf16 half as often.
  bool has_even_types = false;
  /// What most axes have, the last axis of the first input among them; 0: drawn.
  int64_t extent = 0;
};

/// The program of a seed: the same one on every machine. Extents and weights as in the reliability plan: 60 % of the
/// programs are exact; reductions that are broadcast back, cat, pad and slice, reshapes before reductions, outputs that
/// read one another, in-place outputs and integers near the limits of their type come often.
Program drawProgram(uint64_t seed, const DrawOptions& options = {});

}  // namespace tokamak::generator
