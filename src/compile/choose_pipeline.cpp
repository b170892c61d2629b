#include "compile/choose_pipeline.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"
#include "compute/element.h"
#include "host/ir/text/host_printer.h"
#include "ir/ops/host/for_loop.h"
#include "ir/ops/host/hir_alias_slice.h"
#include "simulate/program_simulation.h"

namespace tokamak {

namespace {

// What the model does not know makes chunks dearer than it says: few are taken where many gain next to nothing.
constexpr double kTolerance = 1.01;
// Close enough to each other: the time of a pipeline of n chunks is about a / n + b n + c, which is flat at its least.
constexpr int64_t kNumbers[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};

void addSymbols(const Scalar& scalar, std::set<const Scalar*>& symbols) {
  if (scalar.isSymbol()) symbols.insert(&scalar);
  for (const Scalar* operand : scalar.operands()) addSymbols(*operand, symbols);
}

std::set<const Scalar*> symbolsOfInputs(const HostIrContainer& program) {
  std::set<const Scalar*> symbols;
  for (Val* input : program.inputs()) {
    if (const TensorView* tensor = asTensor(input))
      for (const IterDomain* axis : shapeOf(*tensor)) addSymbols(*axis->visibleExtent(), symbols);
    else
      symbols.insert(asScalar(input));
  }
  return symbols;
}

// An extent that iterations cut into parts.
struct CutExtent {
  const Scalar* number = nullptr;  // of iterations
  const Scalar* extent = nullptr;  // null where it is not cut
};

// By marks, and by loops whose tensor has none left: a loop along a reduced axis adds up terms of slices.
std::vector<CutExtent> cutExtents(const HostIrContainer& program) {
  std::vector<CutExtent> cuts;
  for (const TensorView* tensor : program.allTensors()) {
    for (const IterDomain* axis : tensor->loop()) {
      if (!axis->isStream()) continue;
      const DomainExpr* const cut = axis->definition();
      cuts.push_back({axis->extent(), cut == nullptr ? nullptr : cut->in[0]->visibleExtent()});
    }
  }
  forEachStatement(program.topLevel(), [&](const Expr& expr) {
    const auto* loop = expr.as<ForLoop>();
    if (loop == nullptr || loop->axis != nullptr) return;
    forEachStatement(loop->body, [&](const Expr& statement) {
      const auto* slice = statement.as<HirAliasSlice>();
      if (slice == nullptr || !loop->stop->isSymbol() || !mentions(*slice->start, *loop->stop)) return;
      cuts.push_back({loop->stop, slice->in->logical()[static_cast<size_t>(slice->axis)]->visibleExtent()});
    });
  });
  return cuts;
}

class PipelineChoice {
 public:
  PipelineChoice(const HostIrContainer& program, const ScalarBindings& extents, const Machine& machine,
                 const PipelineOptions& options)
      : program_(program), extents_(extents), machine_(machine), options_(options) {}

  ChosenPipeline choose() {
    TK_REQUIRE(!machine_.transports.empty(), Usage, "machine {}: it has no transport, so that none can be chosen",
               machine_.name);
    if (!options_.transport.empty()) {
      tryTransport(options_.transport);
    } else {
      for (const auto& [name, transport] : machine_.transports) tryIfPossible(name);
      if (chosen_.trials.empty() && refusal_ != nullptr) std::rethrow_exception(refusal_);
    }
    chosen_.best = *std::ranges::min_element(best_, {}, &PipelineTrial::seconds);
    return std::move(chosen_);
  }

 private:
  // A transport that cannot reduce is none for a program that reduces.
  void tryIfPossible(const std::string& transport) {
    try {
      tryTransport(transport);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Unsupported) throw;
      refusal_ = std::current_exception();
    }
  }

  void tryTransport(const std::string& transport) {
    const std::vector<const Scalar*> open = openChunkNumbers(program_, extents_);
    ScalarBindings extents = extents_;
    for (const Scalar* symbol : open) extents[symbol] = int64_t{1};
    PipelineTrial best;
    if (open.empty()) best = predict({extents}, open, transport)[0];
    for (const Scalar* symbol : open) {
      std::vector<ScalarBindings> candidates;
      for (const int64_t number : numbersFor(*symbol)) {
        candidates.push_back(extents);
        candidates.back()[symbol] = number;
      }
      const std::vector<PipelineTrial> trials = predict(candidates, open, transport);
      const double least = std::ranges::min(trials, {}, &PipelineTrial::seconds).seconds;
      const auto isGood = [&](const PipelineTrial& trial) { return trial.seconds <= kTolerance * least; };
      const auto found = std::ranges::find_if(trials, isGood);
      best = *found;
      extents = candidates[static_cast<size_t>(found - trials.begin())];
    }
    best_.push_back(std::move(best));
  }

