#include "compile/program.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <set>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "analysis/bind_shape.h"
#include "base/require.h"
#include "base/text.h"
#include "compile/fitting_number.h"
#include "compile/interface_names.h"
#include "compile/make_program.h"
#include "compile/multi_device_executor.h"
#include "define/callables.h"
#include "dist/job_communicator.h"
#include "host/ir/text/host_printer.h"
#include "ir/clone.h"
#include "ir/text/fusion_parser.h"
#include "ir/text/names.h"
#include "schedule/commands.h"

namespace tokamak {

namespace {

// A tensor that says how memory will look, and has none: a plan is made of its sizes, strides and alignment. Places are
// apart, as memory of two inputs is.
// At `next`, which then lies behind it.
Tensor tensorWithoutMemory(Device& device, const TensorView& tv, const ScalarBindings& sizes, uintptr_t& next) {
  constexpr uintptr_t kApart = uintptr_t{1} << 40;
  const std::vector<int64_t> shape = sizesOf(tv, sizes);
  const std::vector<int64_t> strides = freshStrides(tv, shape);
  auto* const address = reinterpret_cast<void*>(next);  // NOLINT(performance-no-int-to-ptr)
  Tensor tensor =
      Tensor::borrow(device, address, tv.dtype(), shape, strides, tv.memoryKind(), nullptr, Buffer::Lender::Allocator);
  next += (static_cast<uintptr_t>(tensor.buffer()->bytes()) / kApart + 1) * kApart;
  return tensor;
}

// Errors: Bind for a number that becomes another one in the scalar's integer type.
void requireFitting(std::string_view what, const Scalar& scalar, const ScalarValue& number) {
  const DataType dtype = scalar.dtype();
  TK_REQUIRE(fits(number, dtype), Bind, "{} {}: {} was given; an {} is a whole number from {} - 1", what,
             toString(scalar), std::visit([](auto value) { return fmt::format("{}", value); }, number),
             dataTypeName(dtype), dtype == DataType::I32 ? "-2^31 to 2^31" : "-2^63 to 2^63");
}

}  // namespace

int64_t Argument::checked(uint64_t number) {
  TK_REQUIRE(number <= static_cast<uint64_t>(INT64_MAX), Bind, "argument: {} was given; integers are below 2^63",
             number);
  return static_cast<int64_t>(number);
}

Program::Program(std::unique_ptr<MultiDeviceExecutor> executor) : executor_(std::move(executor)) {}
Program::Program(Program&& other) noexcept = default;
Program& Program::operator=(Program&& other) noexcept {
  Program mine(std::move(other));
  std::swap(executor_, mine.executor_);
  return *this;
}

// In a callback of the device it would wait for calls behind that callback, for ever: another thread waits then.
Program::~Program() {
  if (executor_ == nullptr) return;
  const bool may_wait = !device().isWorkThread() || executor_->evaluator().isIdle();
  if (!may_wait && device().holder() != nullptr) std::thread([executor = std::move(executor_)] {}).detach();
}

const std::string& Program::name() const { return hostProgram().name(); }
Device& Program::device() const { return executor_->evaluator().device(); }
const HostIrContainer& Program::hostProgram() const { return executor_->program(); }
std::string Program::hostText() const { return printHostProgram(hostProgram()); }

ProgramStatistics Program::statistics() const {
  const HostIrEvaluatorStatistics now = executor_->evaluator().stats();
  return {.plans = now.plans.plans,
          .plan_bytes = now.plans.bytes + now.retired_bytes,
          .known_calls = now.plans.hits,
          .new_calls = now.plans.misses,
          .forgotten = now.plans.evictions,
          .contexts = now.contexts,
          .device_bytes = now.arena_bytes};
}

std::vector<std::string> Program::inputNames() const {
  const FusionNames names(hostProgram());
  std::vector<std::string> result;
  for (Val* input : hostProgram().inputs()) {
    const TensorView* tv = asTensor(input);
    result.push_back(tv != nullptr ? names.nameOf(*tv) : names.nameOf(*asScalar(input)));
  }
  return result;
}

std::vector<std::string> Program::outputNames() const {
  const FusionNames names(hostProgram());
  std::vector<std::string> result;
  for (const TensorView* output : executor_->givenOutputs()) result.push_back(names.nameOf(*output));
  return result;
}

void Program::prepare(const std::map<std::string, ScalarValue>& sizes, const PrepareOptions& options) {
  const HostIrContainer& program = hostProgram();
  ScalarBindings bindings;
  std::set<std::string> known;
  for (const Scalar* symbol : interfaceSymbols(program)) {
    if (symbol->name().empty()) continue;
    known.insert(symbol->name());
    const auto size = sizes.find(symbol->name());
    if (size == sizes.end()) continue;
    requireFitting("prepare:", *symbol, size->second);
    bindings[symbol] = convertValue(size->second, symbol->dtype());
  }
  for (const auto& [name, size] : sizes) {
    TK_REQUIRE(known.contains(name), Bind, "prepare: {} has no extent or scalar '{}'; it has {}", program.name(), name,
               known.empty() ? "none" : joined(known));
  }
  std::vector<RunValue> inputs;
  uintptr_t next = uintptr_t{1} << 44;
  for (Val* input : program.inputs()) {
    if (const TensorView* tv = asTensor(input)) {
      inputs.emplace_back(tensorWithoutMemory(device(), *tv, bindings, next));
      continue;
    }
    const Scalar* scalar = asScalar(input);
    const auto value = bindings.find(scalar);
    TK_REQUIRE(value != bindings.end() || isFloatingType(scalar->dtype()), Bind,
               "prepare: the scalar {} of {} has no value; plans may depend on it", toString(*scalar), program.name());
    inputs.emplace_back(value != bindings.end() ? value->second : ScalarValue{1.0});
  }
  executor_->planFor(inputs, {}, options);
}

// Errors: Bind.
void Program::requireNumbersFit(std::span<const RunValue> values) const {
  const std::vector<Val*>& inputs = hostProgram().inputs();
  for (size_t i = 0; i < std::min(values.size(), inputs.size()); ++i) {
    const auto* number = std::get_if<ScalarValue>(&values[i]);
    if (const Scalar* scalar = asScalar(inputs[i]); scalar != nullptr && number != nullptr)
      requireFitting("input", *scalar, *number);
  }
}

// By position as long as there are no names, then by name.
std::vector<RunValue> Program::inOrder(std::span<const Argument> inputs) const {
  const auto first_named = std::ranges::find_if(inputs, [](const Argument& it) { return !it.name().empty(); });
  const auto positional = static_cast<size_t>(first_named - inputs.begin());
  std::vector<RunValue> values;
  for (const Argument& argument : inputs.first(positional)) values.push_back(argument.value());
  if (positional == inputs.size()) return values;
  const std::vector<std::string> names = inputNames();
  TK_REQUIRE(inputs.size() == names.size() && positional < names.size(), Bind, "{}: takes {} inputs, {} were given",
             name(), names.size(), inputs.size());
  std::vector<const RunValue*> named(names.size());
  for (const Argument& argument : inputs.subspan(positional)) {
    TK_REQUIRE(!argument.name().empty(), Bind,
               "{}: an input without a name was given behind named ones; those by position come first", name());
    const auto input = std::ranges::find(names, argument.name());
    TK_REQUIRE(input != names.end(), Bind, "{}: it has no input '{}'; it has {}", name(), argument.name(),
               joined(names));
    const auto number = static_cast<size_t>(input - names.begin());
    TK_REQUIRE(number >= positional && named[number] == nullptr, Bind, "{}: the input '{}' is given twice", name(),
               argument.name());
    named[number] = &argument.value();
  }
  for (const RunValue* value : std::span(named).subspan(positional)) values.push_back(*value);
  return values;
}

std::vector<OutputLayout> Program::outputLayouts(std::span<const Argument> inputs, const PrepareOptions& options) {
  const std::vector<RunValue> values = inOrder(inputs);
  requireNumbersFit(values);
  return executor_->outputLayouts(values, options);
}

// Other ranks that wait for a call are told of one that fails before it begins; what is refused while another thread
// calls (Usage) is none.
template <class Call>
auto Program::asCall(const Call& call) {
  HostIrEvaluator& evaluator = executor_->evaluator();
  const int64_t issued = evaluator.issuedCalls();
  try {
    return call();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Usage) evaluator.leave(std::current_exception(), issued);
    throw;
  }
}

