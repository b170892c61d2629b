#include "jit/kernel_library.h"

#include <algorithm>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "base/require.h"
#include "compute/shape_constraints.h"
#include "device/work.h"
#include "ir/clone.h"
#include "ir/ops/host/launch_kernel.h"
#include "ir/ops/host/post_on_stream.h"
#include "jit/prepared_kernel.h"
#include "kernel/bind_kernel.h"
#include "kernel/index_type.h"

namespace tokamak {

KernelLibrary::KernelLibrary(KernelExecutorOptions options) : options_(std::move(options)) {
  programs_ = [this](const Fusion& program, const std::vector<int64_t>&, std::vector<bool> is_parameter) {
    return std::make_shared<KernelExecutor>(program, std::move(is_parameter), options_);
  };
}

FoundKernel KernelLibrary::find(const WorkRequest& request) {
  if (const auto* post = request.expr.as<PostOnStream>()) return findSegment(*post, request);
  if (const auto* launch = request.expr.as<LaunchKernel>()) return findLaunched(*launch, request);
  return findOp(request);
}

namespace {

// Extents that buffers do not tell, such as constants, have to be theirs, too.
void requireBuffers(const kir::Kernel& kernel, int64_t number, std::span<const OperandDesc> operands,
                    const ScalarBindings& bindings) {
  for (size_t i = 0; i < operands.size(); ++i) {
    const TensorView& tensor = *kernel.tensors[i];
    const Axes shape = shapeOf(tensor);
    for (size_t k = 0; k < shape.size(); ++k) {
      const int64_t expected = evaluateInt(*shape[k]->visibleExtent(), bindings);
      TK_REQUIRE(shape[k]->isBroadcast() || operands[i].sizes[k] == expected, Bind,
                 "Kernel{}: axis {} of {} has size {}, but is given {}", number, k, nameOf(tensor), expected,
                 operands[i].sizes[k]);
    }
    TK_REQUIRE(operands[i].alignment % kernel.alignment == 0, Bind,
               "Kernel{}: {} has to be aligned to {} bytes, but is given memory that is aligned to {}", number,
               nameOf(tensor), kernel.alignment, operands[i].alignment);
  }
}

// A program says the grid and the block that the kernel has.
void requireGeometry(const kir::Kernel& kernel, const LaunchKernel& launch, const BoundKernel& bound,
                     const ScalarBindings& bindings) {
  const auto require = [&](const std::vector<Scalar*>& extents, ParallelType first, std::string_view name) {
    for (size_t k = 0; k < extents.size(); ++k) {
      const auto type = static_cast<ParallelType>(static_cast<size_t>(first) + k);
      const kir::LaunchDimension* dimension = kernel.dimension(type);
      const int64_t expected =
          dimension == nullptr ? 1 : bound.extents[static_cast<size_t>(dimension - kernel.dimensions.data())];
      const int64_t given = evaluateInt(*extents[k], bindings);
      TK_REQUIRE(given == expected, Bind, "Kernel{}: the {}'s extent {} is {}, but the kernel's {} is {}",
                 launch.kernel, name, k, given, parallelTypeName(type), expected);
    }
  };
  require(launch.grid, ParallelType::BIDx, "grid");
  require(launch.block, ParallelType::TIDx, "block");
}

}  // namespace

// A kernel that the program brings is compiled as it is.
FoundKernel KernelLibrary::findLaunched(const LaunchKernel& launch, const WorkRequest& request) {
  const kir::Kernel& kernel = *request.kernel;
  auto bound = std::make_shared<BoundKernel>();
  std::vector<Scalar*> symbols = kir::givenSymbols(kernel);
  std::ranges::reverse(symbols);
  for (Val* val : launch.ins) {
    const Scalar* scalar = asScalar(val);
    if (scalar == nullptr) continue;
    const auto value = evaluate(*scalar, request.bindings);
    TK_REQUIRE(value.has_value(), Bind, "Kernel{}: the value of {} is not known", launch.kernel, toString(*scalar));
    bound->bindings[symbols.back()] = *value;
    symbols.pop_back();
  }
  bound->elements = bindOperands(kernel, request.operands, bound->bindings);
  requireBuffers(kernel, launch.kernel, request.operands, bound->bindings);
  for (const kir::LaunchDimension& dimension : kernel.dimensions)
    bound->extents.push_back(evaluateInt(*dimension.extent, bound->bindings));
  requireGeometry(kernel, launch, *bound, request.bindings);
  const bool is_narrow = options_.indices == KernelExecutorOptions::Indices::Chosen &&
                         kir::indexTypeOf(kernel, bound->bindings) == DataType::I32;
  bound->code = codeOf(request.kernel, is_narrow ? DataType::I32 : DataType::I64);
  bound->symbols = symbolBits(bound->code->kernel, bound->bindings);
  FoundKernel found;
  found.operands.resize(request.operands.size());
  std::iota(found.operands.begin(), found.operands.end(), size_t{0});
  found.name = kernel.name;
  found.is_given = true;
  found.bound = std::move(bound);
  return found;
}

std::shared_ptr<const KernelCode> KernelLibrary::codeOf(const std::shared_ptr<const kir::Kernel>& kernel,
                                                        DataType index_type) {
  const std::lock_guard lock(mutex_);
  std::erase_if(launched_, [](const auto& entry) { return entry.second.kernel.expired(); });
  LaunchedCode& known = launched_[kernel.get()];
  known.kernel = kernel;
  std::shared_ptr<KernelCode>& code = known.codes[index_type];
  if (code != nullptr && (code->image == nullptr || !code->image->hasFailed())) return code;
  code = std::make_shared<KernelCode>();
  code->choice.index_type = index_type;
  code->reason = "brought by a program";
  code->kernel = *kernel;
  code->kernel.parameter_count = 0;
  if (options_.compile) code->image = options_.compile(*code);
  return code;
}

int64_t KernelLibrary::executorCount() const {
  const std::lock_guard lock(mutex_);
  return executor_count_;
}

FoundKernel KernelLibrary::findSegment(const PostOnStream& post, const WorkRequest& request) {
  const std::shared_ptr<const Program> program = programOf(post, request.parameters);
  FoundKernel found = bind(*program, request.operands, request.bindings);
  for (size_t i = 0; i < request.operands.size(); ++i) found.operands.push_back(i);
  return found;
}

// A segment is looked at once: it does not change, and its number in memory is not given to another one while it is
// held.
std::shared_ptr<const KernelLibrary::Program> KernelLibrary::programOf(const PostOnStream& post,
                                                                       std::span<const Scalar* const> parameters) {
  const Fusion& fusion = *post.segment->fusion;
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
  if (const auto found = segments_.find(post.segment.get()); found != segments_.end()) {
    const KnownSegment& known = found->second;
    if (known.segment.lock() == post.segment && known.input_parameters == input_parameters) return known.program;
  }
  if (segments_.size() >= next_sweep_) {
    std::erase_if(segments_, [](const auto& entry) { return entry.second.segment.expired(); });
    next_sweep_ = 2 * segments_.size() + 64;
  }
  auto program = std::make_shared<const Program>(programOf(fusion, parameter_symbols));
  segments_[post.segment.get()] = {post.segment, std::move(input_parameters), program};
  return program;
}

KernelLibrary::Program KernelLibrary::programOf(const Fusion& fusion,
                                                const std::map<const Scalar*, size_t>& parameters) {
  StructuralForm form = structuralFormOf(fusion);
  Program program;
  program.name = fusion.name();
  program.demanding = constrainedExprs(fusion);
  std::vector<bool> is_parameter;
  for (const Scalar* symbol : form.symbols) {
    const auto found = parameters.find(symbol);
    is_parameter.push_back(found != parameters.end());
    program.parameters.push_back(found == parameters.end() ? std::nullopt : std::optional(found->second));
    form.words.push_back(is_parameter.back() ? 1 : 0);
  }
  std::weak_ptr<ProgramKernels>& known = executors_[form.words];
  program.executor = known.lock();
  if (program.executor == nullptr) {
    program.executor = programs_(fusion, form.words, std::move(is_parameter));
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
    requireShapeConstraints(program.demanding, bindings);
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
