#include "runtime/cpu/kernel_work.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "base/require.h"
#include "base/say.h"
#include "codegen/source.h"
#include "ir/expr_summary.h"
#include "jit/kernel_library.h"
#include "kernel/bind_kernel.h"
#include "kernel/index_type.h"
#include "runtime/cpu/interpreted_work.h"
#include "runtime/cpu/thread_scratch.h"
#include "toolchain/compile_queue.h"

namespace tokamak {

namespace {

using Entry = void (*)(void* const* buffers, const int64_t* symbols, int64_t first_block, int64_t last_block);
using Object = std::shared_ptr<const SharedObject>;

// One for the process.
struct CpuCompiler {
  KernelCompiler compiler;
  CompileQueue queue;
};

CpuCompiler& cpuCompiler() {
  static CpuCompiler compiler;
  return compiler;
}

bool isCompiled(KernelRunner runner) {
  return runner == KernelRunner::Compiled || runner == KernelRunner::CompiledOnly;
}

// A program that runs much slower than it could does not do so in silence.
void tellOfNoCompiler(const std::string& reason, KernelObserver* observer) {
  if (observer != nullptr) return observer->onNoCompiler(reason);
  static std::once_flag once;
  std::call_once(once, [&] { say(sentenceOnNoCompiler(reason)); });
}

class CompiledCode final : public Executable {
 public:
  CompiledCode(CpuCompiler& compiler, const KernelSource& source)
      : compiler_(compiler),
        entry_name_(source.entry),
        object_(compiler.queue.add<Object>([&compiler, text = compilationUnit({&source, 1}, Dialect::C),
                                            entry = source.entry] { return compiler.compiler.compile(text, entry); })) {
  }

  void waitUntilReady() const override { entry(); }

  bool hasFailed() const override {
    if (entry_.load(std::memory_order_acquire) != nullptr ||
        object_.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
      return false;
    try {
      object_.get();
      return false;
    } catch (...) {
      return true;
    }
  }

  Entry entry() const {
    if (const Entry known = entry_.load(std::memory_order_acquire)) return known;
    compiler_.queue.wait(object_);
    try {
      const auto entry = reinterpret_cast<Entry>(object_.get()->symbol(entry_name_.c_str()));
      entry_.store(entry, std::memory_order_release);
      return entry;
    } catch (const Error& error) {
      throw Error(error);  // each caller adds its own notes
    }
  }

 private:
  CpuCompiler& compiler_;
  std::string entry_name_;
  std::shared_future<Object> object_;
  mutable std::atomic<Entry> entry_{nullptr};
};

// A few values of a launch, on the stack unless they are many.
template <class T>
class LaunchValues {
 public:
  explicit LaunchValues(size_t count) {
    if (count > on_stack_.size()) on_heap_.resize(count);
  }
  T* data() { return on_heap_.empty() ? on_stack_.data() : on_heap_.data(); }

 private:
  std::array<T, 128> on_stack_;
  std::vector<T> on_heap_;
};

class CompiledWork final : public CpuWork {
 public:
  CompiledWork(FoundKernel found, size_t operand_count)
      : found_(std::move(found)),
        code_(static_cast<const CompiledCode&>(*found_.bound->code->executable)),
        operand_count_(operand_count),
        blocks_(found_.bound->size().blocks),
        workspace_(kir::workspaceOf(found_.bound->code->kernel, found_.bound->bindings)) {
    std::vector<size_t> in_order(found_.operands.size());
    std::iota(in_order.begin(), in_order.end(), size_t{0});
    is_in_order_ = found_.operands == in_order;
  }

  std::string_view name() const override { return found_.name; }
  void waitUntilReady() const override { code_.waitUntilReady(); }
  int64_t hostBytes() const override { return static_cast<int64_t>(sizeof(CompiledWork)) + found_.hostBytes(); }

  void run(void* const* addresses, BlockPool& pool) const override {
    if (is_in_order_ && workspace_.bytes == 0) return runWith(addresses, addresses, pool);
    LaunchValues<void*> own(found_.operands.size() + 1);
    for (size_t i = 0; i < found_.operands.size(); ++i) own.data()[i] = addresses[found_.operands[i]];
    own.data()[found_.operands.size()] = clearedWorkspace();
    runWith(own.data(), addresses, pool);
  }

 private:
  // This thread's: what it calls in the meantime are blocks.
  char* clearedWorkspace() const {
    if (workspace_.bytes == 0) return nullptr;
    char* const memory = threadScratch(workspace_.bytes);
    std::memset(memory, 0, static_cast<size_t>(workspace_.counters) * sizeof(uint32_t));
    return memory;
  }

  void runWith(void* const* buffers, void* const* addresses, BlockPool& pool) const {
    const std::vector<int64_t>& symbols = found_.bound->symbols;
    if (found_.parameters.empty()) return runBlocks(buffers, symbols.data(), pool);
    LaunchValues<int64_t> values(symbols.size());
    std::ranges::copy(symbols, values.data());
    for (size_t i = 0; i < found_.parameters.size(); ++i)
      values.data()[i] = reinterpret_cast<int64_t>(addresses[operand_count_ + found_.parameters[i]]);
    runBlocks(buffers, values.data(), pool);
  }

