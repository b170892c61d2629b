#include "host/run/host_ir_evaluator.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include <fmt/format.h>

#include "analysis/device_marks.h"
#include "base/profiler_range.h"
#include "base/require.h"
#include "device/capture.h"
#include "device/kernel_maker.h"
#include "host/check/checker.h"
#include "host/ir/verifier.h"
#include "host/plan/plan_key.h"
#include "host/plan/recorder.h"
#include "host/run/compiler_wait.h"
#include "host/run/given_block.h"
#include "host/run/rank_agreement.h"
#include "ir/ops/host/post_on_stream.h"

namespace tokamak {

namespace {

// How many works are kept for further plans, or direct runs: those of a few sizes.
size_t mostWorks(const HostIrContainer& program) {
  constexpr size_t kSizes = 8;
  constexpr size_t kLeast = 256;
  size_t works = 0;
  forEachStatement(program.topLevel(), [&](const Expr& expr) {
    const auto* post = expr.as<PostOnStream>();
    works += post == nullptr ? 1 : post->segment->fusion->exprs().size();
  });
  return std::max(kLeast, kSizes * works);
}

std::unique_ptr<HostIrContainer> verified(std::unique_ptr<HostIrContainer> program) {
  verifyHostProgram(*program);
  requireOneDevice("run " + program->name(), *program);
  return program;
}

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

// The storage of an output of a direct run goes back on a stream, which therefore lives as long, and so do the works
// that may still run on it. Let go from the last to the first.
struct DirectOutput {
  std::shared_ptr<RankCommunications> communications;
  std::shared_ptr<WorkCache> works;
  std::shared_ptr<Stream> home;
  std::shared_ptr<RunStreams> streams;
  std::shared_ptr<RunStorage> storage;
};

// Where nobody makes kernels the device is given the ops of segments; it is asked only where there are some.
SegmentMode segmentModeOn(Device& device, const HostIrContainer& program, const HostIrEvaluatorParams& params) {
  const SegmentMode wanted = params.segments.value_or(SegmentMode::OpByOp);
  const auto makesKernels = [&] {
    return params.kernels != nullptr ? params.kernels->makesKernels() : device.makesKernels();
  };
  bool has_segments = false;
  forEachStatement(program.topLevel(),
                   [&](const Expr& expr) { has_segments = has_segments || expr.is<PostOnStream>(); });
  return wanted == SegmentMode::Kernels && has_segments && !makesKernels() ? SegmentMode::OpByOp : wanted;
}

}  // namespace

HostIrEvaluator::HostIrEvaluator(std::unique_ptr<HostIrContainer> program, Device& device, HostIrEvaluatorParams params)
    : program_(verified(std::move(program))),
      device_holder_(device.holder()),
      device_(&device),
      params_(params),
      segments_(segmentModeOn(device, *program_, params)),
      signature_(*program_, device),
      run_name_("run " + program_->name()),
      works_(std::make_shared<WorkCache>()),
      contexts_(device, params.calls_in_flight, params.number_of_streams, params.intermediate_allocator),
      plans_(params.plans) {
  TK_REQUIRE(params.number_of_streams > 0, Usage, "the number of streams is {}; it must be positive",
             params.number_of_streams);
  constexpr int64_t kMostCalls = 4096;
  TK_REQUIRE(0 < params.calls_in_flight && params.calls_in_flight <= kMostCalls, Usage,
             "{} calls in flight were asked for; 1 to {} are legal", params.calls_in_flight, kMostCalls);
  TK_REQUIRE(params.plans.plans > 0 && params.plans.bytes > 0, Usage,
             "{} plans of {} bytes were asked for; both must be positive", params.plans.plans, params.plans.bytes);
  TK_REQUIRE(params.most_intermediate_bytes >= 0, Usage,
             "a limit of {} bytes for intermediates was asked for; it is positive, or 0 for none",
             params.most_intermediate_bytes);
  TK_REQUIRE(params.output_allocator == nullptr || params.mode == HostIrEvaluatorParams::Mode::Plan, Usage,
             "an allocator for outputs was given to an evaluator without plans, which allocates them as it goes");
  scalars_by_id_.resize(signature_.scalars().size());
  std::iota(scalars_by_id_.begin(), scalars_by_id_.end(), size_t{0});
  std::ranges::sort(scalars_by_id_, {}, [&](size_t i) { return signature_.scalars()[i]->id(); });
  if (params.mode == HostIrEvaluatorParams::Mode::Plan && device.properties().takes_parameters)
    parameters_ = std::make_unique<ScalarParameters>(*program_, segments_);
  if (params.communicator == nullptr || !hasCommunications(*program_)) return;
  TK_REQUIRE(params.communicator->device().get() == &device, Usage,
             "{}: the communicator is bound to another device ({}) than the evaluator's ({})", program_->name(),
             params.communicator->device()->properties().name, device.properties().name);
  communications_ = std::make_shared<RankCommunications>(*program_, *params.communicator);
}

// Works and plans go with the evaluator, so what uses them must be done.
HostIrEvaluator::~HostIrEvaluator() { contexts_.waitUntilIdle(); }

// Calls of programs that communicate: one at a time, and when one fails here, the other ranks are told.
template <class Issue>
auto HostIrEvaluator::issued(const Issue& issue) {
  if (params_.communicator == nullptr || knownCommunications() == nullptr) return issue();
  const IssueGuard::Entry entry(issues_, program_->name());
  ++issued_calls_;
  const std::shared_ptr<RankCommunications> communications = currentCommunications();
  try {
    return issue();
  } catch (...) {
    told_broken_ = true;
    communications->leave(std::current_exception());
    throw;
  }
}

void HostIrEvaluator::leave(const std::exception_ptr& error, int64_t issued_before) {
  const IssueGuard::Attempt attempt(issues_);
  if (knownCommunications() == nullptr || !attempt || issuedCalls() != issued_before) return;
  try {
    currentCommunications()->leave(error);  // new teams, where a call would have formed them
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): others have left; the caller's error tells of this, too
  }
  told_broken_ = true;
}

