#include "host/host_ir_evaluator.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>

#include <fmt/format.h>

#include "analysis/bind_shape.h"
#include "base/error.h"
#include "base/ranges.h"
#include "host/checker.h"
#include "host/given_memory.h"
#include "host/plan_key.h"
#include "host/recorder.h"
#include "host/verifier.h"
#include "ir/ops/host/post_on_stream.h"

namespace tokamak {

/// The values of one call, in the program's order.
struct HostIrEvaluator::Call {
  std::vector<Tensor> inputs;                            ///< the tensors among the inputs
  std::vector<std::pair<Scalar*, ScalarValue>> scalars;  ///< the scalars among the inputs
  std::vector<Tensor> outputs;                           ///< undefined where the caller gave none
};

struct HostIrEvaluator::CachedPlan {
  std::vector<int64_t> key;
  std::unique_ptr<Plan> plan;
};

namespace {

RunTensor describe(const Tensor& tensor, void* address) {
  RunTensor value;
  value.address = address;
  value.dtype = tensor.dtype();
  value.kind = tensor.kind();
  value.sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
  value.strides.assign(tensor.strides().begin(), tensor.strides().end());
  value.alignment = alignmentOf(tensor);
  return value;
}

int64_t bytesOf(const Tensor& tensor) { return spanOf(tensor.sizes(), tensor.strides()) * sizeOf(tensor.dtype()); }

// The storage of an output of a direct run goes back on a stream of the evaluator's, which therefore lives as long, and so do
// the works that may still run on it. Let go from the last to the first.
struct DirectOutput {
  std::shared_ptr<WorkCache> works;
  std::shared_ptr<Stream> home;
  std::shared_ptr<RunStreams> streams;
  std::shared_ptr<RunStorage> storage;
};

void waitForCompilers(const StepList& list) {
  static const RangeName range_name("wait for compilers");
  const Range range(range_name);
  for (const Step& step : list.steps) {
    if (step.work != nullptr) step.work->waitUntilReady();
  }
}

bool contains(const Tensor& tensor, const void* address) {
  const auto* first = static_cast<const std::byte*>(tensor.data());
  return address >= first && address < first + std::max<int64_t>(bytesOf(tensor), 1);
}

}  // namespace

HostIrEvaluator::HostIrEvaluator(std::unique_ptr<HostIrContainer> program, Device& device, HostIrEvaluatorParams params)
    : program_(std::move(program)),
      device_(&device),
      params_(params),
      run_name_("run " + program_->name()),
      works_(std::make_shared<WorkCache>()),
      home_(device.createStream()),
      streams_(std::make_shared<RunStreams>(device, params.number_of_streams)) {
  TK_REQUIRE(params.number_of_streams > 0, Usage, "the number of streams is {}; it must be positive",
             params.number_of_streams);
  TK_REQUIRE(params.output_allocator == nullptr || params.mode == HostIrEvaluatorParams::Mode::Plan, Usage,
             "an allocator for outputs was given to an evaluator without plans, which allocates them as it goes");
  verifyHostProgram(*program_);
  for (Val* input : program_->inputs()) {
    if (TensorView* tensor = asTensor(input)) input_tensors_.push_back(tensor);
    if (Scalar* scalar = asScalar(input)) input_scalars_.push_back(scalar);
  }
  scalars_by_id_.resize(input_scalars_.size());
  std::iota(scalars_by_id_.begin(), scalars_by_id_.end(), size_t{0});
  std::ranges::sort(scalars_by_id_, {}, [&](size_t i) { return input_scalars_[i]->id(); });
  if (params.mode == HostIrEvaluatorParams::Mode::Plan && device.properties().takes_parameters)
    parameters_ = std::make_unique<ScalarParameters>(*program_, params.units);
  const auto inputNumber = [&](TensorView* tensor) {
    const auto found = std::ranges::find(input_tensors_, program_->resolveAlias(tensor));
    return found == input_tensors_.end() ? -1 : found - input_tensors_.begin();
  };
  for (TensorView* output : program_->outputs())
    in_place_of_.push_back(program_->isInput(output) ? -1 : inputNumber(output));
  is_updated_.resize(input_tensors_.size(), false);
  forEachStatement(program_->topLevel(), [&](const Expr& expr) {
    const bool writes = expr.list() == OpList::Math || expr.is<PostOnStream>() || expr.info().is_communication;
    for (TensorView* out : writes ? tensorsOf(expr.outputs()) : std::vector<TensorView*>()) {
      if (const int64_t number = inputNumber(out); number >= 0) is_updated_[static_cast<size_t>(number)] = true;
    }
  });
}

// Works and plans go with the evaluator, so what uses them must be done. Asking does not take a failure from those who wait for
// the outputs, as synchronizing would.
HostIrEvaluator::~HostIrEvaluator() { waitUntilDone(); }

void HostIrEvaluator::waitUntilDone() const {
  const auto waitFor = [&](const Event& event) {
    while (!device_->isDone(event)) std::this_thread::sleep_for(std::chrono::microseconds(20));
  };
  for (const auto& cached : plans_) {
    if (const Event* last = cached->plan->lastCall(); last != nullptr) waitFor(*last);
  }
  for (const InFlight& call : in_flight_) waitFor(*call.done);
}

HostIrEvaluator::Call HostIrEvaluator::bind(const std::vector<std::pair<Val*, RunValue>>& values) const {
  Call call;
  const auto& program_outputs = program_->outputs();
  call.inputs.resize(input_tensors_.size());
  call.outputs.resize(program_outputs.size());
  for (const auto& [val, value] : values) {
    if (Scalar* scalar = asScalar(val)) {
      TK_REQUIRE(&scalar->fusion() == program_.get() && (program_->isInput(scalar) || scalar->isSymbol()), Bind,
                 "{} is no input of the program", toString(*scalar));
      TK_REQUIRE(std::ranges::find(call.scalars, scalar, &std::pair<Scalar*, ScalarValue>::first) == call.scalars.end(),
                 Bind, "{} is given twice", toString(*scalar));
      TK_REQUIRE(std::holds_alternative<ScalarValue>(value), Bind, "input {} is a scalar, but a tensor was given",
                 toString(*scalar));
      call.scalars.emplace_back(scalar, convertValue(std::get<ScalarValue>(value), scalar->dtype()));
      continue;
    }
    TensorView* tensor = asTensor(val);
    TK_REQUIRE(tensor != nullptr && std::holds_alternative<Tensor>(value), Bind,
               "{} is a tensor, but a scalar was given", tensor == nullptr ? "a stream" : toString(*tensor));
    const auto input = std::ranges::find(input_tensors_, tensor);
    const auto output = std::ranges::find(program_outputs, tensor);
    TK_REQUIRE(input != input_tensors_.end() || output != program_outputs.end(), Bind,
               "{} is neither an input nor an output of the program", toString(*tensor));
    Tensor& slot = input != input_tensors_.end() ? call.inputs[static_cast<size_t>(input - input_tensors_.begin())]
                                                 : call.outputs[static_cast<size_t>(output - program_outputs.begin())];
    TK_REQUIRE(!slot.isDefined(), Bind, "{} is given twice", toString(*tensor));
    slot = std::get<Tensor>(value);
  }
  // Whatever order they were given in, the plan is the same.
  std::ranges::sort(call.scalars, {}, [](const auto& given) { return given.first->id(); });
  return call;
}

// What a plan's key does not tell: that everything is there, on this device, and apart. Takes nothing from the heap.
void HostIrEvaluator::requirePlaces(std::span<const Tensor> inputs, std::span<const Tensor> outputs) const {
  const auto requireDevice = [&](const TensorView& tv, const Tensor& tensor) {
    TK_REQUIRE(&tensor.device() == device_, Bind, "{}: the given tensor is on device {}, the program runs on {}",
               toString(tv), tensor.device().properties().name, device_->properties().name);
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    TK_REQUIRE(inputs[i].isDefined(), Bind, "input {} is missing", toString(*input_tensors_[i]));
    requireDevice(*input_tensors_[i], inputs[i]);
    TK_REQUIRE(!is_updated_[i] || !inputs[i].buffer()->isReadOnly(), Bind,
               "input {} is updated in place, but the given tensor may not be written", toString(*input_tensors_[i]));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (size_t j = 0; j < inputs.size() && is_updated_[i]; ++j) {
      TK_REQUIRE(j == i || !sharesBytes(inputs[i], inputs[j]), Bind,
                 "input {} is updated in place, but the tensor given for it overlaps the one given for input {}",
                 toString(*input_tensors_[i]), toString(*input_tensors_[j]));
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].isDefined()) continue;
    TensorView* tv = program_->outputs()[i];
    requireDevice(*tv, outputs[i]);
    TK_REQUIRE(!outputs[i].buffer()->isReadOnly(), Bind, "output {}: the given tensor may not be written",
               toString(*tv));
    for (size_t j = 0; j < inputs.size(); ++j) {
      const bool is_in_place = static_cast<int64_t>(j) == in_place_of_[i];
      TK_REQUIRE(!is_in_place || isSameMemory(outputs[i], inputs[j]), Bind,
                 "output {} updates input {} in place; give that input's tensor for it, or none", toString(*tv),
                 toString(*input_tensors_[j]));
      TK_REQUIRE(
          is_in_place || !sharesBytes(outputs[i], inputs[j]), Bind,
          "the tensor given for output {} overlaps the one given for input {}; declare an alias for an in-place update",
          toString(*tv), toString(*input_tensors_[j]));
    }
    for (size_t j = 0; j < i; ++j) {
      TensorView* other = program_->outputs()[j];
      if (!outputs[j].isDefined()) continue;
      if (program_->resolveAlias(tv) == program_->resolveAlias(other)) {
        TK_REQUIRE(isSameMemory(outputs[i], outputs[j]), Bind,
                   "outputs {} and {} are one tensor by alias, but two were given", toString(*other), toString(*tv));
      } else {
        TK_REQUIRE(!sharesBytes(outputs[i], outputs[j]), Bind, "the tensors given for outputs {} and {} overlap",
                   toString(*other), toString(*tv));
      }
    }
  }
}