  void runBlocks(void* const* buffers, const int64_t* symbols, BlockPool& pool) const {
    // Enough parts for threads to share, each of them long.
    constexpr int64_t kPartsPerThread = 8;
    const int64_t parts = std::min(blocks_, pool.threads() * kPartsPerThread);
    if (parts == 0) return;
    const Entry entry = code_.entry();
    pool.parallelFor(
        parts, [&](int64_t part) { entry(buffers, symbols, blocks_ * part / parts, blocks_ * (part + 1) / parts); });
  }

  FoundKernel found_;
  const CompiledCode& code_;
  size_t operand_count_;
  int64_t blocks_;
  kir::Workspace workspace_;
  bool is_in_order_ = true;
};

// What a GPU would be given.
std::string cudaText(const KernelCode& code) {
  try {
    return kernelSource(code.kernel, Dialect::Cuda, code.choice.index_type).text;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Unsupported && error.code() != ErrorCode::Schedule) throw;
    return fmt::format("// no CUDA text: {}\n", error.message());
  }
}

bool hasThreads(const kir::Kernel& kernel) {
  return std::ranges::any_of(kernel.dimensions, [](const kir::LaunchDimension& dimension) {
    return kir::isThreadType(dimension.type) && dimension.extent->constantInt().value_or(1) != 1;
  });
}

// Of vectors as wide as the processor's.
int lanesOf(const CTarget& target) { return static_cast<int>(target.vector_bytes / sizeof(float)); }

std::shared_ptr<const Executable> compileForCpu(const KernelCode& code, CpuCompiler& compiler,
                                                KernelObserver* observer) {
  if (hasThreads(code.kernel)) return nullptr;  // refused with the number of threads at hand
  const KernelSource source =
      kernelSource(code.kernel, Dialect::C, DataType::I64, lanesOf(compiler.compiler.compiler().target()));
  if (observer != nullptr) observer->onKernel(*code.kernel.fusion, kir::printKernel(code.kernel), source.text);
  return std::make_shared<CompiledCode>(compiler, source);
}

void showInterpreted(const KernelCode& code, const KernelTarget& target, KernelObserver& observer) {
  observer.onKernel(*code.kernel.fusion, kir::printKernel(code.kernel),
                    target.kind == TargetKind::Cuda ? cudaText(code) : "");
}

}  // namespace

CompileCounts kernelCompileCounts() {
  return reasonForNoCCompiler().empty() ? cpuCompiler().compiler.counts() : CompileCounts{};
}

std::string describeKernels(KernelRunner runner) {
  if (runner == KernelRunner::Interpreted) return "interpreted";
  if (runner == KernelRunner::OpByOp) return "none, units run op by op, as was asked for";
  const std::string reason = reasonForNoCCompiler();
  if (!reason.empty()) return fmt::format("none, units run op by op: {}", reason);
  try {
    const CCompiler& compiler = cpuCompiler().compiler.compiler();
    return fmt::format("compiled by {} ({})", compiler.program(), compiler.version());
  } catch (const Error& error) {
    return fmt::format("none can be compiled: {}", error.message());
  }
}

CpuKernels::CpuKernels(const KernelTarget& target, KernelRunner runner, KernelObserver* observer)
    : runner_(runner), observer_(observer) {
  using Indices = KernelExecutorOptions::Indices;
  KernelExecutorOptions options{.target = target, .observer = observer};
  options.indices = target.kind == TargetKind::Cuda ? Indices::Chosen : Indices::Wide;
  // The compiler is looked for when the first kernel is there.
  options.compile = [target, runner, observer](const KernelCode& code) -> std::shared_ptr<const Executable> {
    if (isCompiled(runner)) return compileForCpu(code, cpuCompiler(), observer);
    if (observer != nullptr) showInterpreted(code, target, *observer);
    return nullptr;
  };
  library_ = std::make_unique<KernelLibrary>(std::move(options));
}

CpuKernels::~CpuKernels() = default;

bool CpuKernels::makesKernels() {
  if (!isCompiled(runner_)) return runner_ == KernelRunner::Interpreted;
  std::call_once(looked_, [&] {
    why_no_compiler_ = reasonForNoCCompiler();
    if (!why_no_compiler_.empty() && runner_ == KernelRunner::Compiled) tellOfNoCompiler(why_no_compiler_, observer_);
  });
  TK_REQUIRE(why_no_compiler_.empty() || runner_ == KernelRunner::Compiled, Unsupported,
             "kernels: they must be compiled (compiled-only), and nothing here compiles: {}; install gcc or clang "
             "(apt-get install gcc, dnf install gcc), or allow that units run op by op",
             why_no_compiler_);
  return why_no_compiler_.empty();
}

std::shared_ptr<const CpuWork> CpuKernels::prepare(const WorkRequest& request) {
  TK_REQUIRE(makesKernels(), Unsupported,
             "{}: this device makes no kernels; units run op by op here, which their evaluator has to ask for",
             summaryOf(request.expr));
  FoundKernel found = library_->find(request);
  if (!isCompiled(runner_)) return makeInterpretedWork(std::move(found), request.operands.size());
  const kir::LaunchSize size = found.bound->size();
  TK_REQUIRE(
      size.threads == 1, Unsupported,
      "{}: a kernel for the processor has one thread per block; this schedule has {} (of types TIDx, TIDy, TIDz)",
      found.name, size.threads);
  return std::make_shared<CompiledWork>(std::move(found), request.operands.size());
}

}  // namespace tokamak