void HostIrEvaluator::endCall(const std::exception_ptr& error) const {
  if (const std::shared_ptr<RankCommunications> known = knownCommunications()) known->leave(error);
}

// Whether the caller has an error of the teams that broke, or gets it when he waits for what he called. (Each call
// behind one that failed fails, too.)
bool HostIrEvaluator::wasToldOfBreakage() {
  if (told_broken_ || last_issued_ == nullptr) return told_broken_;
  device_->waitDone(*last_issued_);
  return device_->failureOf(*last_issued_) != nullptr;
}

// A team that broke is formed anew, with all others, before the next call. Each rank sees each breakage once before
// that, so that ranks which do the same after it meet. Works of the old teams are not launched any more: the plans that
// have them are forgotten.
std::shared_ptr<RankCommunications> HostIrEvaluator::currentCommunications() {
  std::shared_ptr<RankCommunications> known = knownCommunications();
  const bool is_whole = known->isWhole();
  if (is_whole && known->works() <= mostWorks(*program_)) return known;
  if (!is_whole && !wasToldOfBreakage()) {
    told_broken_ = true;
    known->requireWhole();
  }
  auto fresh = std::make_shared<RankCommunications>(*program_, *params_.communicator);
  if (!is_whole) {
    last_issued_ = nullptr;
    told_broken_ = false;
    has_agreed_ = false;
  }
  {
    const std::lock_guard lock(communications_mutex_);
    communications_ = fresh;
  }
  if (!is_whole) forgetPlans();
  return fresh;
}

// The first call of teams tells whether the ranks run the same. Later calls compare where a rank computes of extents
// that it knows by its own chunk: what it sends need not tell that others have other ones.
void HostIrEvaluator::agree(const CallValues& call) {
  if (communications_ == nullptr || (has_agreed_ && !agrees_each_call_)) return;
  const std::shared_ptr<RankCommunications> communications = knownCommunications();
  if (communications->programTeam() == nullptr) return;
  ScalarBindings scalars;
  signature_.validate(call, scalars);
  RunFacts facts = factsOf(*program_, scalars);
  const bool computes_of_chunks = program_->rankOrigin() != nullptr && program_->rankOrigin()->computes_of_equal_chunks;
  agrees_each_call_ =
      requireAgreement(*communications->programTeam(), *device_, program_->name(), facts, computes_of_chunks);
  has_agreed_ = true;
  agreed_ = std::move(facts);
}

// A rank cannot wait for others while it records.
void HostIrEvaluator::agreeBeforeRecording(const CallValues& call) const {
  ScalarBindings scalars;
  signature_.validate(call, scalars);
  TK_REQUIRE(
      factsOf(*program_, scalars) == agreed_, Unsupported,
      "{}: the caller records the stream, and the ranks have to compare these sizes first; call the program with "
      "them once before",
      program_->name());
}

std::shared_ptr<RankCommunications> HostIrEvaluator::knownCommunications() const {
  const std::lock_guard lock(communications_mutex_);
  return communications_;
}

void HostIrEvaluator::forgetPlans() {
  std::unique_lock lock(mutex_);
  std::vector<std::shared_ptr<Plan>> forgotten = plans_.takeAll();
  lock.unlock();
  retire(std::move(forgotten));
}