void HostIrEvaluator::validate(const Call& call, ScalarBindings& scalars) const {
  scalars.insert(call.scalars.begin(), call.scalars.end());
  const auto check = [&](const TensorView& tv, const Tensor& tensor) {
    TK_REQUIRE(tensor.dtype() == tv.dtype(), Bind, "{} takes elements of type {}, but the given tensor has {}",
               toString(tv), dataTypeName(tv.dtype()), dataTypeName(tensor.dtype()));
    // Where the host reads device memory, any memory will do.
    TK_REQUIRE(tensor.kind() == tv.memoryKind() || device_->properties().host_reads_device_memory, Bind,
               "{} takes {} memory, but the given tensor has {}", toString(tv), memoryKindName(tv.memoryKind()),
               memoryKindName(tensor.kind()));
  };
  for (size_t i = 0; i < input_tensors_.size(); ++i) {
    check(*input_tensors_[i], call.inputs[i]);
    bindShape(*input_tensors_[i], call.inputs[i].sizes(), scalars);
  }
  for (Val* input : program_->inputs()) {
    const Scalar* scalar = asScalar(input);
    TK_REQUIRE(scalar == nullptr || scalars.contains(scalar), Bind, "input {} is missing", toString(*scalar));
  }
  for (size_t i = 0; i < input_tensors_.size(); ++i) {
    requireLayout(*input_tensors_[i], call.inputs[i].sizes(), call.inputs[i].strides(), scalars);
  }
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (!call.outputs[i].isDefined()) continue;
    const TensorView& tv = *program_->outputs()[i];
    const Tensor& given = call.outputs[i];
    check(tv, given);
    const std::vector<int64_t> sizes = sizesOf(tv, scalars);
    TK_REQUIRE(std::ranges::equal(sizes, given.sizes()), Bind, "output {} has sizes [{}], but the given tensor [{}]",
               toString(tv), fmt::join(sizes, ", "), fmt::join(given.sizes(), ", "));
    const auto negative = std::ranges::find_if(given.strides(), [](int64_t stride) { return stride < 0; });
    TK_REQUIRE(negative == given.strides().end(), Bind,
               "output {}: the stride of axis {} is {}; strides cannot be negative", toString(tv),
               negative - given.strides().begin(), *negative);
    // One stored element stands for an expanded axis, in the caller's memory, too.
    const bool is_expanded =
        std::ranges::any_of(shapeOf(tv), [](const IterDomain* axis) { return axis->isBroadcast(); });
    TK_REQUIRE(is_expanded || !repeatsElements(given), Bind,
               "output {}: two elements of the given tensor share memory (sizes [{}], strides [{}])", toString(tv),
               fmt::join(given.sizes(), ", "), fmt::join(given.strides(), ", "));
  }
}

