#include "compile/program_on_ranks.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "analysis/bind_shape.h"
#include "analysis/device_mesh.h"
#include "analysis/tensor_part.h"
#include "base/require.h"
#include "base/text.h"
#include "compile/agreed_steps.h"
#include "compile/rank_proof.h"
#include "device/failure.h"
#include "device/tensor_copies.h"
#include "dist/communication_error.h"
#include "host/ir/verifier.h"
#include "host/local/local_program.h"
#include "host/plan/plan_key.h"
#include "jit/open_device.h"

namespace tokamak {

namespace {

using Part = std::vector<IndexRange>;  // per visible axis

bool isOn(const TensorView& tensor, int64_t rank) { return tensor.mesh().empty() || hasRank(tensor.mesh(), rank); }

std::vector<int64_t> extentsOf(const Part& part) {
  std::vector<int64_t> extents;
  for (const IndexRange& range : part) extents.push_back(range.extent);
  return extents;
}

int64_t numberOf(std::span<const int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

std::vector<int64_t> denseStrides(std::span<const int64_t> sizes) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
  return strides;
}

struct Disagreement {
  std::string output;
  int64_t a = 0;
  int64_t b = 0;
};

// Elements of tensors of the same sizes, in whatever order.
struct Elements {
  std::byte* first = nullptr;
  std::span<const int64_t> strides;
};

template <class Visit>
void forEachElement(std::span<const int64_t> sizes, int64_t width, const Elements& a, const Elements& b,
                    const Visit& visit) {
  if (std::ranges::find(sizes, 0) != sizes.end()) return;
  std::vector<int64_t> index(sizes.size(), 0);
  while (true) {
    int64_t at_a = 0;
    int64_t at_b = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      at_a += index[i] * a.strides[i];
      at_b += index[i] * b.strides[i];
    }
    visit(a.first + at_a * width, b.first + at_b * width);
    size_t axis = sizes.size();
    while (axis > 0 && ++index[axis - 1] == sizes[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

// The part of a whole tensor that host code reads and writes.
Elements partIn(const Tensor& whole, const Part& part) {
  int64_t offset = 0;
  for (size_t i = 0; i < part.size(); ++i) offset += part[i].start * whole.strides()[i];
  const void* const start = whole.hostDataToRead();
  return {.first = static_cast<std::byte*>(const_cast<void*>(start)) + offset * sizeOf(whole.dtype()),
          .strides = whole.strides()};
}

Elements elementsOf(const Tensor& tensor) {
  return {.first = static_cast<std::byte*>(const_cast<void*>(tensor.hostDataToRead())), .strides = tensor.strides()};
}

void requireSizes(const TensorView& tensor, std::span<const int64_t> given, std::span<const int64_t> expected) {
  for (size_t axis = 0; axis < given.size(); ++axis) {
    TK_REQUIRE(given[axis] == expected[axis], Bind,
               "{}: axis {} has {} elements, and {} were given for all ranks of its mesh ({}) together", nameOf(tensor),
               axis, expected[axis], given[axis], joined(tensor.mesh().devices, " "));
  }
}

// That a rank was told of another's failure, or of work of its own that was skipped because of one.
bool isEcho(const std::exception_ptr& failure, int64_t rank) {
  try {
    std::rethrow_exception(failure);
  } catch (const CommunicationError& error) {
    return error.rank() != rank;
  } catch (const SkippedError&) {
    return true;
  } catch (...) {
    return false;
  }
}

[[noreturn]] void raiseOf(const std::exception_ptr& failure, int64_t rank) {
  try {
    std::rethrow_exception(failure);
  } catch (const CommunicationError&) {
    throw;
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("rank {}: {}", rank, error.message()));
  }
}

RanksOptions withSegments(RanksOptions options) {
  if (!options.run.segments)
    options.run.segments = makesKernels(options.lowering.grouping) ? SegmentMode::Kernels : SegmentMode::OpByOp;
  return options;
}

// Symbols of another program, by their names.
void bindByName(const Fusion& program, const ScalarBindings& extents, ScalarBindings& bindings) {
  for (Scalar* symbol : program.allSymbols()) {
    if (symbol->name().empty() || bindings.contains(symbol)) continue;
    for (const auto& [known, value] : extents)
      if (known->name() == symbol->name()) bindings[symbol] = value;
  }
}

}  // namespace

struct ProgramOnRanks::Rank {
  std::shared_ptr<Device> device;
  std::unique_ptr<Communicator> communicator;  // null: the process's
  std::unique_ptr<HostIrEvaluator> evaluator;  // goes before its communicator
  std::shared_ptr<Stream> stream;
  std::vector<std::pair<Val*, RunValue>> values;
  std::vector<Tensor> outputs;
  std::exception_ptr failure;
};

ProgramOnRanks::ProgramOnRanks(std::unique_ptr<HostIrContainer> program, const RanksOptions& options)
    : program_(std::move(program)), options_(options), process_(options.process) {
  constexpr int64_t kMostRanks = 1024;
  verifyHostProgram(*program_, HostStage::Written);
  parameters_.emplace(*program_, SegmentMode::Kernels);
  const int64_t ranks = process_ == nullptr ? options.ranks : process_->size();
  TK_REQUIRE(0 < ranks && ranks <= kMostRanks, Usage, "{} ranks were asked for; 1 to {} are legal", ranks, kMostRanks);
  ranks_.resize(static_cast<size_t>(ranks));
  if (process_ != nullptr) {
    ranks_[static_cast<size_t>(process_->rank())] = makeRank(process_->rank(), options, nullptr);
    return;
  }
  std::vector<std::shared_ptr<Device>> devices;
  for (int64_t rank = 0; rank < ranks; ++rank) devices.push_back(openCpuDevice(options.device));
  std::vector<std::unique_ptr<Communicator>> communicators = makeLocalCommunicators(devices, options.communication);
  for (size_t i = 0; i < ranks_.size(); ++i)
    ranks_[i] = makeRank(static_cast<int64_t>(i), options, std::move(communicators[i]));
}

std::unique_ptr<ProgramOnRanks::Rank> ProgramOnRanks::makeRank(int64_t number, const RanksOptions& options,
                                                               std::unique_ptr<Communicator> communicator) const {
  auto rank = std::make_unique<Rank>();
  rank->communicator = std::move(communicator);
  HostIrEvaluatorParams params = options.run;
  params.communicator = rank->communicator != nullptr ? rank->communicator.get() : process_;
  std::unique_ptr<HostIrContainer> local = localProgram(*program_, {.number = number,
                                                                    .ranks = static_cast<int64_t>(ranks_.size()),
                                                                    .extents = WholeExtents::Given,
                                                                    .backend = params.communicator->backend()});
  finishHostProgram(*local, options.lowering);
  rank->device = params.communicator->device();
  const auto describe = [&] { return fmt::format("for rank {}", number); };
  const ErrorNote note(describe);
  rank->evaluator = std::make_unique<HostIrEvaluator>(std::move(local), *rank->device, params);
  rank->stream = rank->device->createStream();
  return rank;
}

ProgramOnRanks::ProgramOnRanks(const Fusion& fusion, const RanksOptions& options)
    : ProgramOnRanks(lowerToRanks(fusion, options.lowering), withSegments(options)) {}

// All evaluators go first: their calls may wait for other ranks.
ProgramOnRanks::~ProgramOnRanks() {
  for (const std::unique_ptr<Rank>& rank : ranks_)
    if (rank != nullptr) rank->evaluator.reset();
}

const HostIrContainer& ProgramOnRanks::localProgramOf(int64_t rank) const {
  return ranks_[static_cast<size_t>(rank)]->evaluator->program();
}

void ProgramOnRanks::cutInputs(std::span<const RunValue> inputs, const ScalarBindings& extents, Rank& rank,
                               int64_t number) const {
  const HostIrContainer& local = rank.evaluator->program();
  rank.values.clear();
  size_t next = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorView* tensor = asTensor(program_->inputs()[i]);
    if (tensor == nullptr) {
      rank.values.emplace_back(local.inputs()[next++], inputs[i]);
      continue;
    }
    if (!isOn(*tensor, number)) continue;
    const auto& whole = std::get<Tensor>(inputs[i]);
    const Part part = partOf(*tensor, whole.sizes(), extents, number);
    const std::vector<int64_t> sizes = extentsOf(part);
    TensorView& own = *asTensor(local.inputs()[next++]);
    const std::vector<int64_t> strides = freshStrides(own, sizes);
    const int64_t width = sizeOf(whole.dtype());
    const bool is_on_host = rank.device->properties().ordinal < 0;
    const MemoryKind kind = is_on_host ? whole.kind() : MemoryKind::Host;
    Tensor piece(Buffer::allocate(*rank.device, rank.stream, spanOf(sizes, strides) * width, kind), 0, whole.dtype(),
                 sizes, strides);
    rank.device->synchronize(*rank.stream);  // the host writes it
    forEachElement(sizes, width, elementsOf(piece), partIn(whole, part),
                   [&](std::byte* to, const std::byte* from) { std::memcpy(to, from, static_cast<size_t>(width)); });
    rank.values.emplace_back(
        &own, is_on_host ? std::move(piece) : toDevice(piece, *rank.device, rank.stream, own.memoryKind()));
  }
  for (Scalar* symbol : local.allSymbols()) {
    if (symbol->name().empty() || local.isInput(symbol)) continue;
    for (const auto& [known, value] : extents)
      if (known->name() == symbol->name()) rank.values.emplace_back(symbol, value);
  }
}

void ProgramOnRanks::prove(const ScalarBindings& bindings) {
  if (options_.runs_proved == RunsProved::No) return;
  std::vector<int64_t> key;
  for (const Scalar* symbol : program_->allSymbols()) {
    const auto known = bindings.find(symbol);
    if (known != bindings.end() && !parameters_->contains(symbol)) addToKey(*symbol, known->second, key);
  }
  if (proved_.contains(key)) return;
  const RankRecordingOptions recording = {.number_of_streams = options_.run.number_of_streams,
                                          .most_iterations = options_.run.most_iterations};
  requireProved(
      proveRanks(*program_, bindings, {.ranks = ranks(), .lowering = options_.lowering, .recording = recording}),
      ranks());
  proved_.insert(std::move(key));
}

void ProgramOnRanks::runHere() {
  Rank& rank = *ranks_[static_cast<size_t>(process_->rank())];
  try {
    rank.outputs = rank.evaluator->runWithInput(rank.values, rank.stream);
    rank.stream->synchronize();
  } catch (...) {
    rank.stream = rank.device->createStream();
    throw;
  }
}

void ProgramOnRanks::runAll() {
  std::vector<std::thread> threads;
  for (const std::unique_ptr<Rank>& rank : ranks_) {
    threads.emplace_back([&rank = *rank] {
      rank.failure = nullptr;
      try {
        rank.outputs = rank.evaluator->runWithInput(rank.values, rank.stream);
        rank.stream->synchronize();
      } catch (...) {
        rank.failure = std::current_exception();
        rank.stream = rank.device->createStream();  // what failed there is not the next call's
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::optional<int64_t> failed;
  for (int64_t number = 0; number < ranks(); ++number) {
    const std::exception_ptr& failure = ranks_[static_cast<size_t>(number)]->failure;
    if (failure == nullptr) continue;
    if (!isEcho(failure, number)) raiseOf(failure, number);
    if (!failed) failed = number;
  }
  if (failed) raiseOf(ranks_[static_cast<size_t>(*failed)]->failure, *failed);
}

// In the order of the rank's sizes, row-major.
std::vector<std::byte> ProgramOnRanks::bytesOf(const TensorView& output, const std::vector<int64_t>& sizes,
                                               int64_t number, size_t next) const {
  std::vector<std::byte> bytes;
  const std::unique_ptr<Rank>& rank = ranks_[static_cast<size_t>(number)];
  if (rank != nullptr) {
    const Tensor own = toHost(rank->outputs[next], rank->stream);
    bytes.resize(static_cast<size_t>(numberOf(sizes) * sizeOf(output.dtype())));
    const std::vector<int64_t> strides = denseStrides(sizes);
    forEachElement(sizes, sizeOf(output.dtype()), {.first = bytes.data(), .strides = strides}, elementsOf(own),
                   [&](std::byte* to, const std::byte* from) {
                     std::memcpy(to, from, static_cast<size_t>(sizeOf(output.dtype())));
                   });
  }
  if (process_ == nullptr || number == 0) return bytes;
  const std::array<int64_t, 2> pair = {0, number};
  if (positionOf(pair, process_->rank()) < 0) return bytes;
  return process_->exchange("output", pair, bytes)[1];
}

std::vector<Tensor> ProgramOnRanks::assemble(const ScalarBindings& bindings, Device& device,
                                             const std::shared_ptr<Stream>& stream) {
  const bool is_first = process_ == nullptr || process_->rank() == 0;
  std::vector<size_t> next(ranks_.size(), 0);
  std::vector<Tensor> outputs;
  std::optional<Disagreement> disagreement;  // raised when other processes have given all
  for (const TensorView* output : program_->outputs()) {
    const std::vector<int64_t> sizes = sizesOf(*output, bindings);
    Tensor whole = Tensor::emptyOnHost(device, stream, output->dtype(), sizes);
    const int64_t width = sizeOf(output->dtype());
    std::map<std::vector<int64_t>, int64_t> owners;  // start and extent along each axis -> the rank that gave it
    for (int64_t number = 0; number < ranks(); ++number) {
      if (!isOn(*output, number)) continue;
      const Part part = partOf(*output, sizes, bindings, number);
      const std::vector<int64_t> extents = extentsOf(part);
      std::vector<std::byte> own = bytesOf(*output, extents, number, next[static_cast<size_t>(number)]++);
      if (!is_first) continue;
      std::vector<int64_t> place;
      for (const IndexRange& range : part) place.insert(place.end(), {range.start, range.extent});
      const auto [owner, is_owner] = owners.emplace(std::move(place), number);
      bool agrees = true;
      const std::vector<int64_t> strides = denseStrides(extents);
      forEachElement(extents, width, partIn(whole, part), {.first = own.data(), .strides = strides},
                     [&](std::byte* in_whole, const std::byte* in_own) {
                       const auto bytes = static_cast<size_t>(width);
                       if (is_owner)
                         std::memcpy(in_whole, in_own, bytes);
                       else
                         agrees = agrees && std::memcmp(in_whole, in_own, bytes) == 0;
                     });
      if (!agrees && !disagreement) disagreement = {.output = nameOf(*output), .a = owner->second, .b = number};
    }
    outputs.push_back(std::move(whole));
  }
  if (disagreement)
    TK_RAISE(Device, "output {}: ranks {} and {} have the same part, and not the same elements", disagreement->output,
             disagreement->a, disagreement->b);
  if (!is_first) outputs.clear();
  return outputs;
}

ScalarBindings ProgramOnRanks::bindingsOf(std::span<const RunValue> inputs, const ScalarBindings& extents) const {
  TK_REQUIRE(inputs.size() == program_->inputs().size(), Bind, "{}: {} inputs were given; it takes {}",
             program_->name(), inputs.size(), program_->inputs().size());
  ScalarBindings bindings;
  for (const auto& [symbol, value] : extents)
    if (&symbol->fusion() == program_.get()) bindings[symbol] = value;
  bindByName(*program_, extents, bindings);  // inputs need not tell what an extent such as n + n is computed of
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (const TensorView* tensor = asTensor(program_->inputs()[i])) {
      const auto& value = std::get<Tensor>(inputs[i]);
      value.waitReady();
      bindShape(*tensor, value.sizes(), bindings);
      requireSizes(*tensor, value.sizes(), sizesOf(*tensor, bindings));
    } else {
      bindings[asScalar(program_->inputs()[i])] = std::get<ScalarValue>(inputs[i]);
    }
  }
  return bindings;
}

std::vector<Tensor> ProgramOnRanks::run(std::span<const RunValue> inputs, const ScalarBindings& extents, Device& device,
                                        const std::shared_ptr<Stream>& stream) {
  ScalarBindings bindings;
  std::vector<Tensor> outputs;
  if (process_ != nullptr) {
    agree(*process_, "prove", [&] {
      bindings = bindingsOf(inputs, extents);
      prove(bindings);
    });
    agree(*process_, "run", [&] {
      cutInputs(inputs, bindings, *ranks_[static_cast<size_t>(process_->rank())], process_->rank());
      runHere();
    });
    agree(*process_, "assemble", [&] { outputs = assemble(bindings, device, stream); });
    return outputs;
  }
  bindings = bindingsOf(inputs, extents);
  prove(bindings);
  for (int64_t number = 0; number < ranks(); ++number)
    cutInputs(inputs, bindings, *ranks_[static_cast<size_t>(number)], number);
  runAll();
  return assemble(bindings, device, stream);
}

}  // namespace tokamak