HostIrEvaluatorStatistics HostIrEvaluator::stats() const {
  HostIrEvaluatorStatistics now = {.contexts = contexts_.size(), .arena_bytes = contexts_.arenaBytes()};
  const std::lock_guard lock(mutex_);
  now.plans = plans_.statistics();
  for (const std::shared_ptr<Plan>& plan : retired_) now.retired_bytes += plan->hostBytes();
  return now;
}

void HostIrEvaluator::makeKey(const CallValues& call, std::vector<int64_t>& key) const {
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

bool HostIrEvaluator::isParameter(const Scalar& scalar) const {
  return parameters_ != nullptr && parameters_->contains(&scalar);
}

std::shared_ptr<Plan> HostIrEvaluator::knownPlan(const std::vector<int64_t>& key) {
  const std::lock_guard lock(mutex_);
  return plans_.find(key).plan;
}

std::shared_ptr<Plan> HostIrEvaluator::findPlan(const CallValues& call, std::vector<int64_t>& key,
                                                const PrepareOptions& options) {
  // A value that no key asks for must be there, too.
  for (const Scalar* input : signature_.scalars()) {
    const bool is_given =
        std::ranges::find(call.scalars, input, &std::pair<Scalar*, ScalarValue>::first) != call.scalars.end();
    TK_REQUIRE(is_given || !isParameter(*input), Bind, "input {} is missing", toString(*input));
  }
  makeKey(call, key);
  if (std::shared_ptr<Plan> plan = knownPlan(key)) return plan;
  if (std::shared_ptr<Plan> plan = planOfOwnOutputs(call, key)) return plan;
  return recordAndKeep(call, key, options);
}

// Memory that lies as the program's own would is written by the same plan, where every output has some of its own.
std::shared_ptr<Plan> HostIrEvaluator::planOfOwnOutputs(const CallValues& call, const std::vector<int64_t>& key) {
  if (std::ranges::none_of(call.outputs, &Tensor::isDefined)) return nullptr;
  CallValues bare = {.inputs = call.inputs, .scalars = call.scalars, .outputs = {}};
  bare.outputs.resize(call.outputs.size());
  std::vector<int64_t> bare_key;
  makeKey(bare, bare_key);
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Plan> plan = plans_.peek(bare_key);
  if (plan == nullptr) return nullptr;
  int64_t number = 0;  // of the output's buffer
  const auto isItsOwn = [&](size_t i) {
    if (signature_.isInPlace(i)) return true;
    const Tensor& given = call.outputs[i];
    const PlanOutput& output = plan->outputs()[i];
    const StepBuffer& buffer = plan->steps().buffers[static_cast<size_t>(output.at.buffer)];
    const bool is_fresh = buffer.origin == StepBuffer::Origin::Output && buffer.number == number++ &&
                          output.at.offset == 0 && !output.is_view;
    return is_fresh && given.isDefined() && given.dtype() == output.dtype && given.kind() == output.kind &&
           alignmentOf(given) == kOutputAlignment && std::ranges::equal(given.sizes(), output.sizes) &&
           std::ranges::equal(given.strides(), output.strides);
  };
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (!isItsOwn(i)) return nullptr;
  }
  plans_.alias(key, bare_key);
  return plan;
}

// Compilers are waited for without the lock: calls at other sizes record meanwhile, and those at the same sizes wait
// for the same compilers, so that they go on when this call gives up.
std::shared_ptr<Plan> HostIrEvaluator::recordAndKeep(const CallValues& call, const std::vector<int64_t>& key,
                                                     const PrepareOptions& options) {
  std::unique_lock record_lock(record_mutex_);
  if (std::shared_ptr<Plan> plan = knownPlan(key)) return plan;  // another thread was faster
  requireNotCancelled(options.cancel);
  Recorded recorded = record(call, options.cancel);
  {
    CompilerWait compilers(recorded.steps);
    record_lock.unlock();
    try {
      compilers.wait(options);
    } catch (...) {
      record_lock.lock();
      recorded_works_.clear();  // the next call asks compilers again
      throw;
    }
    record_lock.lock();
  }
  requireNotCancelled(options.cancel);
  if (std::shared_ptr<Plan> plan = knownPlan(key)) return plan;
  std::shared_ptr<Plan> plan = planOf(std::move(recorded));
  std::unique_lock lock(mutex_);
  std::vector<std::shared_ptr<Plan>> forgotten = plans_.insert(key, plan);
  lock.unlock();
  retire(std::move(forgotten));
  return plan;
}