void HostIrEvaluator::makeKey(const Call& call, std::vector<int64_t>& key) const {
  key.clear();
  for (const Tensor& input : call.inputs) addToKey(input, key);
  for (const auto& [scalar, value] : call.scalars) {
    if (!isParameter(*scalar)) addToKey(*scalar, value, key);
  }
  for (const Tensor& output : call.outputs) {
    key.push_back(output.isDefined() ? 1 : 0);
    if (output.isDefined()) addToKey(output, key);
  }
}

// Parameters are passed with the launches: one plan serves all values.
bool HostIrEvaluator::isParameter(const Scalar& scalar) const {
  return parameters_ != nullptr && parameters_->contains(&scalar);
}

Plan* HostIrEvaluator::knownPlan() const {
  const auto found = std::ranges::find(plans_, key_, [](const auto& cached) -> const auto& { return cached->key; });
  return found == plans_.end() ? nullptr : (*found)->plan.get();
}

Plan& HostIrEvaluator::findPlan(const Call& call) {
  // A value that no key asks for must be there, too.
  for (const Scalar* input : input_scalars_) {
    const bool is_given =
        std::ranges::find(call.scalars, input, &std::pair<Scalar*, ScalarValue>::first) != call.scalars.end();
    TK_REQUIRE(is_given || !isParameter(*input), Bind, "input {} is missing", toString(*input));
  }
  makeKey(call, key_);
  if (Plan* plan = knownPlan()) return *plan;
  auto cached = std::make_unique<CachedPlan>();
  cached->key = key_;
  try {
    cached->plan = record(call);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::OutOfMemory || !dropPlansBut(nullptr)) throw;
    cached->plan = record(call);
  }
  plans_.push_back(std::move(cached));
  return *plans_.back()->plan;
}

