#include "jit/cpu_jit.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "base/home_process.h"
#include "base/require.h"
#include "base/say.h"
#include "codegen/source.h"
#include "device/work.h"
#include "jit/jit.h"
#include "jit/kernel_library.h"
#include "toolchain/compile_queue.h"
#include "toolchain/shared_compilation.h"

namespace tokamak {

namespace {

// Never destroyed: threads may go on while the process exits, which ends the queue.
struct CpuCompiler {
  HomeProcess home;
  KernelCompiler compiler;
  std::shared_ptr<CompileQueue> queue = std::make_shared<CompileQueue>();
  SharedCompilations compilations;
};

CpuCompiler* makeCpuCompiler();

// One for the process. A forked child makes another: the threads of the parent's are not there.
std::atomic<CpuCompiler*>& currentCpuCompiler() {
  static std::atomic<CpuCompiler*> current = makeCpuCompiler();
  return current;
}

// Its folder has the files of compilers that may still run.
void removeFilesAtExit() {
  CpuCompiler& current = *currentCpuCompiler().load(std::memory_order_acquire);
  constexpr std::chrono::milliseconds kPatience{2'000};
  current.queue->end(kPatience);
  if (current.home.isHere()) current.compiler.compiler().folder().remove();
}

CpuCompiler* makeCpuCompiler() {
  auto* const made = new CpuCompiler();
  std::atexit(removeFilesAtExit);
  return made;
}

CpuCompiler& cpuCompiler() {
  std::atomic<CpuCompiler*>& current = currentCpuCompiler();
  CpuCompiler* known = current.load(std::memory_order_acquire);
  if (!known->home.isHere()) current.store(known = makeCpuCompiler(), std::memory_order_release);
  return *known;
}

// A program that runs much slower than it could does not do so in silence.
void tellOfNoCompiler(const std::string& reason, KernelObserver* observer) {
  if (observer != nullptr) return observer->onNoCompiler(reason);
  static std::once_flag once;
  std::call_once(once, [&] { say(sentenceOnNoCompiler(reason)); });
}

struct Made {
  std::shared_ptr<const SharedObject> object;
  CodeFacts facts;
};

std::shared_ptr<const Made> make(KernelCompiler& compiler, const std::string& text, const std::string& entry,
                                 const std::stop_token& given_up) {
  const auto start = std::chrono::steady_clock::now();
  auto made = std::make_shared<Made>();
  bool is_from_disk = false;
  made->object = compiler.compile(text, entry, given_up, &is_from_disk);
  made->facts = {.origin = is_from_disk ? CodeFacts::Origin::Disk : CodeFacts::Origin::Compiled,
                 .seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()};
  return made;
}

class CompiledObject final : public CpuImage {
 public:
  CompiledObject(CpuCompiler& compiler, const KernelSource& source) : entry_name_(source.entry) {
    std::string text = compilationUnit({&source, 1}, Dialect::C);
    compilation_ = compiler.compilations.get(text, compiler.queue,
                                             [&compiler, text, entry = source.entry](const std::stop_token& given_up) {
                                               return make(compiler.compiler, text, entry, given_up);
                                             });
  }

  bool hasFailed() const override {
    return entry_.load(std::memory_order_acquire) == nullptr && compilation_->hasFailed();
  }

  std::shared_ptr<Compilation> compilation() const override { return compilation_; }

  Entry entry() const override {
    if (const Entry known = entry_.load(std::memory_order_acquire)) return known;
    const auto entry = reinterpret_cast<Entry>(made().object->symbol(entry_name_.c_str()));
    entry_.store(entry, std::memory_order_release);
    return entry;
  }

  CodeFacts facts() const override { return made().facts; }

 private:
  // Waits; the compilation holds it. Errors: those of the compilation.
  const Made& made() const { return *static_cast<const Made*>(compilation_->value().get()); }

  std::string entry_name_;
  std::shared_ptr<SharedCompilation> compilation_;
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

KernelNotes CpuJit::notesOn(const WorkRequest& request) { return notesOf(library_->find(request)); }

}  // namespace tokamak