  std::vector<PipelineTrial> predict(const std::vector<ScalarBindings>& candidates,
                                     const std::vector<const Scalar*>& open, const std::string& transport) {
    std::vector<SimulationCandidate> programs;
    for (const ScalarBindings& extents : candidates) programs.push_back({.program = &program_, .extents = extents});
    const std::vector<double> seconds =
        predictedSeconds(programs, machine_,
                         {.ranks = options_.ranks,
                          .transport = transport,
                          .number_of_streams = options_.number_of_streams,
                          .segments = options_.segments,
                          .most_iterations = options_.most_iterations,
                          .finish = [this](HostIrContainer& local) { finishHostProgram(local, options_.lowering); }});
    std::vector<PipelineTrial> trials;
    for (size_t i = 0; i < candidates.size(); ++i) {
      PipelineTrial trial{
          .chunks = {}, .transport = transport, .transfers = options_.lowering.stream_transfers, .seconds = seconds[i]};
      for (const Scalar* symbol : open) trial.chunks[symbol->name()] = asInt(candidates[i].at(symbol));
      trials.push_back(std::move(trial));
    }
    chosen_.trials.insert(chosen_.trials.end(), trials.begin(), trials.end());
    return trials;
  }

  // No more than the axis has indices; 1 where it has none.
  std::vector<int64_t> numbersFor(const Scalar& symbol) const {
    int64_t most = options_.most_iterations;
    for (const CutExtent& cut : cutExtents(program_)) {
      if (cut.number != &symbol || cut.extent == nullptr) continue;
      if (const auto extent = evaluate(*cut.extent, extents_)) most = std::min(most, asInt(*extent));
    }
    std::vector<int64_t> numbers;
    for (const int64_t number : kNumbers)
      if (number == 1 || number <= most) numbers.push_back(number);
    return numbers;
  }

  const HostIrContainer& program_;
  const ScalarBindings& extents_;
  const Machine& machine_;
  const PipelineOptions& options_;
  ChosenPipeline chosen_;
  std::vector<PipelineTrial> best_;  // by transport
  std::exception_ptr refusal_;
};

}  // namespace

std::vector<const Scalar*> openChunkNumbers(const HostIrContainer& program, const ScalarBindings& extents) {
  const std::set<const Scalar*> of_inputs = symbolsOfInputs(program);
  std::map<std::string, const Scalar*> open;
  for (const CutExtent& cut : cutExtents(program)) {
    const Scalar* const extent = cut.number;
    const bool is_open =
        extent->isSymbol() && !extent->name().empty() && !extents.contains(extent) && !of_inputs.contains(extent);
    if (is_open) open.emplace(extent->name(), extent);
  }
  std::vector<const Scalar*> symbols;
  for (const auto& [name, symbol] : open) symbols.push_back(symbol);
  return symbols;
}

ChosenPipeline choosePipeline(const HostIrContainer& program, const ScalarBindings& extents, const Machine& machine,
                              const PipelineOptions& options) {
  return PipelineChoice(program, extents, machine, options).choose();
}

ChosenTransfers chooseTransfers(const Fusion& fusion, const std::function<ScalarBindings(HostIrContainer&)>& extents,
                                const Machine& machine, const PipelineOptions& options) {
  std::vector<ChosenTransfers> candidates;
  std::vector<PipelineTrial> trials;
  std::set<std::string> texts;
  std::exception_ptr refusal;
  for (const StreamTransfers transfers : kAllStreamTransfers) {
    PipelineOptions own = options;
    own.lowering.stream_transfers = transfers;
    ChosenTransfers candidate = {.program = lowerToRanks(fusion, own.lowering), .extents = {}, .pipeline = {}};
    if (!texts.insert(printHostProgram(*candidate.program)).second) continue;
    candidate.extents = extents(*candidate.program);
    try {
      candidate.pipeline = choosePipeline(*candidate.program, candidate.extents, machine, own);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Unsupported) throw;
      refusal = std::current_exception();
      continue;
    }
    for (const Scalar* symbol : openChunkNumbers(*candidate.program, candidate.extents))
      candidate.extents[symbol] = candidate.pipeline.best.chunks.at(symbol->name());
    trials.insert(trials.end(), candidate.pipeline.trials.begin(), candidate.pipeline.trials.end());
    candidates.push_back(std::move(candidate));
  }
  if (candidates.empty()) std::rethrow_exception(refusal);
  const auto secondsOf = [](const ChosenTransfers& one) { return one.pipeline.best.seconds; };
  const double least = secondsOf(*std::ranges::min_element(candidates, {}, secondsOf));
  const auto isGood = [&](const ChosenTransfers& one) { return secondsOf(one) <= kTolerance * least; };
  ChosenTransfers best = std::move(*std::ranges::find_if(candidates, isGood));
  best.pipeline.trials = std::move(trials);
  return best;
}

std::string_view nameOf(StreamTransfers transfers) {
  switch (transfers) {
    case StreamTransfers::None: return "none";
    case StreamTransfers::Direct: return "direct";
    case StreamTransfers::Permute: return "permute";
    case StreamTransfers::Ring: break;
  }
  return "ring";
}

std::string toString(const ChunkNumbers& chunks) {
  std::vector<std::string> parts;
  for (const auto& [name, number] : chunks) parts.push_back(fmt::format("{} = {}", name, number));
  return joined(parts);
}

}  // namespace tokamak