bool HostIrEvaluator::isGiven(const Call& call, size_t output) const {
  return call.outputs[output].isDefined() && in_place_of_[output] < 0;
}

// An output that a statement makes a view of another tensor lies there, not in the memory that the caller gave.
void HostIrEvaluator::requireGivenWritten(const Call& call, const StatementRunner& runner,
                                          std::span<void* const> addresses) const {
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    TensorView* tv = program_->outputs()[i];
    const bool is_last_of_its_name = std::ranges::none_of(
        std::span(program_->outputs()).subspan(i + 1),
        [&](TensorView* later) { return program_->resolveAlias(later) == program_->resolveAlias(tv); });
    TK_REQUIRE(!isGiven(call, i) || !is_last_of_its_name || runner.value(tv).address == addresses[i], Bind,
               "output {} is a view of another tensor, so that it cannot be written into memory of the caller's; give "
               "none for it",
               toString(*tv));
  }
}

std::unique_ptr<Plan> HostIrEvaluator::record(const Call& call) {
  static const RangeName range_name("record plan");
  const Range range(range_name);
  ScalarBindings scalars;
  validate(call, scalars);
  Recorder recorder(device_);
  RunStreams recorded_streams(recorder, params_.number_of_streams);
  StatementRunner runner(*program_, recorder, recorder.callerStream(), recorded_streams, recorded_works_);
  runner.setUnitMode(params_.units);
  runner.scalars().insert(scalars.begin(), scalars.end());
  if (parameters_ != nullptr) runner.prepareParameters(*parameters_);
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    void* address = recorder.registerBuffer({.origin = StepBuffer::Origin::Input,
                                             .number = static_cast<int64_t>(i),
                                             .bytes = bytesOf(call.inputs[i]),
                                             .kind = call.inputs[i].kind(),
                                             .name = nameOf(*input_tensors_[i])});
    runner.bind(input_tensors_[i], describe(call.inputs[i], address));
  }
  int64_t output_buffers = 0;
  std::vector<void*> given(call.outputs.size(), nullptr);
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (!isGiven(call, i)) continue;
    TensorView* tv = program_->outputs()[i];
    void* address = recorder.registerBuffer({.origin = StepBuffer::Origin::Output,
                                             .number = output_buffers++,
                                             .bytes = bytesOf(call.outputs[i]),
                                             .kind = call.outputs[i].kind(),
                                             .name = nameOf(*tv)});
    runner.bind(tv, describe(call.outputs[i], address));
    given[i] = address;
  }
  runner.run();
  requireGivenWritten(call, runner, given);

  StepList& list = recorder.steps();
  std::vector<PlanOutput> outputs;
  std::vector<std::shared_ptr<RunStorage>> given_out;
  for (TensorView* tv : program_->outputs()) {
    const RunTensor& value = runner.value(tv);
    PlanOutput output{recorder.resolve(value.address), value.dtype, value.kind, value.sizes, value.strides};
    output.name = nameOf(*tv);
    output.is_view = program_->isView(tv) && runner.isBoundView(tv);
    StepBuffer& buffer = list.buffers[static_cast<size_t>(output.at.buffer)];
    if (buffer.origin == StepBuffer::Origin::Intermediate) {
      // What the program allocated and gives out becomes a buffer of the call; its Allocate step has nothing left to do.
      buffer.origin = StepBuffer::Origin::Output;
      buffer.number = output_buffers++;
      std::erase_if(list.steps, [&](const Step& step) {
        return step.kind == StepKind::Allocate && step.accesses[0].buffer == output.at.buffer;
      });
      given_out.push_back(value.storage);
    }
    outputs.push_back(std::move(output));
  }
  // Not before all outputs are known: several may lie in one buffer.
  for (const auto& storage : given_out) storage->disown();
  StepList recorded = list;
  if (params_.checks_plans) requireRaceFree(recorded);
  std::vector<Stream*> workers;
  for (int32_t i = 1; i < recorded.stream_count; ++i)
    workers.push_back(&streams_->worker(recorded_streams.indexOf(i - 1)));
  // Compilers worked side by side since the first statement was walked.
  waitForCompilers(recorded);
  auto plan = std::make_unique<Plan>(*device_, std::move(recorded), std::move(outputs), std::move(workers), home_);
  plan->tellCopiedViews(runner.copiedViews());
  if (params_.checks_plans) requireRaceFree(plan->steps());
  return plan;
}