// A plan that is forgotten may still be under way. Nobody waits for that: the calls of other streams, and who asks how
// many there are, would wait, too. The first ones go as soon as they are over, those behind one that is not when there
// are twice as many as the last time. They are destroyed outside the lock.
void HostIrEvaluator::retire(std::vector<std::shared_ptr<Plan>> plans) {
  std::vector<std::shared_ptr<Plan>> over;
  const std::lock_guard lock(mutex_);
  std::ranges::move(plans, std::back_inserter(retired_));
  const auto isOver = [](const std::shared_ptr<Plan>& plan) { return plan.use_count() == 1 && plan->isOver(); };
  const bool looks_at_all = retired_.size() >= 2 * retired_left_;
  const auto gone = looks_at_all ? std::ranges::stable_partition(retired_, isOver).begin()
                                 : std::ranges::find_if_not(retired_, isOver);
  over.assign(std::move_iterator(retired_.begin()), std::move_iterator(gone));
  retired_.erase(retired_.begin(), gone);
  if (looks_at_all) retired_left_ = retired_.size();
}

// An output that a statement makes a view of another tensor lies there, not in the memory that the caller gave.
void HostIrEvaluator::requireGivenWritten(const CallValues& call, const StatementRunner& runner,
                                          std::span<void* const> addresses) const {
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    TensorView* tv = program_->outputs()[i];
    const bool is_last_of_its_name = std::ranges::none_of(
        std::span(program_->outputs()).subspan(i + 1),
        [&](TensorView* later) { return program_->resolveAlias(later) == program_->resolveAlias(tv); });
    TK_REQUIRE(!signature_.isGiven(call, i) || !is_last_of_its_name || runner.value(tv).address == addresses[i], Bind,
               "output {} is a view of another tensor, so that it cannot be written into memory of the caller's; give "
               "none for it",
               toString(*tv));
  }
}

HostIrEvaluator::Recorded HostIrEvaluator::record(const CallValues& call, const std::stop_token& cancel) {
  static const RangeName range_name("record plan");
  const Range range(range_name);
  ScalarBindings scalars;
  signature_.validate(call, scalars);
  if (recorded_works_.size() > mostWorks(*program_)) recorded_works_.clear();  // plans hold on to theirs
  Recorder recorder(device_, cancel);
  RunStreams recorded_streams(recorder, params_.number_of_streams);
  StatementRunner runner(*program_, recorder, recorder.callerStream(), recorded_streams, recorded_works_);
  runner.setSegmentMode(segments_);
  runner.setKernels(params_.kernels.get());
  runner.setMostIterations(params_.most_iterations);
  const std::shared_ptr<RankCommunications> communications = knownCommunications();
  if (communications != nullptr) runner.setCommunications(*communications);
  runner.scalars().insert(scalars.begin(), scalars.end());
  if (parameters_ != nullptr) runner.prepareParameters(*parameters_);
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    void* address = recorder.registerBuffer({.origin = StepBuffer::Origin::Input,
                                             .number = static_cast<int64_t>(i),
                                             .bytes = spanBytes(call.inputs[i]),
                                             .kind = call.inputs[i].kind(),
                                             .name = nameOf(*signature_.tensors()[i])});
    runner.bind(signature_.tensors()[i], describe(call.inputs[i], address));
  }
  int64_t output_buffers = 0;
  std::vector<void*> given(call.outputs.size(), nullptr);
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (!signature_.isGiven(call, i)) continue;
    TensorView* tv = program_->outputs()[i];
    void* address = recorder.registerBuffer({.origin = StepBuffer::Origin::Output,
                                             .number = output_buffers++,
                                             .bytes = spanBytes(call.outputs[i]),
                                             .kind = call.outputs[i].kind(),
                                             .name = nameOf(*tv)});
    runner.bind(tv, describe(call.outputs[i], address));
    given[i] = address;
  }
  StepList& list = recorder.steps();
  try {
    runner.run();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::Cancelled) const CompilerWait gives_up(list);
    throw;
  }
  requireGivenWritten(call, runner, given);

  std::vector<PlanOutput> outputs;
  std::vector<std::shared_ptr<RunStorage>> given_out;
  for (TensorView* tv : program_->outputs()) {
    const RunTensor& value = runner.value(tv);
    PlanOutput output{recorder.resolve(value.address), value.dtype, value.kind, value.sizes, value.strides};
    output.name = nameOf(*tv);
    output.is_view = program_->isView(tv) && runner.isBoundView(tv);
    StepBuffer& buffer = list.buffers[static_cast<size_t>(output.at.buffer)];
    if (buffer.origin == StepBuffer::Origin::Intermediate) {
      // What the program allocated and gives out becomes a buffer of the call; its Allocate step has nothing left to
      // do.
      buffer.origin = StepBuffer::Origin::Output;
      buffer.number = output_buffers++;
      given_out.push_back(value.storage);
    }
    outputs.push_back(std::move(output));
  }
  std::erase_if(list.steps, [&](const Step& step) {
    return step.kind == StepKind::Allocate &&
           list.buffers[static_cast<size_t>(step.accesses[0].buffer)].origin == StepBuffer::Origin::Output;
  });
  // Not before all outputs are known: several may lie in one buffer.
  for (const auto& storage : given_out) storage->disown();
  // Compilers work side by side since the first statement was walked.
  if (params_.checks_plans) requireRaceFree(list);
  Recorded recorded = {.steps = list, .outputs = std::move(outputs), .copied_views = runner.copiedViews()};
  int64_t workers = 0;
  for (int32_t i = 1; i < list.stream_count; ++i) {
    Stream* const team_stream = recorder.streamOf(i);
    recorded.streams.push_back(team_stream != nullptr ? PlanStream{.of_team = team_stream}
                                                      : PlanStream{.worker = recorded_streams.indexOf(workers++)});
  }
  recorded.communications = communications;
  return recorded;
}

