#include "python/compiled.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "analysis/shards.h"
#include "base/require.h"
#include "compile/make_program.h"
#include "compile/multi_device_executor.h"
#include "host/plan/plan_key.h"
#include "host/run/given_block.h"
#include "ir/clone.h"
#include "jit/open_device.h"
#include "kernel/kernel.h"
#include "python/array_type.h"
#include "python/call_difference.h"
#include "python/communicators.h"
#include "python/compile_watch.h"
#include "python/numpy_arrays.h"
#include "python/profile.h"
#include "python/unlocked.h"
#include "runtime/cpu/open_mp.h"
#include "schedule/shardings_aside.h"

namespace nb = nanobind;

namespace tokamak::python {

namespace {

constexpr size_t kLayoutsKept = 256;

// Arrays that are not there lie one behind the other, each at a multiple of it.
constexpr uintptr_t kPage = 4096;

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

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Whether one device has all of all tensors, as their meshes say. Errors: those of shardsOf(), for marks that no device
// can have.
bool isOfOneDevice(const Fusion& fusion) {
  const TensorView* first = nullptr;
  for (const TensorView* tensor : fusion.allTensors()) {
    shardsOf(*tensor);
    if (tensor->mesh().empty()) continue;
    if (first == nullptr) first = tensor;
    if (tensor->mesh().devices.size() != 1 || tensor->mesh().devices != first->mesh().devices) return false;
  }
  return true;
}

// Calls use(fusion) with what is compiled.
template <class Use>
auto withFusion(const Fusion& given, const CompileOptions& options, const KernelTarget& target, const Use& use) {
  std::unique_ptr<Fusion> own;
  std::optional<ShardingsAside> aside;
  if (options.communicator == nullptr && hasShardings(given)) {
    own = cloneFusion(given);
    if (isOfOneDevice(*own)) aside.emplace(*own);
  }
  const Fusion& fusion = aside ? *own : given;
  if (!options.keeps_schedule || target.kind != TargetKind::Cpu) return use(fusion);
  return use(*withoutThreads(fusion));
}

// Whether several elements are one in memory.
bool isExpanded(const OutputLayout& layout) {
  for (size_t i = 0; i < layout.sizes.size(); ++i) {
    if (layout.strides[i] == 0 && layout.sizes[i] > 1) return true;
  }
  return false;
}

// The same output with memory of its own for each element.
OutputLayout inFull(const OutputLayout& layout) {
  OutputLayout full = {.kind = layout.kind, .dtype = layout.dtype, .sizes = layout.sizes, .strides = layout.strides};
  fillRowMajorStrides(full.sizes, full.strides);
  full.bytes = checkedNumel(full.sizes) * sizeOf(full.dtype);
  return full;
}

bool liesAs(const Tensor& tensor, const OutputLayout& layout) {
  return std::ranges::equal(tensor.sizes(), layout.sizes) && std::ranges::equal(tensor.strides(), layout.strides);
}

}  // namespace

CompiledSource compiledFusion(std::shared_ptr<const Fusion> fusion, Device& device, const CompileOptions& options) {
  const Clock::time_point start = Clock::now();
  Program program = withFusion(*fusion, options, device.kernelTarget(),
                               [&](const Fusion& it) { return compile(it, device, options); });
  return {.program = std::move(program),
          .fusion = std::move(fusion),
          .options = options,
          .seconds_to_lower = secondsSince(start)};
}

Compiled::Compiled(CompiledSource source, std::shared_ptr<OpenedDevice> device,
                   std::shared_ptr<OpenedCommunicator> communicator)
    : opened_(std::move(device)),
      device_(opened_->device.get()),
      is_on_processor_(isOnProcessor(*device_)),
      place_(opened_->place()),
      communicator_(std::move(communicator)),
      source_(std::move(source)),
      inputs_(executorOf(source_.program).program().inputs()) {
  const HostIrEvaluator& evaluator = executorOf(source_.program).evaluator();
  for (Val* input : inputs_) {
    if (const Scalar* scalar = asScalar(input))
      key_scalars_.push_back(evaluator.isParameter(*scalar) ? nullptr : scalar);
  }
  has_key_scalars_ = std::ranges::any_of(key_scalars_, [](const Scalar* each) { return each != nullptr; });
  input_tensors_ = inputs_.size() - key_scalars_.size();
  given_outputs_ = source_.program.outputNames().size();
}

void LastCall::note(const std::shared_ptr<const KnownLayouts>& layouts, std::span<const ScalarValue> scalars) {
  const std::lock_guard lock(mutex_);
  scalars_.assign(scalars.begin(), scalars.end());
  if (layouts_ == layouts) return;
  layouts_ = layouts;
  inputs_.reset();
}

void LastCall::note(std::vector<Argument> inputs) {
  const std::lock_guard lock(mutex_);
  inputs_ = std::move(inputs);
  layouts_ = nullptr;
}

std::optional<std::vector<Argument>> LastCall::inputs() {
  const std::lock_guard lock(mutex_);
  if (layouts_ == nullptr) return inputs_;
  std::vector<Argument> inputs = layouts_->inputs;
  size_t scalars = 0;
  for (Argument& each : inputs) {
    if (std::holds_alternative<ScalarValue>(each.value())) each = scalars_[scalars++];
  }
  return inputs;
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

// False for all but arrays of NumPy's and of types with a table, which `type` is then, in memory of the device.
bool Compiled::view(PyObject* given, ArrayView& view, const ArrayType*& type) const {
  if (viewNumPyArray(given, view)) return is_on_processor_;
  type = ArrayType::of(given, type);
  return type != nullptr && type->view(given, view) && view.device == place_;
}

// False where an input is something else than such an array or, for a scalar, a number.
bool Compiled::tryTake(PyObject* inputs, CallState& state) const {
  if (PyTuple_Size(inputs) != static_cast<Py_ssize_t>(inputs_.size())) return false;
  size_t tensors = 0;
  size_t i = 0;
  const ArrayType* type = nullptr;
  const auto describe = [&i] { return fmt::format("while taking input {}", i); };
  const ErrorNote note(describe);
  for (; i < inputs_.size(); ++i) {
    PyObject* const given = PyTuple_GetItem(inputs, static_cast<Py_ssize_t>(i));
    if (asTensor(inputs_[i]) == nullptr) {
      const auto number = numberOf(given, inputs_[i]->dtype());
      if (!number) return false;
      state.scalars.push_back(*number);
      continue;
    }
    ArrayView array;
    if (!view(given, array, type)) return false;
    if (tensors == 0) state.type = type;
    if (!is_on_processor_ && type != state.type) return false;  // whose stream is another one
    state.put(array, state.inputs[tensors++]);
  }
  return true;
}

// The caller's stream of a GPU.
bool Compiled::tryAdopt(CallState& state) const {
  CallersStream stream;
  if (state.type == nullptr || !state.type->currentStream(place_, stream)) return false;
  state.adopt(stream);
  return true;
}

std::shared_ptr<const KnownLayouts> Compiled::knownLayouts(const std::vector<int64_t>& key) {
  const std::lock_guard lock(mutex_);
  const auto found = layouts_.find(key);
  return found == layouts_.end() ? nullptr : found->second;
}

std::vector<Argument> Compiled::argumentsOf(const CallState& state) const {
  std::vector<Argument> arguments;
  size_t tensors = 0, scalars = 0;
  for (Val* input : inputs_) {
    if (asTensor(input) != nullptr)
      arguments.emplace_back(state.inputs[tensors++]);
    else
      arguments.emplace_back(state.scalars[scalars++]);
  }
  return arguments;
}

const KnownLayouts& Compiled::layoutsOf(CallState& state) {
  if (state.memo.lies_alike && state.layouts != nullptr && !has_key_scalars_) return *state.layouts;
  for (const Tensor& input : state.inputs) addToKey(input, state.key);
  for (size_t i = 0; i < state.scalars.size(); ++i) {
    if (key_scalars_[i] != nullptr) addToKey(*key_scalars_[i], state.scalars[i], state.key);
  }
  if (state.layouts != nullptr && state.layouts->key == state.key) return *state.layouts;
  state.layouts = knownLayouts(state.key);
  if (state.layouts != nullptr) return *state.layouts;
  const std::vector<Argument> arguments = argumentsOf(state);
  auto made = std::make_shared<KnownLayouts>();
  const Clock::time_point start = Clock::now();
  {
    const Unlocked unlocked;
    ++lookups_of_layouts_;
    made->outputs = source_.program.outputLayouts(arguments, watchedPrepare());
  }
  noteNewCall(argumentsOn(*device_, arguments), secondsSince(start));
  made->key = state.key;
  made->inputs = argumentsOn(*device_, arguments);
  const auto isOwn = [](const OutputLayout& each) { return each.memory == OutputLayout::Memory::Own; };
  made->are_own = std::ranges::all_of(made->outputs, isOwn);
  for (OutputLayout& each : made->outputs) {
    if (!isExpanded(each)) continue;
    each = inFull(each);
    made->are_programs = false;
  }
  state.layouts = made;
  const std::lock_guard lock(mutex_);
  if (layouts_.size() >= kLayoutsKept) layouts_.clear();
  layouts_.emplace(state.key, std::move(made));
  return *state.layouts;
}

nb::object Compiled::tryExecute(nb::handle inputs, nb::handle out, LastCall& last) {
  MeasuredCall measured(source_.program);
  const nb::object given = tupleOf(inputs);  // holds on to the arrays
  const nb::object written = out.is_none() ? nb::object() : tupleOf(out);
  Lease lease(*this);
  nb::object outputs = tryExecuteWith(lease.state(), given, written);
  if (outputs.is_none())
    measured.forget();
  else
    last.note(lease.state().layouts, lease.state().scalars);
  lease.giveBack();
  return outputs;
}

// By the library that made the first array.
nb::object Compiled::newOutput(const CallState& state, const OutputLayout& layout, ArrayView& view) const {
  if (state.type != nullptr) return created(state.type->make(layout, place_, view));
  nb::object array = created(newNumPyArray(layout));
  viewNumPyArray(array.ptr(), view);
  return array;
}

nb::object Compiled::tryExecuteWith(CallState& state, nb::handle inputs, nb::handle written) {
  nb::object outputs = tryBind(state, inputs, written);
  if (!outputs.is_none()) runWith(state);
  return outputs;
}

// None where it cannot be: of the outputs, a list.
nb::object Compiled::tryBind(CallState& state, nb::handle inputs, nb::handle written) {
  state.begin();
  if (!tryTake(inputs.ptr(), state) || (!is_on_processor_ && !tryAdopt(state))) return nb::none();
  const KnownLayouts& layouts = layoutsOf(state);
  const bool fits = written.is_valid() ? PyTuple_Size(written.ptr()) == static_cast<Py_ssize_t>(given_outputs_)
                                       : state.type != nullptr || (input_tensors_ > 0 && canMakeNumPyArrays());
  if (!layouts.are_own || !fits) return nb::none();
  nb::object outputs = tryTakeOutputs(state, layouts, written);
  if (outputs.is_none() || state.memo.lies_alike) return outputs;
  bool lies_as_known = layouts.are_programs;
  for (size_t i = 0; i < given_outputs_ && lies_as_known; ++i)
    lies_as_known = liesAs(state.outputs[i], layouts.outputs[i]);
  if (!lies_as_known) prepareForOutputs(state);
  return outputs;
}

// A list of `written`, or of new ones.
nb::object Compiled::tryTakeOutputs(CallState& state, const KnownLayouts& layouts, nb::handle written) const {
  nb::object outputs = created(PyList_New(static_cast<Py_ssize_t>(given_outputs_)));
  size_t i = 0;
  const auto describe = [&i] { return fmt::format("while taking output {}", i); };
  const ErrorNote note(describe);
  for (; i < given_outputs_; ++i) {
    const auto at = static_cast<Py_ssize_t>(i);
    ArrayView lain;
    nb::object array = written.is_valid() ? nb::borrow(PyTuple_GetItem(written.ptr(), at))
                                          : newOutput(state, layouts.outputs[i], lain);
    const ArrayType* type = nullptr;
    if (written.is_valid() && !view(array.ptr(), lain, type)) return nb::none();
    if (!is_on_processor_ && (lain.device != place_ || (written.is_valid() && type != state.type))) return nb::none();
    PyList_SetItem(outputs.ptr(), at, array.release().ptr());
    state.put(lain, state.outputs[i]);
  }
  return outputs;
}

// Outputs that lie otherwise than those of the program's own have plans of their own.
void Compiled::prepareForOutputs(const CallState& state) {
  std::vector<RunValue> values;
  for (const Argument& each : argumentsOf(state)) values.push_back(each.value());
  const Unlocked unlocked;
  executorOf(source_.program).sharedPlanFor(values, state.outputs, watchedPrepare());
}

// Without the interpreter's lock.
template <class Call>
void Compiled::whileRanksWait(const Call& call) {
  if (source_.options.communicator == nullptr) return call();
  const HostIrEvaluator& evaluator = executorOf(source_.program).evaluator();
  waitInterruptibly([&](const std::exception_ptr& error) { evaluator.endCall(error); }, call);
}

void Compiled::runWith(CallState& state) {
  const OnOpenMp scope(state.type == nullptr ? nullptr : state.type->openMp());
  const Unlocked unlocked;
  whileRanksWait([&] {
    source_.program.runInto(state.inputs, state.outputs, state.stream(), state.scalars, &state.memo);
    if (is_on_processor_) device_->synchronize(state.stream());
  });
  state.noteDone();
}

std::vector<OutputLayout> Compiled::outputLayoutsFor(const std::vector<AbstractArray>& arrays,
                                                     const std::vector<ScalarValue>& numbers) {
  TK_REQUIRE(arrays.size() == input_tensors_ && numbers.size() == inputs_.size() - input_tensors_, Bind,
             "{} arrays and {} numbers for a program that takes {} and {}", arrays.size(), numbers.size(),
             input_tensors_, inputs_.size() - input_tensors_);
  std::vector<Argument> arguments;
  size_t tensors = 0, scalars = 0;
  uintptr_t address = kPage;
  for (Val* input : inputs_) {
    if (asTensor(input) == nullptr) {
      arguments.emplace_back(numbers[scalars++]);
      continue;
    }
    const AbstractArray& array = arrays[tensors++];
    std::vector<int64_t> strides = array.strides.value_or(std::vector<int64_t>(array.sizes.size()));
    if (!array.strides) fillRowMajorStrides(array.sizes, strides);
    const auto describe = [&] { return fmt::format("while taking input {}", arguments.size()); };
    const ErrorNote note(describe);
    const Tensor tensor =
        Tensor::borrow(*device_, std::bit_cast<void*>(address), array.dtype, array.sizes, strides, MemoryKind::Device);
    address += (static_cast<uintptr_t>(tensor.numel() * sizeOf(array.dtype)) / kPage + 1) * kPage;
    arguments.emplace_back(tensor);
  }
  const Unlocked unlocked;
  return source_.program.outputLayouts(arguments);
}

void Compiled::run(std::span<const ArrayView> inputs, std::span<const ArrayView> outputs,
                   const std::vector<ScalarValue>& numbers, void* stream) {
  Lease lease(*this);
  CallState& state = lease.state();
  state.begin();
  state.scalars = numbers;
  for (size_t i = 0; i < inputs.size(); ++i) state.put(inputs[i], state.inputs.at(i));
  for (size_t i = 0; i < outputs.size(); ++i) state.put(outputs[i], state.outputs.at(i));
  if (!is_on_processor_) state.adopt({.handle = stream});
  if (!state.memo.lies_alike) state.layouts = nullptr;
  source_.program.runInto(state.inputs, state.outputs, state.stream(), state.scalars, &state.memo);
  if (is_on_processor_) device_->synchronize(state.stream());
  state.noteDone();
  lease.giveBack();
}

std::shared_ptr<Stream> Compiled::streamOf(const std::optional<CallersStream>& stream) {
  if (stream && !is_on_processor_) return adopt(*device_, *stream);
  const std::lock_guard lock(mutex_);
  if (stream_ == nullptr) stream_ = device_->createStream();
  return stream_;
}

std::unique_ptr<PythonCall> Compiled::call(const std::vector<PyObject*>& inputs,
                                           const std::optional<CallersStream>& stream) {
  return std::make_unique<PythonCall>(*this, inputs, stream);
}

PythonCall::PythonCall(Compiled& compiled, const std::vector<PyObject*>& inputs,
                       const std::optional<CallersStream>& stream)
    : compiled_(compiled),
      has_callers_stream_(stream.has_value()),
      stream_(compiled.streamOf(stream)),
      arrays_(std::make_unique<CallArrays>(*compiled.opened_, stream_)) {
  const std::vector<Val*>& wanted = compiled.inputs_;
  TK_REQUIRE(inputs.size() == wanted.size(), Bind, "{} inputs for a definition that has {}", inputs.size(),
             wanted.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (const ArrayType* const type = ArrayType::of(inputs[i]); open_mp_ == nullptr && type != nullptr)
      open_mp_ = type->openMp();
    arguments_.push_back(
        arrays_->argument(inputs[i], asTensor(wanted[i]), wanted[i]->dtype(), fmt::format("input {}", i)));
  }
}

std::vector<KernelText> Compiled::kernelTexts(std::span<const Argument> inputs, bool is_cuda) const {
  TK_REQUIRE(source_.fusion != nullptr, Unsupported,
             "the source of {}: host programs and programs from files have none; definitions have",
             source_.program.name());
  const Unlocked unlocked;
  KernelTarget target = device_->kernelTarget();
  if (is_cuda && is_on_processor_) target = hopperTarget();
  return withFusion(*source_.fusion, source_.options, target,
                    [&](const Fusion& fusion) { return kernelTextsOf(fusion, target, source_.options, inputs); });
}

std::optional<std::vector<KernelText>> Compiled::kernelTexts(LastCall& last, bool is_cuda) const {
  const std::optional<std::vector<Argument>> inputs = last.inputs();
  if (!inputs) return std::nullopt;
  return kernelTexts(*inputs, is_cuda);
}

Explanation Compiled::explain(std::span<const Argument> inputs) const {
  const Fusion& fusion = requireFusion("explain");
  const Unlocked unlocked;
  return withFusion(fusion, source_.options, device_->kernelTarget(), [&](const Fusion& it) {
    return tokamak::explain(it, *device_, source_.options, inputs, watchedPrepare());
  });
}

const Fusion& Compiled::requireFusion(std::string_view what) const {
  TK_REQUIRE(source_.fusion != nullptr, Unsupported,
             "{}: {} is a host program, or comes from a file; what is legal is a program that was compiled from a "
             "definition or from the text of a fusion",
             what, source_.program.name());
  return *source_.fusion;
}

std::optional<Explanation> Compiled::explain(LastCall& last) const {
  const std::optional<std::vector<Argument>> inputs = last.inputs();
  if (!inputs) return std::nullopt;
  return explain(*inputs);
}

std::vector<ProgramPicture> Compiled::pictures(std::optional<std::span<const Argument>> inputs,
                                               const std::string& id_prefix) const {
  const Fusion& fusion = requireFusion("pictures");
  const Unlocked unlocked;
  return withFusion(fusion, source_.options, device_->kernelTarget(), [&](const Fusion& it) {
    return programPictures(it, *device_, source_.options, inputs, id_prefix, watchedPrepare());
  });
}

std::vector<ProgramPicture> Compiled::pictures(LastCall& last, const std::string& id_prefix) const {
  const std::optional<std::vector<Argument>> inputs = last.inputs();
  if (!inputs) return pictures(std::nullopt, id_prefix);
  return pictures(std::span<const Argument>(*inputs), id_prefix);
}

void Compiled::noteNewCall(const std::vector<Argument>& inputs, double seconds) {
  constexpr size_t kMost = 64;
  const std::lock_guard lock(mutex_);
  if (new_calls_.size() >= kMost) return;
  new_calls_.push_back({inputsText(inputs), differenceFromNearest(known_calls_, inputs), seconds});
  known_calls_.push_back(inputs);
}

std::vector<NewCall> Compiled::newCalls() {
  const std::lock_guard lock(mutex_);
  return new_calls_;
}

Explanation PythonCall::explain() const { return compiled_.explain(arguments_); }

std::vector<KernelText> PythonCall::kernelTexts(bool is_cuda) const {
  return compiled_.kernelTexts(arguments_, is_cuda);
}

std::vector<OutputLayout> PythonCall::outputLayouts() {
  Program& program = compiled_.source_.program;
  const int64_t known = program.statistics().new_calls;
  const Clock::time_point start = Clock::now();
  std::vector<OutputLayout> layouts;
  {
    const Unlocked unlocked;
    ++compiled_.lookups_of_layouts_;
    layouts = program.outputLayouts(arguments_, watchedPrepare());
  }
  if (program.statistics().new_calls != known)
    compiled_.noteNewCall(argumentsOn(*compiled_.device_, arguments_), secondsSince(start));
  return layouts;
}

std::shared_ptr<const Plan> PythonCall::plan() {
  std::vector<RunValue> values;
  for (const Argument& each : arguments_) values.push_back(each.value());
  const Unlocked unlocked;
  return executorOf(compiled_.source_.program).sharedPlanFor(values, {}, watchedPrepare());
}

void PythonCall::run(const std::vector<PyObject*>& outputs, LastCall& last) {
  TK_REQUIRE(arrays_ != nullptr, Usage, "a call runs once");
  const MeasuredCall measured(compiled_.source_.program);
  std::vector<Tensor> given;
  for (size_t i = 0; i < outputs.size(); ++i)
    given.push_back(outputs[i] == Py_None ? Tensor() : arrays_->output(outputs[i], fmt::format("output {}", i)));
  {
    const OnOpenMp scope(open_mp_);
    const Unlocked unlocked;
    if (compiled_.is_on_processor_) {
      const PrepareOptions prepare = watchedPrepare();
      compiled_.whileRanksWait([&] {
        for (const Tensor& each : compiled_.source_.program.run(arguments_, given, nullptr, prepare)) each.waitReady();
      });
    } else {
      compiled_.source_.program.run(arguments_, given, stream_, watchedPrepare());
      if (!has_callers_stream_) stream_->synchronize();
    }
  }
  given.clear();
  last.note(argumentsOn(*compiled_.device_, arguments_));
  arguments_.clear();
  arrays_ = nullptr;
  compiled_.opened_->arrays.collect();
}

BoundCall::BoundCall(Compiled& compiled, nb::handle inputs, nb::handle out)
    : compiled_(compiled),
      inputs_(tupleOf(inputs)),
      state_(*compiled.device_, compiled.input_tensors_, compiled.given_outputs_) {
  const nb::object made = compiled.tryBind(state_, inputs_, out.is_none() ? nb::object() : tupleOf(out));
  TK_REQUIRE(
      !made.is_none(), Unsupported,
      "{} cannot be bound to these inputs and outputs: legal are as many arrays and numbers as it has inputs, of "
      "NumPy or torch, on its device, and as many such arrays as it has outputs, which are no views; call it instead",
      compiled.source_.program.name());
  outputs_ = tupleOf(made);
}

// One thread after the other, and without the interpreter's lock while it waits.
void BoundCall::run() {
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) {
    const Unlocked unlocked;
    lock.lock();
  }
  const MeasuredCall measured(compiled_.source_.program);
  if (state_.isSpent()) compiled_.tryBind(state_, inputs_, outputs_);
  if (!compiled_.is_on_processor_) compiled_.tryAdopt(state_);
  compiled_.runWith(state_);
}

}  // namespace tokamak::python
