#include "python/compiled.h"

#include <utility>

#include <fmt/format.h>

#include "base/require.h"
#include "python/unlocked.h"

namespace tokamak::python {

namespace {

// Outputs are arrays that their framework makes: each has memory of its own.
constexpr CompileOptions kOwnOutputs = {.output_views = OutputViews::Copy};

Program compileUnlocked(const Fusion& fusion, Device& device) {
  const Unlocked unlocked;
  return compile(fusion, device, kOwnOutputs);
}

}  // namespace

Compiled::Compiled(std::shared_ptr<Definition> definition, std::shared_ptr<Device> device)
    : device_(std::move(device)),
      definition_(std::move(definition)),
      program_(compileUnlocked(definition_->fusion(), *device_)) {}

std::vector<Argument> Compiled::argumentsOf(BorrowedArrays& arrays, const std::vector<PyObject*>& inputs) const {
  const std::vector<Val*>& wanted = definition_->fusion().inputs();
  TK_REQUIRE(inputs.size() == wanted.size(), Bind, "{} inputs for a definition that has {}", inputs.size(),
             wanted.size());
  std::vector<Argument> arguments;
  for (size_t i = 0; i < inputs.size(); ++i) {
    arguments.push_back(
        arrays.argument(*device_, inputs[i], asTensor(wanted[i]), wanted[i]->dtype(), fmt::format("input {}", i)));
  }
  return arguments;
}

std::vector<OutputLayout> Compiled::outputLayouts(const std::vector<PyObject*>& inputs) {
  BorrowedArrays arrays;
  const std::vector<Argument> arguments = argumentsOf(arrays, inputs);
  const Unlocked unlocked;
  return program_.outputLayouts(arguments);
}

void Compiled::run(const std::vector<PyObject*>& inputs, const std::vector<PyObject*>& outputs) {
  BorrowedArrays arrays;
  const std::vector<Argument> arguments = argumentsOf(arrays, inputs);
  std::vector<Tensor> given;
  for (size_t i = 0; i < outputs.size(); ++i) {
    given.push_back(outputs[i] == Py_None ? Tensor()
                                          : arrays.output(*device_, outputs[i], fmt::format("output {}", i)));
  }
  const Unlocked unlocked;
  for (const Tensor& each : program_.run(arguments, given)) each.waitReady();
}

}  // namespace tokamak::python