void HostIrEvaluator::waitForInputs(std::span<const Tensor> inputs, Stream& stream) {
  for (const Tensor& input : inputs) {
    if (input.readyEvent() != nullptr) device_->wait(stream, *input.readyEvent());
  }
}

// One that nobody else holds.
std::shared_ptr<Event> HostIrEvaluator::takeEvent() {
  const auto free = std::ranges::find_if(ready_events_, [](const auto& event) { return event.use_count() == 1; });
  return free != ready_events_.end() ? *free : ready_events_.emplace_back(device_->createEvent());
}

// Plans of other sizes hold their intermediates; a request does not fail because of them.
bool HostIrEvaluator::dropPlansBut(const Plan* needed) {
  waitUntilDone();
  in_flight_.clear();
  return std::erase_if(plans_, [&](const auto& cached) { return cached->plan.get() != needed; }) > 0;
}

// Sets the addresses of the call, too: output buffers in the order of their numbers, those that the caller gave first.
HostIrEvaluator::FreshOutputs HostIrEvaluator::allocateOutputs(const Plan& plan, const Call& call) {
  FreshOutputs fresh(plan.steps().buffers.size());
  input_addresses_.clear();
  output_addresses_.clear();
  for (const Tensor& input : call.inputs) input_addresses_.push_back(input.data());
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (isGiven(call, i)) output_addresses_.push_back(call.outputs[i].data());
  }
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    const auto b = static_cast<size_t>(plan.outputs()[i].at.buffer);
    const StepBuffer& buffer = plan.steps().buffers[b];
    const bool is_fresh = buffer.origin == StepBuffer::Origin::Output && !call.outputs[i].isDefined() &&
                          fresh[b] == nullptr && buffer.number >= static_cast<int64_t>(output_addresses_.size());
    if (!is_fresh) continue;
    const auto describe = [&] {
      return fmt::format("while allocating {} bytes for output {}", buffer.bytes, buffer.name);
    };
    const ErrorNote note(describe);
    fresh[b] = allocateOutput(buffer.bytes, buffer.kind);
    output_addresses_.push_back(fresh[b]->address());
  }
  return fresh;
}

std::shared_ptr<Buffer> HostIrEvaluator::allocateOutput(int64_t bytes, MemoryKind kind) {
  if (params_.output_allocator == nullptr) return Buffer::allocate(*device_, home_, bytes, kind);
  constexpr uintptr_t kAlignment = 256;
  OutputAllocator::Block block = params_.output_allocator->allocate(bytes, kind, *home_);
  TK_REQUIRE(block.address != nullptr && reinterpret_cast<uintptr_t>(block.address) % kAlignment == 0, Bind,
             "allocating an output of {} bytes: the caller's allocator gave {}; a multiple of {} is legal", bytes,
             block.address, kAlignment);
  return Buffer::borrow(*device_, block.address, bytes, kind, std::move(block.keeper));
}