std::unique_ptr<Plan> HostIrEvaluator::planOf(Recorded recorded) {
  auto plan = std::make_unique<Plan>(*device_, std::move(recorded.steps), std::move(recorded.outputs),
                                     std::move(recorded.streams), static_cast<size_t>(params_.calls_in_flight));
  plan->keep(std::move(recorded.communications));
  plan->tellCopiedViews(std::move(recorded.copied_views));
  if (params_.checks_plans) requireRaceFree(plan->steps());
  requireIntermediatesFit(*plan);
  return plan;
}

// Errors: OutOfMemory.
void HostIrEvaluator::requireIntermediatesFit(const Plan& plan) const {
  int64_t bytes = 0;
  for (const PlanArena& arena : plan.arenas()) bytes += arena.bytes;
  if (params_.most_intermediate_bytes == 0 || bytes <= params_.most_intermediate_bytes) return;
  const auto describe = [&] { return plan.describeIntermediates(); };
  const ErrorNote note(describe);
  TK_RAISE(OutOfMemory, "{}: a call at these sizes needs {} bytes for intermediates; the limit that was set is {}",
           program_->name(), bytes, params_.most_intermediate_bytes);
}

RunPlace HostIrEvaluator::placeOf(const Plan& plan) const {
  return plan.streams().empty() ? params_.place : RunPlace::OnStream;
}

// Sets the addresses of the call, too: output buffers in the order of their numbers, those that the caller gave first.
HostIrEvaluator::FreshOutputs HostIrEvaluator::allocateOutputs(const Plan& plan, const CallValues& call,
                                                               CallContext& context,
                                                               const std::shared_ptr<Stream>& stream) const {
  FreshOutputs fresh(plan.steps().buffers.size());
  context.inputs.clear();
  context.outputs.clear();
  for (const Tensor& input : call.inputs) context.inputs.push_back(input.data());
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (signature_.isGiven(call, i)) context.outputs.push_back(call.outputs[i].data());
  }
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    const auto b = static_cast<size_t>(plan.outputs()[i].at.buffer);
    const StepBuffer& buffer = plan.steps().buffers[b];
    const bool is_fresh = buffer.origin == StepBuffer::Origin::Output && !call.outputs[i].isDefined() &&
                          fresh[b] == nullptr && buffer.number >= static_cast<int64_t>(context.outputs.size());
    if (!is_fresh) continue;
    const auto describe = [&] {
      return fmt::format("while allocating {} bytes for output {}", buffer.bytes, buffer.name);
    };
    const ErrorNote note(describe);
    fresh[b] = allocateOutput(buffer.bytes, buffer.kind, stream);
    context.outputs.push_back(fresh[b]->address());
  }
  return fresh;
}

std::shared_ptr<Buffer> HostIrEvaluator::allocateOutput(int64_t bytes, MemoryKind kind,
                                                        const std::shared_ptr<Stream>& stream) const {
  if (params_.output_allocator == nullptr) return Buffer::allocate(*device_, stream, bytes, kind);
  return bufferOf(*device_, params_.output_allocator->allocate(bytes, kind, *stream), bytes, kind, "an output");
}

std::vector<Tensor> HostIrEvaluator::runPlan(const CallValues& call, CallContext& context,
                                             const std::shared_ptr<Stream>& stream, const PrepareOptions& options) {
  const std::shared_ptr<Plan> found = findPlan(call, context.key, options);
  Plan& plan = *found;
  FreshOutputs fresh;
  const auto allocate = [&] {
    context.reserve(plan);
    fresh = allocateOutputs(plan, call, context, stream);
  };
  try {
    allocate();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::OutOfMemory || !contexts_.dropMemory(context)) throw;
    allocate();
  }
  for (const auto& [scalar, value] : call.scalars) context.parameters.set(*scalar, value);
  for (const std::shared_ptr<Buffer>& buffer : fresh) {
    if (buffer != nullptr) context.ordered.add(*buffer, MemoryAccess::Write);
  }
  context.ordered.begin(*stream, placeOf(plan));
  const std::shared_ptr<Event> done = context.ordered.event();
  context.replay(plan, *stream, done);
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
    outputs.back().setCallEvent(done);
  }
  return outputs;
}

