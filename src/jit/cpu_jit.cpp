#include "jit/cpu_jit.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/home_process.h"
#include "base/require.h"
#include "base/say.h"
#include "codegen/source.h"
#include "jit/jit.h"
#include "jit/kernel_library.h"
#include "toolchain/compile_queue.h"

namespace tokamak {

namespace {

using Object = std::shared_ptr<const SharedObject>;

struct CpuCompiler {
  HomeProcess home;
  KernelCompiler compiler;
  CompileQueue queue;
};

// One for the process. A forked child makes another: the threads of the parent's are not there.
CpuCompiler& cpuCompiler() {
  static CpuCompiler first;
  static std::atomic<CpuCompiler*> current = &first;
  CpuCompiler* known = current.load(std::memory_order_acquire);
  if (!known->home.isHere()) current.store(known = new CpuCompiler(), std::memory_order_release);
  return *known;
}

// A program that runs much slower than it could does not do so in silence.
void tellOfNoCompiler(const std::string& reason, KernelObserver* observer) {
  if (observer != nullptr) return observer->onNoCompiler(reason);
  static std::once_flag once;
  std::call_once(once, [&] { say(sentenceOnNoCompiler(reason)); });
}

class CompiledObject final : public CpuImage {
 public:
  CompiledObject(CpuCompiler& compiler, const KernelSource& source)
      : compiler_(compiler),
        entry_name_(source.entry),
        object_(compiler.queue.add<Object>([&compiler, text = compilationUnit({&source, 1}, Dialect::C),
                                            entry = source.entry] { return compiler.compiler.compile(text, entry); })) {
  }

  bool hasFailed() const override { return entry_.load(std::memory_order_acquire) == nullptr && hasFailure(object_); }

  Entry entry() const override {
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

bool hasThreads(const kir::Kernel& kernel) {
  return std::ranges::any_of(kernel.dimensions, [](const kir::LaunchDimension& dimension) {
    return kir::isThreadType(dimension.type) && dimension.extent->constantInt().value_or(1) != 1;
  });
}

// Of vectors as wide as the processor's.
int lanesOf(const CTarget& target) { return static_cast<int>(target.vector_bytes / sizeof(float)); }

// The compiler is looked for when the first kernel is there.
std::shared_ptr<const KernelImage> compileForCpu(const KernelCode& code, KernelObserver* observer) {
  if (hasThreads(code.kernel)) return nullptr;  // refused by the device, with the number of threads at hand
  CpuCompiler& compiler = cpuCompiler();
  const KernelSource source =
      kernelSource(code.kernel, Dialect::C, DataType::I64, lanesOf(compiler.compiler.compiler().target()));
  if (observer != nullptr) observer->onKernel(*code.kernel.fusion, kir::printKernel(code.kernel), source.text);
  return std::make_shared<CompiledObject>(compiler, source);
}

}  // namespace

CompileCounts kernelCompileCounts() {
  return reasonForNoCCompiler().empty() ? cpuCompiler().compiler.counts() : CompileCounts{};
}

std::string describeCpuJit() {
  const std::string reason = reasonForNoCCompiler();
  if (!reason.empty()) return fmt::format("none, segments run op by op: {}", reason);
  try {
    const CCompiler& compiler = cpuCompiler().compiler.compiler();
    return fmt::format("compiled by {} ({})", compiler.program(), compiler.version());
  } catch (const Error& error) {
    return fmt::format("none can be compiled: {}", error.message());
  }
}

CpuJit::CpuJit(const KernelTarget& target, Compiler compiler, KernelObserver* observer)
    : library_(std::make_unique<KernelLibrary>(
          KernelExecutorOptions{.target = target,
                                .indices = indicesFor(target),
                                .compile = [observer](const KernelCode& code) { return compileForCpu(code, observer); },
                                .observer = observer})),
      compiler_(compiler),
      observer_(observer) {}

CpuJit::~CpuJit() = default;

bool CpuJit::makesKernels() {
  std::call_once(looked_, [&] {
    why_no_compiler_ = reasonForNoCCompiler();
    if (!why_no_compiler_.empty() && compiler_ == Compiler::Wanted) tellOfNoCompiler(why_no_compiler_, observer_);
  });
  TK_REQUIRE(why_no_compiler_.empty() || compiler_ == Compiler::Wanted, Unsupported,
             "kernels: they must be compiled (compiled-only), and nothing here compiles: {}; install gcc or clang "
             "(apt-get install gcc, dnf install gcc), run an exported program (tokamak export), or allow that segments "
             "run op by op",
             why_no_compiler_);
  return why_no_compiler_.empty();
}

KernelLaunch CpuJit::find(const WorkRequest& request) { return launchOf(library_->find(request)); }

}  // namespace tokamak