std::vector<Tensor> HostIrEvaluator::runPlan(const Call& call) {
  Plan& plan = findPlan(call);
  waitForInputs(call.inputs, *home_);
  FreshOutputs fresh;
  try {
    fresh = allocateOutputs(plan, call);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::OutOfMemory || !dropPlansBut(&plan)) throw;
    fresh = allocateOutputs(plan, call);
  }
  for (const auto& [scalar, value] : call.scalars) parameter_values_.set(*scalar, value);
  const std::shared_ptr<Event> done = takeEvent();
  plan.replay(input_addresses_, output_addresses_, parameter_values_.bitsOf(plan.parameters()), *home_, done);
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    const PlanOutput& output = plan.outputs()[i];
    const auto b = static_cast<size_t>(output.at.buffer);
    if (call.outputs[i].isDefined()) {
      outputs.push_back(call.outputs[i]);
    } else if (fresh[b] != nullptr) {
      outputs.emplace_back(fresh[b], output.at.offset, output.dtype, output.sizes, output.strides);
    } else if (plan.steps().buffers[b].origin == StepBuffer::Origin::Input) {
      const Tensor& input = call.inputs[static_cast<size_t>(plan.steps().buffers[b].number)];
      outputs.emplace_back(input.buffer(), input.offsetBytes() + output.at.offset, output.dtype, output.sizes,
                           output.strides);
    } else {
      const Tensor& shared = givenOutput(plan, call, output.at.buffer);
      outputs.emplace_back(shared.buffer(), shared.offsetBytes() + output.at.offset, output.dtype, output.sizes,
                           output.strides);
    }
    outputs.back().setReadyEvent(done);
  }
  return outputs;
}

// The caller's memory that a view of another output lies in.
const Tensor& HostIrEvaluator::givenOutput(const Plan& plan, const Call& call, int32_t buffer) {
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (call.outputs[i].isDefined() && plan.outputs()[i].at.buffer == buffer) return call.outputs[i];
  }
  TK_RAISE(Internal, "no output was given for buffer {} of the plan", buffer);
}

std::vector<Tensor> HostIrEvaluator::runDirect(const Call& call) {
  ScalarBindings scalars;
  validate(call, scalars);
  waitForInputs(call.inputs, *home_);
  StatementRunner runner(*program_, *device_, *home_, *streams_, *works_);
  runner.setUnitMode(params_.units);
  runner.scalars().insert(scalars.begin(), scalars.end());
  for (size_t i = 0; i < call.inputs.size(); ++i)
    runner.bind(input_tensors_[i], describe(call.inputs[i], call.inputs[i].data()));
  std::vector<void*> given(call.outputs.size(), nullptr);
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (!isGiven(call, i)) continue;
    given[i] = call.outputs[i].data();
    runner.bind(program_->outputs()[i], describe(call.outputs[i], given[i]));
  }
  runner.run();
  requireGivenWritten(call, runner, given);
  const std::shared_ptr<Event> done = takeEvent();
  device_->record(*done, *home_);
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    const RunTensor& value = runner.value(program_->outputs()[i]);
    if (call.outputs[i].isDefined()) {
      outputs.push_back(call.outputs[i]);
    } else if (value.storage == nullptr) {
      const Tensor& memory = callersMemory(call, value.address);
      const auto offset =
          static_cast<const std::byte*>(value.address) - static_cast<const std::byte*>(memory.buffer()->address());
      outputs.emplace_back(memory.buffer(), offset, value.dtype, value.sizes, value.strides);
    } else {
      outputs.push_back(
          Tensor::borrow(*device_, value.address, value.dtype, value.sizes, value.strides, value.kind,
                         std::make_shared<DirectOutput>(DirectOutput{works_, home_, streams_, value.storage})));
    }
    outputs.back().setReadyEvent(done);
  }
  return outputs;
}

// What the caller gave that the address lies in.
const Tensor& HostIrEvaluator::callersMemory(const Call& call, const void* address) {
  for (const std::vector<Tensor>* tensors : {&call.inputs, &call.outputs}) {
    for (const Tensor& tensor : *tensors) {
      if (tensor.isDefined() && contains(tensor, address)) return tensor;
    }
  }
  TK_RAISE(Internal, "an output lies in no memory that the caller gave");
}

