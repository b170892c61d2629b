#include "python/compiled.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/require.h"
#include "host/plan/plan_key.h"
#include "host/run/given_block.h"
#include "ir/clone.h"
#include "kernel/kernel.h"
#include "python/unlocked.h"

namespace nb = nanobind;

namespace tokamak::python {

namespace {

// Outputs are arrays that their framework makes: each has memory of its own. Callers wait for them.
constexpr CompileOptions kOwnOutputs = {.output_views = OutputViews::Copy, .runs_on_callers_thread = true};

constexpr size_t kLayoutsKept = 256;

// A new reference that a function of Python's gave; null stands for the error that it raised.
nb::object created(PyObject* object) {
  if (object == nullptr) throw nb::python_error();
  return nb::steal(object);
}

nb::object tupleOf(nb::handle sequence) { return created(PySequence_Tuple(sequence.ptr())); }

std::unique_ptr<Fusion> withoutThreads(const Fusion& scheduled) {
  std::unique_ptr<Fusion> fusion = cloneFusion(scheduled);
  for (TensorView* tensor : fusion->allTensors()) {
    for (IterDomain* axis : tensor->loop()) {
      if (kir::isThreadType(axis->parallelType())) axis->parallelize(ParallelType::Serial);
    }
  }
  return fusion;
}

Program compileUnlocked(const Definition& definition, Device& device, bool is_by_hand) {
  const Unlocked unlocked;
  if (!is_by_hand) return compile(definition.fusion(), device, kOwnOutputs);
  CompileOptions options = kOwnOutputs;
  options.keeps_schedule = true;
  if (!isOnProcessor(device)) return compile(definition.program(), device, options);
  return compile(*withoutThreads(definition.program()), device, options);
}

}  // namespace

Compiled::Compiled(std::shared_ptr<Definition> definition, std::shared_ptr<Device> device, bool is_by_hand)
    : device_(std::move(device)),
      definition_(std::move(definition)),
      program_(compileUnlocked(*definition_, *device_, is_by_hand)) {
  const std::vector<Val*>& inputs = definition_->fusion().inputs();
  input_tensors_ = static_cast<size_t>(std::ranges::count_if(inputs, [](Val* it) { return asTensor(it) != nullptr; }));
  given_outputs_ = program_.outputNames().size();
}

// A state for the time of a call; after an error it goes, as what failed may stick to its stream.
class Compiled::Lease {
 public:
  explicit Lease(Compiled& compiled) : compiled_(compiled) {
    const std::lock_guard lock(compiled.mutex_);
    if (compiled.idle_.empty()) return;
    state_ = std::move(compiled.idle_.back());
    compiled.idle_.pop_back();
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  CallState& state() {
    if (state_ == nullptr)
      state_ = std::make_unique<CallState>(*compiled_.device_, compiled_.input_tensors_, compiled_.given_outputs_);
    return *state_;
  }
  void giveBack() {
    const std::lock_guard lock(compiled_.mutex_);
    compiled_.idle_.push_back(std::move(state_));
  }

 private:
  Compiled& compiled_;
  std::unique_ptr<CallState> state_;
};

// False where an input is something else than an array of NumPy's or, for a scalar, a number.
bool Compiled::tryTake(PyObject* inputs, CallState& state) const {
  const std::vector<Val*>& wanted = definition_->fusion().inputs();
  if (PyTuple_Size(inputs) != static_cast<Py_ssize_t>(wanted.size())) return false;
  size_t tensors = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    PyObject* const given = PyTuple_GetItem(inputs, static_cast<Py_ssize_t>(i));
    if (asTensor(wanted[i]) == nullptr) {
      const auto number = numberOf(given);
      if (!number) return false;
      state.scalars.push_back(*number);
      continue;
    }
    const auto array = numPyArrayOf(given);
    if (!array) return false;
    Tensor& place = state.inputs[tensors++];
    const ErrorNote note([&] { return fmt::format("while taking input {}", i); });
    state.put(*array, place);
  }
  return true;
}

std::shared_ptr<const KnownLayouts> Compiled::knownLayouts(const std::vector<int64_t>& key) {
  const std::lock_guard lock(mutex_);
  const auto found = layouts_.find(key);
  return found == layouts_.end() ? nullptr : found->second;
}

// Integers may be sizes.
const KnownLayouts& Compiled::layoutsOf(CallState& state) {
  for (const Tensor& input : state.inputs) addToKey(input, state.key);
  for (const ScalarValue& scalar : state.scalars) {
    if (!std::holds_alternative<double>(scalar)) state.key.push_back(asInt(scalar));
  }
  if (state.layouts != nullptr && state.layouts->key == state.key) return *state.layouts;
  state.layouts = knownLayouts(state.key);
  if (state.layouts != nullptr) return *state.layouts;
  std::vector<Argument> arguments;
  size_t tensors = 0, scalars = 0;
  for (Val* input : definition_->fusion().inputs()) {
    if (asTensor(input) != nullptr)
      arguments.emplace_back(state.inputs[tensors++]);
    else
      arguments.emplace_back(state.scalars[scalars++]);
  }
  auto made = std::make_shared<KnownLayouts>();
  {
    const Unlocked unlocked;
    made->outputs = program_.outputLayouts(arguments);
  }
  made->key = state.key;
  made->is_plain = std::ranges::all_of(made->outputs, [](const OutputLayout& each) {
    return each.memory == OutputLayout::Memory::Own && isNumPyType(each.dtype);
  });
  state.layouts = made;
  const std::lock_guard lock(mutex_);
  if (layouts_.size() >= kLayoutsKept) layouts_.clear();
  layouts_.emplace(state.key, std::move(made));
  return *state.layouts;
}

nb::object Compiled::tryExecute(nb::handle inputs, nb::handle out) {
  const nb::object given = tupleOf(inputs);  // holds on to the arrays
  const nb::object written = out.is_none() ? nb::object() : tupleOf(out);
  Lease lease(*this);
  nb::object outputs = tryExecuteWith(lease.state(), given, written);
  lease.giveBack();
  return outputs;
}

nb::object Compiled::tryExecuteWith(CallState& state, nb::handle inputs, nb::handle written) {
  state.begin();
  if (!tryTake(inputs.ptr(), state)) return nb::none();
  const KnownLayouts& layouts = layoutsOf(state);
  const auto count = static_cast<Py_ssize_t>(given_outputs_);
  const bool fits = written.is_valid() ? PyTuple_Size(written.ptr()) == count : canMakeNumPyArrays();
  if (!layouts.is_plain || !fits) return nb::none();
  nb::object outputs = created(PyList_New(count));
  for (size_t i = 0; i < given_outputs_; ++i) {
    const auto at = static_cast<Py_ssize_t>(i);
    nb::object array = written.is_valid() ? nb::borrow(PyTuple_GetItem(written.ptr(), at))
                                          : created(newNumPyArray(layouts.outputs[i]));
    const auto described = numPyArrayOf(array.ptr());
    if (!described) return nb::none();
    PyList_SetItem(outputs.ptr(), at, array.release().ptr());
    const ErrorNote note([&] { return fmt::format("while taking output {}", i); });
    state.put(*described, state.outputs[i]);
  }
  const Unlocked unlocked;
  program_.runInto(state.inputs, state.outputs, state.stream(), state.scalars);
  device_->synchronize(state.stream());
  return outputs;
}

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
