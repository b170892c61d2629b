// Compiled: a program that Python calls with arrays.
#pragma once

#include <memory>
#include <vector>

#include "compile/program.h"
#include "python/arrays.h"
#include "python/definition.h"

namespace tokamak::python {

/// Thread safety: any threads may call it side by side. Functions are called with the interpreter's lock, and let go of
/// it while they compile and run.
class Compiled {
 public:
  /// Errors: those of compile().
  Compiled(std::shared_ptr<Definition> definition, std::shared_ptr<Device> device);

  /// How the outputs of a call lie, in the order in which calls give them. Errors: those of Program::outputLayouts().
  std::vector<OutputLayout> outputLayouts(const std::vector<PyObject*>& inputs);
  /// Writes the outputs that calls give, and those that are updates. None for an output that lies in the memory of an
  /// input or of another output. Errors: those of Program::run().
  void run(const std::vector<PyObject*>& inputs, const std::vector<PyObject*>& outputs);

 private:
  std::vector<Argument> argumentsOf(BorrowedArrays& arrays, const std::vector<PyObject*>& inputs) const;

  std::shared_ptr<Device> device_;
  std::shared_ptr<Definition> definition_;
  Program program_;
};

}  // namespace tokamak::python
