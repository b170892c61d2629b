// ShapedProgram: a copy of a program with the extents and layouts of a shape, ready for a schedule.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "ir/fusion.h"
#include "jit/kernel_choice.h"

namespace tokamak {

struct ShapedProgram {
  /// A symbol that is left: its value is that of symbol number `from` of the program over `divisor`.
  struct Symbol {
    size_t from = 0;
    Scalar* to = nullptr;
    int64_t divisor = 1;
  };
  std::shared_ptr<Fusion> fusion;
  std::vector<TensorView*> tensors;  ///< inputs, then outputs
  std::vector<Symbol> symbols;
};

ShapedProgram shapeProgram(const Fusion& program, const ShapeChooser& chooser, const KernelShape& shape);

/// What the symbols that are left have as values; `values`: as ShapeChooser::symbols(), nothing for those that are not
/// known.
ScalarBindings bindingsOf(std::span<const ShapedProgram::Symbol> symbols,
                          std::span<const std::optional<ScalarValue>> values);

}  // namespace tokamak