// The caller's memory that a view of another output lies in.
const Tensor& HostIrEvaluator::givenOutput(const Plan& plan, const CallValues& call, int32_t buffer) {
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (call.outputs[i].isDefined() && plan.outputs()[i].at.buffer == buffer) return call.outputs[i];
  }
  TK_RAISE(Internal, "no output was given for buffer {} of the plan", buffer);
}

std::vector<Tensor> HostIrEvaluator::runDirect(const CallValues& call, CallContext& context,
                                               const std::shared_ptr<Stream>& stream) {
  const std::lock_guard lock(record_mutex_);
  ScalarBindings scalars;
  signature_.validate(call, scalars);
  if (works_->size() > mostWorks(*program_)) works_ = std::make_shared<WorkCache>();  // calls hold on to theirs
  context.ordered.begin(*stream);
  context.startAfterLastCall(*stream);
  context.noteCall(*stream, context.ordered.event());
  StatementRunner runner(*program_, *device_, *stream, *context.workers(), *works_);
  runner.setSegmentMode(segments_);
  runner.setKernels(params_.kernels.get());
  runner.setMostIterations(params_.most_iterations);
  const std::shared_ptr<RankCommunications> communications = knownCommunications();
  if (communications != nullptr) runner.setCommunications(*communications);
  runner.scalars().insert(scalars.begin(), scalars.end());
  for (size_t i = 0; i < call.inputs.size(); ++i)
    runner.bind(signature_.tensors()[i], describe(call.inputs[i], call.inputs[i].data()));
  std::vector<void*> given(call.outputs.size(), nullptr);
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (!signature_.isGiven(call, i)) continue;
    given[i] = call.outputs[i].data();
    runner.bind(program_->outputs()[i], describe(call.outputs[i], given[i]));
  }
  runner.run();
  requireGivenWritten(call, runner, given);
  const std::shared_ptr<Event> done = context.ordered.event();
  device_->record(*done, *stream);
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    const RunTensor& value = runner.value(program_->outputs()[i]);
    if (call.outputs[i].isDefined()) {
      outputs.push_back(call.outputs[i]);
    } else if (value.storage == nullptr) {
      const Tensor& memory = memoryAt(call, value.address);
      const auto offset =
          static_cast<const std::byte*>(value.address) - static_cast<const std::byte*>(memory.buffer()->address());
      outputs.emplace_back(memory.buffer(), offset, value.dtype, value.sizes, value.strides);
    } else {
      outputs.push_back(Tensor::borrow(*device_, value.address, value.dtype, value.sizes, value.strides, value.kind,
                                       std::make_shared<DirectOutput>(DirectOutput{communications, works_, stream,
                                                                                   context.workers(), value.storage}),
                                       Buffer::Lender::Allocator));
      context.ordered.addFresh(outputs.back());
    }
    outputs.back().setCallEvent(done);
  }
  return outputs;
}

std::vector<Tensor> HostIrEvaluator::runWithInput(const std::vector<std::pair<Val*, RunValue>>& values,
                                                  const std::shared_ptr<Stream>& stream,
                                                  const PrepareOptions& options) {
  std::vector<Tensor> outputs = issued([&] { return issueWithInput(values, stream, options); });
  if (stream != nullptr && params_.communicator != nullptr) device_->handOver(*stream);
  return outputs;
}

std::vector<Tensor> HostIrEvaluator::issueWithInput(const std::vector<std::pair<Val*, RunValue>>& values,
                                                    const std::shared_ptr<Stream>& stream,
                                                    const PrepareOptions& options) {
  const Range range(run_name_);
  device_->requireProcess();
  requireNotCancelled(options.cancel);
  const CallValues call = signature_.bind(values);
  signature_.requirePlaces(call.inputs, call.outputs);
  if (stream != nullptr) device_->requireOwn(*stream, "run");
  TK_REQUIRE(stream == nullptr || device_->joinCapture(*stream) == nullptr, Unsupported,
             "{}: the caller records the stream; run(), with all outputs given, becomes part of a recording",
             program_->name());
  agree(call);
  std::shared_ptr<Event> done;
  std::vector<Tensor> outputs;
  bool is_waited_for = false;
  {
    const CallContextPool::Lease lease(contexts_, stream.get(), call.inputs, options.cancel);
    CallContext& context = *lease;
    signature_.addAccesses(context.ordered, call.inputs, call.outputs);
    outputs = runOn(call, context, stream != nullptr ? stream : context.home(), done, options);
    is_waited_for = stream == nullptr && context.ordered.isSharedWithHost();
  }
  if (is_waited_for) device_->synchronize(*done);
  return outputs;
}