std::vector<Tensor> HostIrEvaluator::runWithInput(const std::vector<std::pair<Val*, RunValue>>& values) {
  const Range range(run_name_);
  const std::lock_guard lock(mutex_);
  const Call call = bind(values);
  requirePlaces(call.inputs, call.outputs);
  try {
    std::vector<Tensor> outputs = params_.mode == HostIrEvaluatorParams::Mode::Direct ? runDirect(call) : runPlan(call);
    keepUntilDone(call);
    return outputs;
  } catch (...) {
    // A direct run may have got half way: what it enqueued still uses the caller's memory.
    streams_->joinInto(*home_);
    keepUntilDone(call);
    throw;
  }
}

// The caller's tensors may be let go as soon as it has the outputs. Their memory would go back on a stream that knows nothing of
// the work here, so they are held until that is done: the next call lets go of what is.
void HostIrEvaluator::keepUntilDone(const Call& call) {
  std::unique_ptr<Event> event;
  std::erase_if(in_flight_, [&](InFlight& earlier) {
    if (!device_->isDone(*earlier.done)) return false;
    event = std::move(earlier.done);
    return true;
  });
  if (event == nullptr) event = device_->createEvent();
  device_->record(*event, *home_);
  InFlight& now = in_flight_.emplace_back();
  now.done = std::move(event);
  now.tensors = call.inputs;
  for (const Tensor& output : call.outputs) {
    if (output.isDefined()) now.tensors.push_back(output);
  }
}

Plan& HostIrEvaluator::planFor(const std::vector<std::pair<Val*, RunValue>>& values) {
  const std::lock_guard lock(mutex_);
  const Call call = bind(values);
  requirePlaces(call.inputs, call.outputs);
  return findPlan(call);
}

void HostIrEvaluator::run(std::span<const Tensor> inputs, std::span<Tensor> outputs, Stream& stream,
                          std::span<const ScalarValue> scalars) {
  const Range range(run_name_);
  const std::lock_guard lock(mutex_);
  TK_REQUIRE(inputs.size() == input_tensors_.size() && outputs.size() == program_->outputs().size(), Bind,
             "run: {} inputs and {} outputs given; the program has {} and {}", inputs.size(), outputs.size(),
             input_tensors_.size(), program_->outputs().size());
  TK_REQUIRE(scalars.size() == input_scalars_.size(), Bind, "run: {} scalars given; the program takes {}",
             scalars.size(), input_scalars_.size());
  for (const Tensor& output : outputs) {
    TK_REQUIRE(output.isDefined(), Bind, "run: an output has no storage; runWithInput allocates outputs");
  }
  requirePlaces(inputs, outputs);
  const std::unique_ptr<Capture> capture = device_->joinCapture(stream);
  key_.clear();
  for (const Tensor& input : inputs) addToKey(input, key_);
  for (const size_t i : scalars_by_id_) {
    const ScalarValue value = convertValue(scalars[i], input_scalars_[i]->dtype());
    if (!isParameter(*input_scalars_[i])) addToKey(*input_scalars_[i], value, key_);
    parameter_values_.set(*input_scalars_[i], value);
  }
  for (const Tensor& output : outputs) {
    key_.push_back(1);
    addToKey(output, key_);
  }
  Plan* plan = knownPlan();
  if (plan == nullptr) {
    Call call;
    call.inputs.assign(inputs.begin(), inputs.end());
    for (const size_t i : scalars_by_id_)
      call.scalars.emplace_back(input_scalars_[i], convertValue(scalars[i], input_scalars_[i]->dtype()));
    call.outputs.assign(outputs.begin(), outputs.end());
    plan = &findPlan(call);
  }
  input_addresses_.clear();
  output_addresses_.clear();
  for (const Tensor& input : inputs) input_addresses_.push_back(input.data());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (in_place_of_[i] < 0) output_addresses_.push_back(outputs[i].data());
  }
  if (capture != nullptr) {
    plan->replayInto(*capture, input_addresses_, output_addresses_, parameter_values_.bitsOf(plan->parameters()),
                     stream);
    for (Tensor& output : outputs) output.setReadyEvent(nullptr);
    return;
  }
  waitForInputs(inputs, stream);
  const std::shared_ptr<Event> done = takeEvent();
  plan->replay(input_addresses_, output_addresses_, parameter_values_.bitsOf(plan->parameters()), stream, done);
  for (Tensor& output : outputs) output.setReadyEvent(done);
}

}  // namespace tokamak