std::vector<Tensor> Program::run(std::span<const Argument> inputs, std::span<const Tensor> outputs,
                                 const std::shared_ptr<Stream>& stream, const PrepareOptions& options) {
  return asCall([&] {
    const std::vector<RunValue> values = inOrder(inputs);
    requireNumbersFit(values);
    return executor_->runWithInput(values, outputs, stream, options);
  });
}

std::vector<Tensor> Program::run(std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                                 const std::shared_ptr<Stream>& stream, const PrepareOptions& options) {
  return asCall([&] {
    const std::vector<RunValue> values(inputs.begin(), inputs.end());
    return executor_->runWithInput(values, outputs, stream, options);
  });
}

void Program::runInto(std::span<const Tensor> inputs, std::span<Tensor> outputs, Stream& stream,
                      std::span<const ScalarValue> scalars, CallMemo* memo) {
  asCall([&] {
    size_t next = 0;
    for (size_t i = 0; next < scalars.size() && i < hostProgram().inputs().size(); ++i) {
      if (const Scalar* scalar = asScalar(hostProgram().inputs()[i])) requireFitting("input", *scalar, scalars[next++]);
    }
    executor_->runInto(inputs, outputs, stream, scalars, memo);
  });
}

std::vector<Tensor> Program::run(std::initializer_list<Argument> inputs, std::initializer_list<Tensor> outputs,
                                 const std::shared_ptr<Stream>& stream, const PrepareOptions& options) {
  return run(std::span<const Argument>(inputs.begin(), inputs.size()),
             std::span<const Tensor>(outputs.begin(), outputs.size()), stream, options);
}

