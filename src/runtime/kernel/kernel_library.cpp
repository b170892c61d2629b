#include "runtime/kernel/kernel_library.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "compute/fitting_sizes.h"
#include "ir/clone.h"
#include "ir/ops/host/post_on_stream.h"

namespace tokamak {

FoundKernel KernelLibrary::find(const WorkRequest& request) {
  if (const auto* post = request.expr.as<PostOnStream>()) return findUnit(*post, request);
  return findOp(request);
}

int64_t KernelLibrary::executorCount() const {
  const std::lock_guard lock(mutex_);
  return executor_count_;
}

FoundKernel KernelLibrary::findUnit(const PostOnStream& post, const WorkRequest& request) {
  const std::shared_ptr<const Program> program = programOf(post, request.parameters);
  FoundKernel found = bind(*program, request.operands, request.bindings);
  for (size_t i = 0; i < request.operands.size(); ++i) found.operands.push_back(i);
  return found;
}

// A unit is looked at once: it does not change, and its number in memory is not given to another one while it is held.
std::shared_ptr<const KernelLibrary::Program> KernelLibrary::programOf(const PostOnStream& post,
                                                                       std::span<const Scalar* const> parameters) {
  const Fusion& fusion = *post.unit->fusion;
  std::vector<std::optional<size_t>> input_parameters(post.ins.size());
  std::map<const Scalar*, size_t> parameter_symbols;
  for (size_t i = 0; i < post.ins.size() && !parameters.empty(); ++i) {
    const auto at = std::ranges::find(parameters, asScalar(post.ins[i]));
    const Scalar* symbol = asScalar(fusion.inputs()[i]);
    if (at == parameters.end() || symbol == nullptr) continue;
    input_parameters[i] = static_cast<size_t>(at - parameters.begin());
    parameter_symbols[symbol] = *input_parameters[i];
  }
  const std::lock_guard lock(mutex_);
  if (const auto found = units_.find(post.unit.get()); found != units_.end()) {
    const KnownUnit& known = found->second;
    if (known.unit.lock() == post.unit && known.input_parameters == input_parameters) return known.program;
  }
  if (units_.size() >= next_sweep_) {
    std::erase_if(units_, [](const auto& entry) { return entry.second.unit.expired(); });
    next_sweep_ = 2 * units_.size() + 64;
  }
  auto program = std::make_shared<const Program>(programOf(fusion, parameter_symbols));
  units_[post.unit.get()] = {post.unit, std::move(input_parameters), program};
  return program;
}

KernelLibrary::Program KernelLibrary::programOf(const Fusion& fusion,
                                                const std::map<const Scalar*, size_t>& parameters) {
  StructuralForm form = structuralFormOf(fusion);
  Program program;
  program.name = fusion.name();
  program.demanding = demandingExprs(fusion);
  std::vector<bool> is_parameter;
  for (const Scalar* symbol : form.symbols) {
    const auto found = parameters.find(symbol);
    is_parameter.push_back(found != parameters.end());
    program.parameters.push_back(found == parameters.end() ? std::nullopt : std::optional(found->second));
    form.words.push_back(is_parameter.back() ? 1 : 0);
  }
  std::weak_ptr<KernelExecutor>& known = executors_[form.words];
  program.executor = known.lock();
  if (program.executor == nullptr) {
    program.executor = std::make_shared<KernelExecutor>(fusion, std::move(is_parameter), options_);
    known = program.executor;
    ++executor_count_;
    constexpr size_t kMostRecent = 128;
    recent_.push_back(program.executor);
    if (recent_.size() > kMostRecent) recent_.pop_front();
    if (executors_.size() > 4 * kMostRecent)
      std::erase_if(executors_, [](const auto& entry) { return entry.second.expired(); });
  } else if (options_.observer != nullptr) {
    options_.observer->onShared(fusion.name(), program.executor->name());
  }
  program.symbols = std::move(form.symbols);
  return program;
}

FoundKernel KernelLibrary::bind(const Program& program, std::span<const OperandDesc> operands,
                                const ScalarBindings& bindings) const {
  if (!program.demanding.empty()) {
    // Rules make scalars in the program.
    const std::lock_guard lock(mutex_);
    requireFittingSizes(program.demanding, bindings);
  }
  std::vector<std::optional<ScalarValue>> values(program.symbols.size());
  for (size_t i = 0; i < program.symbols.size(); ++i) {
    const auto found = bindings.find(program.symbols[i]);
    if (found != bindings.end() && !program.parameters[i]) values[i] = found->second;
  }
  FoundKernel found;
  found.bound = program.executor->bind(operands, values);
  for (const size_t symbol : found.bound->code->parameters) found.parameters.push_back(*program.parameters[symbol]);
  found.name = program.name;
  found.executor = program.executor;
  return found;
}

// The op becomes a program of its own. An operand that occurs twice is one input of it, a parameter a scalar input.
FoundKernel KernelLibrary::findOp(const WorkRequest& request) {
  const Fusion& whole = request.expr.fusion();
  Fusion fusion(whole.name());
  Cloner cloner(fusion);
  std::map<const Scalar*, size_t> parameters;
  for (size_t i = 0; i < request.parameters.size(); ++i) {
    auto* parameter = const_cast<Scalar*>(request.parameters[i]);
    Scalar* symbol =
        fusion.symbol(parameter->isSymbol() ? parameter->name() : fmt::format("p{}", i), parameter->dtype());
    cloner.substitute(parameter, symbol);
    fusion.addInput(symbol);
    parameters[symbol] = i;
  }
  for (Val* input : request.expr.inputs()) {
    Val* copy = cloner.clone(input);
    if (!fusion.isInput(copy) && (asScalar(copy) == nullptr || asScalar(copy)->isSymbol())) fusion.addInput(copy);
  }
  const Expr* copy = cloner.clone(request.expr);
  for (TensorView* output : tensorsOf(copy->outputs())) fusion.addOutput(output);
  ScalarBindings bindings;
  for (Scalar* symbol : whole.allSymbols()) {
    const auto found = request.bindings.find(symbol);
    if (found != request.bindings.end() && cloner.contains(symbol)) bindings[cloner.clone(symbol)] = found->second;
  }
  std::vector<OperandDesc> operands;
  std::vector<size_t> numbers;
  std::set<const Val*> seen;
  size_t next = 0;
  for (const auto vals : {request.expr.inputs(), request.expr.outputs()}) {
    for (const TensorView* tensor : tensorsOf(vals)) {
      if (seen.insert(tensor).second) {
        operands.push_back(request.operands[next]);
        numbers.push_back(next);
      }
      ++next;
    }
  }
  const Program program = [&] {
    const std::lock_guard lock(mutex_);
    return programOf(fusion, parameters);
  }();
  FoundKernel found = bind(program, operands, bindings);
  found.operands = std::move(numbers);
  return found;
}

}  // namespace tokamak