std::vector<Tensor> HostIrEvaluator::runOn(const CallValues& call, CallContext& context,
                                           const std::shared_ptr<Stream>& stream, std::shared_ptr<Event>& done,
                                           const PrepareOptions& options) {
  const bool is_direct = params_.mode == HostIrEvaluatorParams::Mode::Direct;
  if (stream == context.home()) context.startAnew();
  try {
    std::vector<Tensor> outputs =
        is_direct ? runDirect(call, context, stream) : runPlan(call, context, stream, options);
    done = context.ordered.event();
    if (communications_ != nullptr) last_issued_ = done;
    context.ordered.finish();
    const bool keeps_outputs = params_.output_allocator != nullptr && isOnProcessor(*device_);
    keepUntilDone(call, context, done, keeps_outputs ? std::span<const Tensor>(outputs) : std::span<const Tensor>());
    return outputs;
  } catch (...) {
    if (!context.ordered.isUnderWay()) throw;
    // A direct run may have got half way: what it enqueued still uses the caller's memory.
    if (is_direct) context.workers()->joinInto(*stream);
    done = context.ordered.event();
    context.ordered.abandon(*stream);
    keepUntilDone(call, context, done, {});
    throw;
  }
}

void HostIrEvaluator::keepUntilDone(const CallValues& call, CallContext& context, std::shared_ptr<Event> done,
                                    std::span<const Tensor> made) const {
  std::vector<Tensor> tensors = call.inputs;
  tensors.insert(tensors.end(), made.begin(), made.end());
  for (const Tensor& output : call.outputs) {
    if (output.isDefined()) tensors.push_back(output);
  }
  const bool is_direct = params_.mode == HostIrEvaluatorParams::Mode::Direct;
  std::shared_ptr<void> works = is_direct ? works_ : nullptr;
  if (is_direct && communications_ != nullptr)
    works = std::make_shared<DirectOutput>(DirectOutput{.communications = knownCommunications(), .works = works_});
  context.keepUntilDone({.done = std::move(done), .tensors = std::move(tensors), .works = std::move(works)});
}

std::shared_ptr<Plan> HostIrEvaluator::sharedPlanFor(const std::vector<std::pair<Val*, RunValue>>& values,
                                                     const PrepareOptions& options) {
  device_->requireProcess();
  const CallValues call = signature_.bind(values);
  signature_.requirePlaces(call.inputs, call.outputs);
  std::vector<int64_t> key;
  return findPlan(call, key, options);
}

Plan& HostIrEvaluator::planFor(const std::vector<std::pair<Val*, RunValue>>& values, const PrepareOptions& options) {
  return *sharedPlanFor(values, options);
}

// Among all inputs, of an input tensor.
size_t HostIrEvaluator::inputNumberOf(size_t tensor) const {
  return static_cast<size_t>(std::ranges::find(program_->inputs(), signature_.tensors()[tensor]) -
                             program_->inputs().begin());
}

std::vector<OutputLayout> HostIrEvaluator::outputLayouts(const std::vector<std::pair<Val*, RunValue>>& values,
                                                         std::span<const size_t> given, const PrepareOptions& options) {
  const std::shared_ptr<Plan> plan = sharedPlanFor(values, options);
  std::vector<OutputLayout> layouts;
  for (size_t i = 0; i < given.size(); ++i) {
    const PlanOutput& output = plan->outputs()[given[i]];
    const StepBuffer& buffer = plan->steps().buffers[static_cast<size_t>(output.at.buffer)];
    OutputLayout layout = {.kind = output.kind,
                           .offset = output.at.offset,
                           .dtype = output.dtype,
                           .sizes = output.sizes,
                           .strides = output.strides};
    // The first output that lies in a buffer is the one that gets it.
    const auto owner =
        std::ranges::find_if(given, [&](size_t other) { return plan->outputs()[other].at.buffer == output.at.buffer; });
    const auto number = static_cast<size_t>(owner - given.begin());
    if (buffer.origin == StepBuffer::Origin::Input) {
      layout.memory = OutputLayout::Memory::Input;
      layout.of = inputNumberOf(static_cast<size_t>(buffer.number));
    } else if (number != i) {
      layout.memory = OutputLayout::Memory::Output;
      layout.of = number;
    } else {
      layout.bytes = buffer.bytes;
    }
    layouts.push_back(std::move(layout));
  }
  return layouts;
}

void HostIrEvaluator::run(std::span<const Tensor> inputs, std::span<Tensor> outputs, Stream& stream,
                          std::span<const ScalarValue> scalars, CallMemo* memo) {
  issued([&] { issue(inputs, outputs, stream, scalars, memo); });
  if (params_.communicator != nullptr) device_->handOver(stream);
}

