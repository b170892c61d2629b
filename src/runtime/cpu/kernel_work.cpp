#include "runtime/cpu/kernel_work.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include <fmt/format.h>

#include "analysis/bind_shape.h"
#include "base/error.h"
#include "codegen/source.h"
#include "heuristics/cpu_schedule.h"
#include "ir/clone.h"
#include "kernel/bind_kernel.h"
#include "lower/lower_kernel.h"
#include "runtime/compile/kernel_compiler.h"
#include "runtime/interpreter/kernel_interpreter.h"

namespace tokamak {

namespace {

using Entry = void (*)(void* const* buffers, const int64_t* symbols, int64_t first_block, int64_t last_block);

// One for the process; null where there is no compiler.
KernelCompiler* kernelCompiler() {
  static const std::unique_ptr<KernelCompiler> compiler = []() -> std::unique_ptr<KernelCompiler> {
    try {
      return std::make_unique<KernelCompiler>();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Unsupported) throw;
      fmt::print(stderr, "tokamak: kernels are interpreted: {}\n", error.message());
      return nullptr;
    }
  }();
  return compiler.get();
}

// The layout that the operand has: its axes in the order of their strides, and which are dense.
void setLayout(TensorView& tensor, const OperandDesc& operand) {
  TensorDomain& domain = tensor.mutableDomain();
  const Axes shape = shapeOf(tensor);
  std::vector<size_t> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater{}, [&](size_t i) {
    return shape[i]->isBroadcast() || operand.sizes[i] == 1 ? 0 : operand.strides[i];
  });
  // Axes without a stride of their own stay where they are.
  const bool is_ordered = std::ranges::is_sorted(order);
  const bool moves =
      std::ranges::any_of(order, [&](size_t i) { return shape[i]->isBroadcast() || operand.sizes[i] <= 1; });
  if (moves && !is_ordered) std::ranges::sort(order);
  domain.allocation.clear();
  domain.contiguity.clear();
  if (!std::ranges::is_sorted(order)) {
    for (const size_t i : order) domain.allocation.push_back(shape[i]);
  }
  const Axes& layout = domain.allocation.empty() ? domain.logical : domain.allocation;
  std::vector<std::optional<bool>> contiguity(layout.size());
  int64_t dense = 1;
  for (size_t k = layout.size(); k-- > 0;) {
    if (layout[k]->isReduction() || layout[k]->isBroadcast()) continue;
    const auto i = static_cast<size_t>(std::ranges::find(shape, layout[k]) - shape.begin());
    contiguity[k] = operand.strides[i] == dense || operand.sizes[i] <= 1;
    dense = (operand.sizes[i] <= 1 ? dense : operand.strides[i]) * std::max<int64_t>(1, operand.sizes[i]);
  }
  domain.contiguity = std::move(contiguity);
}

// The caller's memory holds every element of an expanded axis: then it is an ordinary one.
void storeInFull(Fusion& fusion, TensorView& output, const OperandDesc& operand) {
  TensorDomain& domain = output.mutableDomain();
  const Axes shape = shapeOf(output);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!shape[i]->isBroadcast() || operand.sizes[i] <= 1) continue;
    IterDomain* axis = fusion.axis({.extent = shape[i]->visibleExtent()});
    for (Axes* axes : {&domain.logical, &domain.loop}) std::ranges::replace(*axes, shape[i], axis);
  }
}

// Whether somebody said how the kernel is to be made; splits alone are what is left of streams.
bool isScheduled(const Fusion& fusion) {
  return std::ranges::any_of(fusion.allTensors(), [](const TensorView* tensor) {
    return tensor->inlinePosition() > 0 || std::ranges::any_of(tensor->loop(), [](const IterDomain* axis) {
             return axis->parallelType() != ParallelType::Serial && axis->parallelType() != ParallelType::Stream;
           });
  });
}

class CompiledWork final : public CpuWork {
 public:
  CompiledWork(std::shared_ptr<const SharedObject> code, const KernelSource& source, std::string name)
      : code_(std::move(code)),
        entry_(reinterpret_cast<Entry>(code_->symbol(source.entry.c_str()))),
        name_(std::move(name)) {}

  std::vector<int64_t> symbols;
  int64_t blocks = 0;

  std::string_view name() const override { return name_; }

  void run(void* const* addresses, BlockPool& pool) const override {
    // Enough parts for threads to share, each of them long.
    constexpr int64_t kPartsPerThread = 8;
    const int64_t parts = std::min(blocks, pool.threads() * kPartsPerThread);
    if (parts == 0) return;
    pool.parallelFor(parts, [&](int64_t part) {
      entry_(addresses, symbols.data(), blocks * part / parts, blocks * (part + 1) / parts);
    });
  }

