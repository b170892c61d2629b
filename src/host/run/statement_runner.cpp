#include "host/run/statement_runner.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "analysis/bind_shape.h"
#include "base/require.h"
#include "base/text.h"
#include "compute/shape_constraints.h"
#include "device/work.h"
#include "graph/product_group.h"
#include "host/ir/extent_demands.h"
#include "host/plan/recorder.h"
#include "host/run/posted_communications.h"
#include "host/run/scalar_parameters.h"
#include "host/run/view_of.h"
#include "ir/expr_summary.h"
#include "ir/visit.h"

namespace tokamak {

namespace {

// The visible position of logical axis `axis`, or nothing for a reduction axis.
size_t visiblePosition(const TensorView& tv, int64_t axis) {
  const Axes& logical = tv.logical();
  TK_REQUIRE(axis >= 0 && axis < static_cast<int64_t>(logical.size()), HostProgram,
             "Select axis {} is out of bounds for tensor {} with {} dimensions", axis, toString(tv), logical.size());
  TK_REQUIRE(!logical[static_cast<size_t>(axis)]->isReduction(), HostProgram,
             "Select axis {} of tensor {} is a reduction axis; it has no elements to select", axis, toString(tv));
  return static_cast<size_t>(
      std::count_if(logical.begin(), logical.begin() + axis, [](const IterDomain* id) { return !id->isReduction(); }));
}

int64_t alignmentOf(const void* address) {
  const auto value = reinterpret_cast<uintptr_t>(address);
  return value == 0 ? 64 : static_cast<int64_t>(std::min<uintptr_t>(value & (~value + 1), 64));
}

}  // namespace

RunStorage::RunStorage(Device& device, Stream& stream, int64_t bytes, MemoryKind kind)
    : device_(&device), home_(&stream), bytes_(bytes), kind_(kind), address_(device.allocate(bytes, kind, stream)) {}

void RunStorage::release(Stream& stream) {
  if (address_ == nullptr) return;
  device_->release(address_, bytes_, kind_, stream);
  address_ = nullptr;
}

Stream& RunStreams::worker(int64_t index) {
  auto& stream = workers_[index];
  if (stream == nullptr) {
    stream = device_->createStream();
    order_.push_back(index);
  }
  return *stream;
}

void RunStreams::startAnew() {
  for (const auto& [index, stream] : workers_) device_->startAnew(*stream);
}

void RunStreams::joinInto(Stream& stream) {
  for (const auto& [index, worker] : workers_) {
    const std::unique_ptr<Event> event = device_->createEvent();
    device_->record(*event, *worker);
    device_->wait(stream, *event);
  }
}

void RunStreams::waitOver(const Event& event) {
  for (const auto& [index, worker] : workers_) device_->waitOver(*worker, event);
}

StatementRunner::StatementRunner(const HostIrContainer& program, Device& device, Stream& caller, RunStreams& streams,
                                 WorkCache& works)
    : program_(&program),
      device_(&device),
      recorder_(dynamic_cast<Recorder*>(&device)),
      caller_(&caller),
      current_(&caller),
      streams_(&streams),
      works_(&works) {
  scalars_[program.numberOfStreams()] = streams.workerCount();
}

StatementRunner::~StatementRunner() = default;

void StatementRunner::setCommunications(RankCommunications& communications) {
  posted_ = std::make_unique<PostedCommunications>(*device_, communications);
}

// Aliases are the program's; a tensor of a segment may have the same number as one of them.
TensorView* StatementRunner::root(TensorView* tensor) const {
  return &tensor->fusion() == program_ ? program_->resolveAlias(tensor) : tensor;
}

void StatementRunner::bind(TensorView* tensor, RunTensor value) { setValue(tensor, std::move(value)); }

void StatementRunner::setValue(TensorView* tensor, RunTensor value) { values_[root(tensor)] = std::move(value); }

bool StatementRunner::isKnown(TensorView* tensor) const { return values_.contains(root(tensor)); }

const RunTensor& StatementRunner::value(TensorView* tensor) const {
  const auto found = values_.find(root(tensor));
  TK_REQUIRE(found != values_.end(), HostProgram, "value {} must be precomputed before being retrieved",
             toString(*tensor));
  TK_REQUIRE(found->second.storage == nullptr || !found->second.storage->isReleased(), HostProgram,
             "{} is read after its Deallocate", toString(*tensor));
  return found->second;
}

void StatementRunner::run() {
  requireDemands(*program_, scalars_);
  requireFewIterations(program_->topLevel(), scalars_, most_iterations_);
  if (posted_ == nullptr) return runBlock(program_->topLevel());
  try {
    runBlock(program_->topLevel());
    posted_->requireAllWaitedFor();
  } catch (...) {
    posted_->joinInto(*caller_, *streams_);
    throw;
  }
}

void StatementRunner::runBlock(const Block& block) {
  for (const Expr* expr : block.exprs) runStatement(*expr);
}

Stream& StatementRunner::streamOf(const StreamVal& stream) {
  if (stream.index() != nullptr) return streams_->worker(evaluateInt(*stream.index(), scalars_));
  if (&stream == program_->defaultStream()) return *caller_;
  const auto found = named_streams_.find(&stream);
  TK_REQUIRE(found != named_streams_.end(), HostProgram,
             "a stream is used before GetCurrentStream gave it; streams are caught or indexed");
  return *found->second;
}

void StatementRunner::runStatement(const Expr& expr) {
  const auto note = [&] { return "while running " + summaryOf(expr); };
  const ErrorNote scope(note);
  if (expr.list() == OpList::Math) return runMath(expr);
  visitHost(expr, Overloaded{
                      [&](const Allocate& op) { allocate(op.buffer, &op); },
                      [&](const Deallocate& op) { deallocate(op.buffer); },
                      [&](const ForLoop& op) { runLoop(op); },
                      [&](const IfThenElse& op) {
                        const auto holds = evaluate(*op.predicate, scalars_);
                        TK_REQUIRE(holds.has_value(), HostProgram, "IF: the predicate {} is not known",
                                   toString(*op.predicate));
                        runBlock(asInt(*holds) != 0 ? op.then_body : op.else_body);
                      },
                      [&](const GetCurrentStream& op) { named_streams_[op.stream] = current_; },
                      [&](const SetCurrentStream& op) { setStream(*op.stream); },
                      [&](const Synchronize& op) { synchronizeWith(streamOf(*op.stream)); },
                      [&](const HirAliasSelect& op) {
                        const int64_t index = evaluateInt(*op.index, scalars_);
                        defineView(op.out, op.in, op.axis, index, index == INT64_MAX ? index : index + 1, true);
                      },
                      [&](const HirAliasSlice& op) {
                        defineView(op.out, op.in, op.axis, evaluateInt(*op.start, scalars_),
                                   evaluateInt(*op.stop, scalars_), false);
                      },
                      [&](const LaunchKernel& op) { launchKernel(expr, op); },
                      [&](const PostOnStream& op) { isOneWork(op) ? launchSegment(expr, op) : runSegment(expr, op); },
                      [&](const Communication& op) { postCommunication(expr, op.number, op.in, op.out); },
                      [&](const P2pCommunication& op) {
                        const bool sends = op.type == P2pType::Send;
                        postCommunication(expr, op.number, sends ? op.buffer : nullptr, sends ? nullptr : op.buffer);
                      },
                      [&](const CollectivePermute& op) { postCommunication(expr, op.number, op.in, op.out); },
                      [&](const Wait& op) { waitCommunication(op.communication); },
                      [&](const StartCoalescing&) {
                        group_.clear();
                        if (posted_ != nullptr) posted_->startGroup();
                      },
                      [&](const EndCoalescing& op) {
                        communications_[op.number] = std::exchange(group_, {});
                        if (posted_ != nullptr) posted_->endGroup(op.number, *current_);
                      },
                  });
}

// A loop deals its iterations out to the workers, and those on different workers run beside each other.
void StatementRunner::setStream(const StreamVal& stream) {
  current_ = &streamOf(stream);
  if (current_ == caller_)
    concurrency_ = 1;
  else if (stream.index() != nullptr)
    concurrency_ = std::min(streams_->workerCount(), iterations_);
}

void StatementRunner::synchronizeWith(Stream& other) {
  if (&other == current_) return;
  const std::unique_ptr<Event> event = device_->createEvent();
  device_->record(*event, other);
  device_->wait(*current_, *event);
}

void StatementRunner::runLoop(const ForLoop& loop) {
  const int64_t start = evaluateInt(*loop.start, scalars_);
  evaluateInt(*loop.stop, scalars_);  // that it is known
  const int64_t step = evaluateInt(*loop.step, scalars_);
  const int64_t iterations = iterationsOf(loop, scalars_).value_or(0);
  requireFewIterations(loop, iterations, around_, most_iterations_);
  std::unordered_set<const TensorView*> known_before;
  for (const auto& [tensor, value] : values_) known_before.insert(tensor);
  const auto outer = scalars_.find(loop.index);
  const std::optional<ScalarValue> shadowed = outer == scalars_.end() ? std::nullopt : std::optional(outer->second);
  const int64_t outer_iterations = std::exchange(iterations_, iterations);
  const int64_t outer_around = std::exchange(around_, around_ * std::max<int64_t>(iterations, 1));
  for (int64_t i = 0; i < iterations; ++i) {
    forget(loop.body, known_before);
    scalars_[loop.index] = start + i * step;
    runBlock(loop.body);
  }
  iterations_ = outer_iterations;
  around_ = outer_around;
  if (shadowed)
    scalars_[loop.index] = *shadowed;
  else
    scalars_.erase(loop.index);
}

void StatementRunner::forget(const Block& block, const std::unordered_set<const TensorView*>& known_before) {
  forEachStatement(block, [&](const Expr& expr) {
    for (TensorView* out : tensorsOf(expr.outputs())) {
      if (!known_before.contains(root(out))) values_.erase(root(out));
    }
  });
}

void StatementRunner::allocate(TensorView* tensor, const Allocate* statement) {
  if (isKnown(tensor)) return;
  RunTensor fresh;
  fresh.dtype = tensor->dtype();
  fresh.kind = tensor->memoryKind();
  const auto isTensor = [&](TensorView* output) { return root(output) == root(tensor); };
  if (std::ranges::any_of(program_->outputs(), isTensor)) fresh.alignment = kOutputAlignment;
  fresh.sizes = sizesOf(*tensor, scalars_);
  fresh.strides = freshStrides(*tensor, fresh.sizes);
  int64_t bytes = 0;
  TK_REQUIRE(!__builtin_mul_overflow(spanOf(fresh.sizes, fresh.strides), sizeOf(fresh.dtype), &bytes), OutOfMemory,
             "{}: its size in bytes does not fit 63 bits", toString(*tensor));
  if (recorder_ != nullptr) recorder_->describeNext("ALLOCATE " + nameOf(*tensor), nameOf(*tensor));
  fresh.storage = std::make_shared<RunStorage>(*device_, *current_, bytes, fresh.kind);
  fresh.address = fresh.storage->address();
  if (statement != nullptr && statement->zero_init) device_->fill(*current_, fresh.address, 0, bytes);
  setValue(tensor, std::move(fresh));
}

void StatementRunner::deallocate(TensorView* tensor) {
  const RunTensor& known = value(tensor);
  if (recorder_ != nullptr) recorder_->describeNext("DEALLOCATE " + nameOf(*tensor));
  if (known.storage != nullptr && posted_ != nullptr) posted_->requireUnused(*known.storage, nameOf(*tensor));
  if (known.storage != nullptr) known.storage->release(*current_);
}

void StatementRunner::defineView(TensorView* out, TensorView* in, int64_t logical_axis, int64_t start, int64_t stop,
                                 bool drops_axis) {
  RunTensor view = value(in);
  const size_t axis = visiblePosition(*in, logical_axis);
  TK_REQUIRE(start >= 0 && start <= stop && stop <= view.sizes[axis], HostProgram,
             "{}: the range [{}, {}) is outside axis {} of {}, which has size {}",
             drops_axis ? "HirAliasSelect" : "HirAliasSlice", start, stop, logical_axis, toString(*in),
             view.sizes[axis]);
  view.address = static_cast<std::byte*>(view.address) + start * view.strides[axis] * sizeOf(view.dtype);
  view.sizes[axis] = stop - start;
  if (drops_axis) {
    view.sizes.erase(view.sizes.begin() + static_cast<std::ptrdiff_t>(axis));
    view.strides.erase(view.strides.begin() + static_cast<std::ptrdiff_t>(axis));
  }
  setValue(out, std::move(view));
}

StatementRunner::Operands StatementRunner::operandsOf(const Expr& expr) const {
  Operands operands;
  const auto add = [&](TensorView* tensor, bool is_result) {
    const RunTensor& known = value(tensor);
    OperandDesc desc{known.dtype, known.sizes, known.strides, std::min(known.alignment, alignmentOf(known.address))};
    const bool is_empty = std::ranges::find(desc.sizes, 0) != desc.sizes.end();
    for (size_t i = 0; i < desc.sizes.size(); ++i) {
      if (is_result && !is_empty && desc.strides[i] == 0 && desc.sizes[i] > 1) desc.sizes[i] = 1;
    }
    operands.descs.push_back(std::move(desc));
    operands.addresses.push_back(known.address);
  };
  for (TensorView* in : tensorsOf(expr.inputs())) add(in, false);
  for (TensorView* out : tensorsOf(expr.outputs())) add(out, true);
  return operands;
}

void StatementRunner::runMath(const Expr& expr) {
  TensorView* out = asTensor(expr.output(0));
  if (const auto* set = expr.as<LoadStoreOp>();
      set != nullptr && !isKnown(out) && set->in->memoryKind() == out->memoryKind()) {
    return setValue(out, value(set->in));  // a Set without a place to write to binds the same tensor
  }
  if (bindView(expr, out)) return;
  for (TensorView* result : tensorsOf(expr.outputs())) allocate(result, nullptr);
  const Operands operands = operandsOf(expr);
  for (TensorView* result : tensorsOf(expr.outputs())) {
    const RunTensor& known = value(result);
    TK_REQUIRE(known.sizes == sizesOf(*result, scalars_), HostProgram,
               "{}: the preallocated result has sizes [{}], but the op gives [{}]", summaryOf(expr),
               joined(known.sizes), joined(sizesOf(*result, scalars_)));
  }
  const Expr* const exprs[] = {&expr};
  if (givesNothing(expr, operands)) return requireShapeConstraints(exprs, scalars_);
  launch(requestFor(expr, operands), operands);
}

// Whether no result has an element: nothing has to run.
bool StatementRunner::givesNothing(const Expr& expr, const Operands& operands) {
  const size_t results = tensorsOf(expr.outputs()).size();
  return std::ranges::all_of(std::span(operands.descs).last(results), [](const OperandDesc& desc) {
    return std::ranges::find(desc.sizes, 0) != desc.sizes.end();
  });
}

// Why not, where a view was asked for, is told by copiedViews().
bool StatementRunner::bindView(const Expr& expr, TensorView* out) {
  const bool is_inner = &out->fusion() != program_;
  // Of a segment that runs op by op, whatever is its own affair.
  const bool is_wanted = is_inner ? expr.info().may_be_view && !expr.is<LoadStoreOp>() && !out->fusion().isOutput(out)
                                  : program_->isView(out);
  if (!is_wanted) return false;
  const auto tell = [&](std::string_view reason) {
    if (!is_inner) copied_views_.push_back(fmt::format("{} is copied: {}", nameOf(*out), reason));
    return false;
  };
  if (isKnown(out)) return tell("memory was given for it");
  const RunTensor& in = value(asTensor(expr.inputs()[0]));
  std::optional<RunTensor> view = viewOf(expr, in, scalars_);
  if (!view)
    return tell(fmt::format("{} of sizes [{}] and strides [{}] has no such view", nameOf(*asTensor(expr.inputs()[0])),
                            joined(in.sizes), joined(in.strides)));
  if (!isRequiredLayout(*out, *view))
    return tell(fmt::format("a view has the strides [{}], and another order is required", joined(view->strides)));
  setValue(out, *std::move(view));
  bound_views_.insert(out);
  return true;
}

WorkRequest StatementRunner::requestFor(const Expr& expr, const Operands& operands) const {
  return {.expr = expr,
          .operands = operands.descs,
          .bindings = scalars_,
          .parameters = parameters_ == nullptr ? std::span<const Scalar* const>() : parameters_->of(expr),
          .concurrency = concurrency_,
          .kernels = kernels_};
}

// What the recorder was told has its compilation waited for when all of it is known.
void StatementRunner::launch(const WorkRequest& request, const Operands& operands) {
  const std::shared_ptr<const Work> held = works_->find(*device_, request);
  const Work& work = *held;
  if (recorder_ != nullptr)
    recorder_->describeNext(summaryOf(request.expr));
  else
    work.waitUntilReady();
  device_->launch(*current_, work, operands.addresses);
}

void StatementRunner::bindSegmentScalar(const PostOnStream& post, size_t input) {
  const auto given = evaluate(*asScalar(post.ins[input]), scalars_);
  TK_REQUIRE(given.has_value(), HostProgram, "HostUnit{}: the value of its input {} is not known", post.segment->number,
             toString(*asScalar(post.ins[input])));
  scalars_[asScalar(post.segment->fusion->inputs()[input])] = *given;
}

// A product with an activation is no kernel: where the device's library does not have it, it is done op by op.
bool StatementRunner::isOneWork(const PostOnStream& post) const {
  return segment_mode_ == SegmentMode::Kernels &&
         (device_->properties().activates_products || !productGroupOf(*post.segment));
}

void StatementRunner::runSegment(const Expr& expr, const PostOnStream& post) {
  const Fusion& segment = *post.segment->fusion;
  TK_REQUIRE(segment.inputs().size() == post.ins.size() && segment.outputs().size() == post.outs.size(), HostProgram,
             "HostUnit{}: takes {} inputs and gives {} outputs, but is posted with {} and {}", post.segment->number,
             segment.inputs().size(), segment.outputs().size(), post.ins.size(), post.outs.size());
  const auto known = std::ranges::count_if(post.outs, [&](TensorView* out) { return isKnown(out); });
  TK_REQUIRE(known == 0 || known == static_cast<int64_t>(post.outs.size()), HostProgram,
             "outputs must be all or none preallocated in expr {}", summaryOf(expr));
  std::vector<const TensorView*> local;
  for (size_t i = 0; i < post.ins.size(); ++i) {
    if (TensorView* tensor = asTensor(segment.inputs()[i])) {
      RunTensor in = value(asTensor(post.ins[i]));
      bindShape(*tensor, in.sizes, scalars_);
      values_[tensor] = std::move(in);
      local.push_back(tensor);
    } else {
      bindSegmentScalar(post, i);
    }
  }
  for (size_t i = 0; i < post.outs.size() && known > 0; ++i) {
    RunTensor out = value(post.outs[i]);
    bindShape(*segment.outputs()[i], out.sizes, scalars_);  // the size of a slice that no input has
    values_[segment.outputs()[i]] = std::move(out);
    local.push_back(segment.outputs()[i]);
  }
  const std::vector<Expr*> ops = segment.exprs();
  std::unordered_map<const TensorView*, size_t> last_reads;
  for (size_t i = 0; i < ops.size(); ++i)
    for (const TensorView* read : tensorsOf(ops[i]->inputs())) last_reads[read] = i;
  for (size_t i = 0; i < ops.size(); ++i) {
    runMath(*ops[i]);
    for (TensorView* out : tensorsOf(ops[i]->outputs())) local.push_back(out);
    // What nobody reads any more gives its memory back.
    for (TensorView* read : tensorsOf(ops[i]->inputs()))
      if (last_reads.at(read) == i && !segment.isOutput(read)) values_.erase(read);
  }
  for (size_t i = 0; i < post.outs.size() && known == 0; ++i) setValue(post.outs[i], value(segment.outputs()[i]));
  for (const TensorView* tensor : local) values_.erase(tensor);
  for (const Scalar* symbol : segment.allSymbols()) scalars_.erase(symbol);
}

// The segment as one piece of work. Its own symbols are known while the work is prepared.
void StatementRunner::launchSegment(const Expr& expr, const PostOnStream& post) {
  const Fusion& segment = *post.segment->fusion;
  for (TensorView* out : post.outs) allocate(out, nullptr);
  for (size_t i = 0; i < post.ins.size(); ++i) {
    if (const TensorView* tensor = asTensor(segment.inputs()[i])) {
      bindShape(*tensor, value(asTensor(post.ins[i])).sizes, scalars_);
      continue;
    }
    bindSegmentScalar(post, i);
  }
  for (size_t i = 0; i < post.outs.size(); ++i) bindShape(*segment.outputs()[i], value(post.outs[i]).sizes, scalars_);
  const Operands operands = operandsOf(expr);
  if (givesNothing(expr, operands))
    requireShapeConstraints(segment, scalars_);
  else
    launch(requestFor(expr, operands), operands);
  for (const Scalar* symbol : segment.allSymbols()) scalars_.erase(symbol);
}

// Its results have memory: nothing tells a new one's extents but the program, which allocates it.
void StatementRunner::launchKernel(const Expr& expr, const LaunchKernel& op) {
  const auto kernel = program_->kernels().find(op.kernel);
  TK_REQUIRE(kernel != program_->kernels().end(), HostProgram, "LaunchKernel: the program has no Kernel{}", op.kernel);
  for (TensorView* out : op.outs) allocate(out, nullptr);
  const Operands operands = operandsOf(expr);
  if (givesNothing(expr, operands)) return;
  WorkRequest request = requestFor(expr, operands);
  request.kernel = kernel->second;
  launch(request, operands);
}

// Its output has memory: the program allocates it, or it is one of the caller's.
void StatementRunner::postCommunication(const Expr& expr, int64_t number, TensorView* in, TensorView* out) {
  if (posted_ != nullptr) {
    if (out != nullptr) allocate(out, nullptr);
    const CommunicationMemory memory = {.in = in == nullptr ? nullptr : &value(in),
                                        .out = out == nullptr ? nullptr : &value(out)};
    return posted_->post(expr, number, memory, scalars_, *current_);
  }
  TK_REQUIRE(recorder_ != nullptr, Unsupported, "{}: there is no communicator here", expr.name());
  Operands operands;
  for (TensorView* side : {in, out}) {
    if (side == nullptr) continue;
    const RunTensor& known = value(side);
    operands.descs.push_back({.dtype = known.dtype, .sizes = known.sizes, .strides = known.strides});
    operands.addresses.push_back(known.address);
  }
  const int32_t event = recorder_->newEvent();
  communications_[number] = {event};
  group_.push_back(event);
  recorder_->describeNext(summaryOf(expr));
  recorder_->post(*current_, event, operands.descs, operands.addresses, out == nullptr ? 0 : 1);
}

void StatementRunner::waitCommunication(int64_t number) {
  if (posted_ != nullptr) return posted_->wait(number, *current_);
  const auto posted = communications_.find(number);
  TK_REQUIRE(posted != communications_.end(), HostProgram, "Wait Communication {}: it was never posted", number);
  recorder_->describeNext(fmt::format("Wait Communication {}", number));
  for (const int32_t event : posted->second) recorder_->join(*current_, event);
}

}  // namespace tokamak
