// The float64 reference: the meaning of a fusion of math ops, by naive loops over logical indices.
#pragma once

#include <map>
#include <span>
#include <variant>
#include <vector>

#include "ir/fusion.h"
#include "oracle/rounding.h"
#include "oracle/tensor.h"

namespace tokamak::oracle {

/// What an input of the fusion is given: a tensor, or the value of a scalar.
using Input = std::variant<OracleTensor, ScalarValue>;

enum class Keep : uint8_t { Outputs, Everything };

struct Options {
  Mode mode = Mode::exact();
  Keep keep = Keep::Outputs;
  ScalarBindings bindings = {};  ///< of symbols that no input determines
};

struct Evaluation {
  std::vector<OracleTensor> outputs;  ///< in the fusion's order
  std::map<const TensorView*, OracleTensor, ById>
      tensors;              ///< with Keep::Everything, every tensor that outputs depend on
  ScalarBindings bindings;  ///< of all symbols
};

/// The fusion's outputs for these inputs, in the order of fusion.inputs().
/// Errors: Bind when inputs do not fit: their number, type, rank or sizes, a symbol without a value.
Evaluation evaluate(const Fusion& fusion, std::span<const Input> inputs, const Options& options = {});

}  // namespace tokamak::oracle