 private:
  std::shared_ptr<const SharedObject> code_;
  Entry entry_;
  std::string name_;
};

class InterpretedWork final : public CpuWork {
 public:
  InterpretedWork(kir::Kernel kernel, ScalarBindings bindings, std::vector<int64_t> elements)
      : kernel_(std::move(kernel)), bindings_(std::move(bindings)), elements_(std::move(elements)) {}

  std::string_view name() const override { return kernel_.fusion->name(); }

  void run(void* const* addresses, BlockPool&) const override {
    std::vector<KernelBuffer> buffers;
    for (size_t i = 0; i < elements_.size(); ++i)
      buffers.push_back({addresses[i], elements_[i], !kernel_.fusion->isOutput(kernel_.tensors[i])});
    const std::vector<std::string> findings = interpretKernel(kernel_, buffers, bindings_);
    TK_CHECK(findings.empty(), "the kernel of {} is wrong: {}", kernel_.fusion->name(), findings[0]);
  }

 private:
  kir::Kernel kernel_;
  ScalarBindings bindings_;
  std::vector<int64_t> elements_;
};

int64_t symbolBits(const ScalarValue& value, DataType dtype) {
  return isFloatingType(dtype) ? std::bit_cast<int64_t>(asDouble(value)) : asInt(value);
}

}  // namespace

std::shared_ptr<const CpuWork> prepareKernelWork(const PostOnStream& post, std::span<const OperandDesc> operands,
                                                 const ScalarBindings& bindings, KernelObserver* observer) {
  const Fusion& unit = *post.unit->fusion;
  auto fusion = std::make_shared<Fusion>(unit.name());
  Cloner cloner(*fusion);
  cloneInto(unit, cloner);
  std::vector<TensorView*> tensors = tensorsOf(fusion->inputs());
  tensors.insert(tensors.end(), fusion->outputs().begin(), fusion->outputs().end());
  TK_CHECK(tensors.size() == operands.size(), "a unit of {} tensors is given {}", tensors.size(), operands.size());
  const bool is_scheduled = isScheduled(*fusion);
  if (!is_scheduled) {
    for (TensorView* tensor : fusion->allTensors()) fusion->clearLoops(*tensor);
    const size_t inputs = tensors.size() - fusion->outputs().size();
    for (size_t i = inputs; i < tensors.size(); ++i) storeInFull(*fusion, *tensors[i], operands[i]);
  }
  for (size_t i = 0; i < tensors.size(); ++i) setLayout(*tensors[i], operands[i]);
  if (!is_scheduled) {
    scheduleForCpu(*fusion, {});
  }
  kir::Kernel kernel = lowerKernel(fusion, "tokamak_kernel");

  ScalarBindings values;
  for (Scalar* symbol : unit.allSymbols()) {
    if (const auto found = bindings.find(symbol); found != bindings.end()) values[cloner.clone(symbol)] = found->second;
  }
  std::vector<int64_t> elements;
  for (size_t i = 0; i < tensors.size(); ++i) {
    std::vector<int64_t> sizes = operands[i].sizes;
    const Axes shape = shapeOf(*tensors[i]);
    for (size_t k = 0; k < shape.size(); ++k) {
      if (shape[k]->isBroadcast()) sizes[k] = evaluateInt(*shape[k]->visibleExtent(), values);
    }
    kir::bindBuffer(kernel, i, sizes, operands[i].strides, values);
    elements.push_back(spanOf(operands[i].sizes, operands[i].strides));
  }

  KernelCompiler* compiler = kernelCompiler();
  if (compiler == nullptr) {
    if (observer != nullptr) observer->onKernel(*fusion, kir::printKernel(kernel), "");
    return std::make_shared<InterpretedWork>(std::move(kernel), std::move(values), std::move(elements));
  }
  const LaunchSize size = launchSize(kernel, values);
  TK_REQUIRE(size.threads == 1, Unsupported,
             "a kernel for the processor has one thread per block; this schedule has {}", size.threads);
  const KernelSource source = kernelSource(kernel, Dialect::C);
  if (observer != nullptr) observer->onKernel(*fusion, kir::printKernel(kernel), source.text);
  auto work =
      std::make_shared<CompiledWork>(compiler->compile(compilationUnit({&source, 1}, Dialect::C)), source, unit.name());
  for (const Scalar* symbol : kernel.symbols) {
    const auto found = values.find(symbol);
    TK_CHECK(found != values.end(), "the size {} of a kernel is not known", symbol->name());
    work->symbols.push_back(symbolBits(found->second, symbol->dtype()));
  }
  work->blocks = size.blocks;
  return work;
}

}  // namespace tokamak