CallValues HostIrEvaluator::valuesOf(std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                                     std::span<const ScalarValue> scalars) const {
  CallValues call;
  call.inputs.assign(inputs.begin(), inputs.end());
  for (const size_t i : scalars_by_id_)
    call.scalars.emplace_back(signature_.scalars()[i], convertValue(scalars[i], signature_.scalars()[i]->dtype()));
  call.outputs.assign(outputs.begin(), outputs.end());
  return call;
}

// Takes the values of parameters; says whether there are scalars that are none.
bool HostIrEvaluator::setScalars(std::span<const ScalarValue> scalars, CallContext& context) const {
  bool are_parameters = true;
  for (const size_t i : scalars_by_id_) {
    const Scalar& scalar = *signature_.scalars()[i];
    are_parameters = are_parameters && isParameter(scalar);
    context.parameters.set(scalar, convertValue(scalars[i], scalar.dtype()));
  }
  return !are_parameters;
}

std::shared_ptr<Plan> HostIrEvaluator::planOfIssued(std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                                                    std::span<const ScalarValue> scalars, CallContext& context,
                                                    CallMemo* memo) {
  const bool has_steering = setScalars(scalars, context);
  if (memo != nullptr && memo->lies_alike && !has_steering) {
    const std::lock_guard lock(mutex_);
    if (std::shared_ptr<Plan> plan = plans_.findLastUsed(memo->plan_number)) return plan;
  }
  std::vector<int64_t>& key = context.key;
  key.clear();
  for (const Tensor& input : inputs) addToKey(input, key);
  for (const size_t i : scalars_by_id_) {
    const Scalar& scalar = *signature_.scalars()[i];
    if (!isParameter(scalar)) addToKey(scalar, convertValue(scalars[i], scalar.dtype()), key);
  }
  for (const Tensor& output : outputs) {
    key.push_back(1);
    addToKey(output, key);
  }
  PlanCache::Found known;
  {
    const std::lock_guard lock(mutex_);
    known = plans_.find(key);
  }
  if (memo != nullptr) memo->plan_number = known.number;
  return known.plan != nullptr ? known.plan : findPlan(valuesOf(inputs, outputs, scalars), key, {});
}

void HostIrEvaluator::issue(std::span<const Tensor> inputs, std::span<Tensor> outputs, Stream& stream,
                            std::span<const ScalarValue> scalars, CallMemo* memo) {
  const Range range(run_name_);
  TK_REQUIRE(inputs.size() == signature_.tensors().size() && outputs.size() == program_->outputs().size(), Bind,
             "run: {} inputs and {} outputs given; the program has {} and {}", inputs.size(), outputs.size(),
             signature_.tensors().size(), program_->outputs().size());
  TK_REQUIRE(scalars.size() == signature_.scalars().size(), Bind, "run: {} scalars given; the program takes {}",
             scalars.size(), signature_.scalars().size());
  for (const Tensor& output : outputs) {
    TK_REQUIRE(output.isDefined(), Bind,
               "{}: an output without memory was given; run() allocates outputs, this call takes memory for each",
               program_->name());
  }
  signature_.requirePlaces(inputs, outputs);
  device_->requireOwn(stream, "run");
  const std::unique_ptr<Capture> capture = device_->joinCapture(stream);
  if (communications_ != nullptr && (!has_agreed_ || agrees_each_call_)) {
    const CallValues call = valuesOf(inputs, outputs, scalars);
    if (has_agreed_ && capture != nullptr)
      agreeBeforeRecording(call);
    else
      agree(call);
  }
  const CallContextPool::Lease lease(contexts_, &stream, inputs);
  CallContext& context = *lease;
  const std::shared_ptr<Plan> plan = planOfIssued(inputs, outputs, scalars, context, memo);
  context.inputs.clear();
  context.outputs.clear();
  for (const Tensor& input : inputs) context.inputs.push_back(input.data());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!signature_.isInPlace(i)) context.outputs.push_back(outputs[i].data());
  }
  if (capture != nullptr) {
    context.replayInto(*plan, *capture, stream);
    for (Tensor& output : outputs) output.setReadyEvent(nullptr);
    return;
  }
  try {
    context.reserve(*plan);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::OutOfMemory || !contexts_.dropMemory(context)) throw;
    context.reserve(*plan);
  }
  signature_.addAccesses(context.ordered, inputs, outputs);
  context.ordered.begin(stream, placeOf(*plan));
  const std::shared_ptr<Event> done = context.ordered.event();
  try {
    context.replay(*plan, stream, done);
  } catch (...) {
    context.ordered.abandon(stream);
    throw;
  }
  if (communications_ != nullptr) last_issued_ = done;
  context.ordered.finish();
  for (Tensor& output : outputs) output.setCallEvent(done);
}

}  // namespace tokamak
