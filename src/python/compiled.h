// Compiled: a program that Python calls with arrays.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <nanobind/nanobind.h>

#include "compile/program.h"
#include "python/arrays.h"
#include "python/call_state.h"
#include "python/definition.h"

namespace tokamak::python {

/// Thread safety: any threads may call it side by side. Functions are called with the interpreter's lock, and let go of
/// it while they compile and run.
class Compiled {
 public:
  /// `is_by_hand`: as its schedule says. Blocks have one thread on a processor: axes of threads are loops there.
  /// Errors: those of compile().
  Compiled(std::shared_ptr<Definition> definition, std::shared_ptr<Device> device, bool is_by_hand);

  /// A call with arrays of NumPy's and numbers, whose outputs have memory of their own: the list of outputs, which are
  /// those of `out` where that is not None. None for any other call, of which nothing was done. Errors: those of
  /// Program::runInto(), and Python's.
  nanobind::object tryExecute(nanobind::handle inputs, nanobind::handle out);
  /// How many outputs calls give.
  size_t outputCount() const { return given_outputs_; }

  /// How the outputs of a call lie, in the order in which calls give them. Errors: those of Program::outputLayouts().
  std::vector<OutputLayout> outputLayouts(const std::vector<PyObject*>& inputs);
  /// Writes the outputs that calls give, and those that are updates. None for an output that lies in the memory of an
  /// input or of another output. Errors: those of Program::run().
  void run(const std::vector<PyObject*>& inputs, const std::vector<PyObject*>& outputs);

 private:
  class Lease;
  std::vector<Argument> argumentsOf(BorrowedArrays& arrays, const std::vector<PyObject*>& inputs) const;
  nanobind::object tryExecuteWith(CallState& state, nanobind::handle inputs, nanobind::handle written);
  bool tryTake(PyObject* inputs, CallState& state) const;
  const KnownLayouts& layoutsOf(CallState& state);
  std::shared_ptr<const KnownLayouts> knownLayouts(const std::vector<int64_t>& key);

  std::shared_ptr<Device> device_;
  std::shared_ptr<Definition> definition_;
  Program program_;
  size_t input_tensors_ = 0;
  size_t given_outputs_ = 0;

  std::mutex mutex_;
  std::vector<std::unique_ptr<CallState>> idle_;
  std::map<std::vector<int64_t>, std::shared_ptr<const KnownLayouts>> layouts_;
};

}  // namespace tokamak::python