Program makeProgram(std::unique_ptr<MultiDeviceExecutor> executor) { return Program(std::move(executor)); }
MultiDeviceExecutor& executorOf(Program& program) { return *program.executor_; }

HostIrEvaluatorParams evaluatorParamsOf(const CompileOptions& options) {
  HostIrEvaluatorParams evaluator;
  evaluator.number_of_streams = options.streams;
  evaluator.checks_plans = options.proves_plans;
  evaluator.output_allocator = options.output_allocator;
  evaluator.intermediate_allocator = options.intermediate_allocator;
  evaluator.most_intermediate_bytes = options.most_intermediate_bytes;
  evaluator.plans = {.plans = options.most_plans, .bytes = options.most_plan_bytes};
  evaluator.calls_in_flight = options.calls_in_flight;
  evaluator.communicator = options.communicator;
  evaluator.place = options.runs_on_callers_thread ? RunPlace::Here : RunPlace::OnStream;
  return evaluator;
}

HostLoweringOptions loweringOptionsOf(const CompileOptions& options) {
  HostLoweringOptions lowering;
  const Grouping kernels = options.keeps_schedule ? Grouping::Whole : Grouping::Fused;
  lowering.grouping = options.makes_kernels ? kernels : Grouping::Single;
  lowering.output_views = options.output_views;
  lowering.output_layouts = options.output_layouts;
  return lowering;
}

Program compile(const Fusion& fusion, Device& device, const CompileOptions& options) {
  // Lowering may make scalars in what it is given: threads may compile one fusion side by side.
  const std::unique_ptr<Fusion> own = cloneFusion(fusion);
  return makeProgram(std::make_unique<MultiDeviceExecutor>(
      *own, device,
      MultiDeviceExecutorParams{.lowering = loweringOptionsOf(options), .evaluator = evaluatorParamsOf(options)}));
}

Program compile(const Fusion& fusion, Communicator& communicator, const CompileOptions& options) {
  CompileOptions through = options;
  through.communicator = &communicator;
  return compile(fusion, *communicator.device(), through);
}

std::unique_ptr<Fusion> readFusion(std::string_view text, std::string_view file, std::optional<int64_t> ranks) {
  return parseFusion(text, file, {.resolver = &definingResolver(), .scheduler = &scheduleCommands(), .ranks = ranks});
}

}  // namespace tokamak
