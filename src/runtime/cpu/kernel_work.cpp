#include "runtime/cpu/kernel_work.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "base/require.h"
#include "runtime/cpu/interpreted_work.h"
#include "runtime/cpu/thread_scratch.h"

namespace tokamak {

namespace {

int64_t product(const std::array<int64_t, 3>& counts) { return counts[0] * counts[1] * counts[2]; }

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

// Other threads take microseconds to come: a part is worth that.
int64_t mostPartsOf(const KernelLaunch& launch) {
  constexpr double kStepsOfPart = 4096;
  constexpr int64_t kMany = int64_t{1} << 30;
  if (!launch.steps || *launch.steps >= kStepsOfPart * kMany) return kMany;
  return std::max<int64_t>(1, static_cast<int64_t>(*launch.steps / kStepsOfPart));
}

class CompiledWork final : public CpuWork {
 public:
  CompiledWork(KernelLaunch launch, size_t operand_count)
      : launch_(std::move(launch)),
        code_(static_cast<const CpuImage&>(*launch_.image)),
        operand_count_(operand_count),
        blocks_(product(launch_.grid) * product(launch_.cluster)),
        most_parts_(mostPartsOf(launch_)) {
    std::vector<size_t> in_order(launch_.operands.size());
    std::iota(in_order.begin(), in_order.end(), size_t{0});
    is_in_order_ = launch_.operands == in_order;
  }

  std::string_view name() const override { return launch_.name; }
  void waitUntilReady() const override { code_.waitUntilReady(); }
  void addCompilations(std::vector<std::shared_ptr<Compilation>>& compilations) const override {
    compilations.push_back(code_.compilation());
  }
  int64_t hostBytes() const override { return static_cast<int64_t>(sizeof(CompiledWork)) + launch_.hostBytes(); }

  void run(void* const* addresses, BlockPool& pool) const override {
    if (is_in_order_ && launch_.workspace.bytes == 0) return runWith(addresses, addresses, pool);
    LaunchValues<void*> own(launch_.operands.size() + 1);
    for (size_t i = 0; i < launch_.operands.size(); ++i) own.data()[i] = addresses[launch_.operands[i]];
    own.data()[launch_.operands.size()] = clearedWorkspace();
    runWith(own.data(), addresses, pool);
  }

 private:
  // This thread's: what it calls in the meantime are blocks.
  char* clearedWorkspace() const {
    if (launch_.workspace.bytes == 0) return nullptr;
    char* const memory = threadScratch(launch_.workspace.bytes);
    std::memset(memory, 0, static_cast<size_t>(launch_.workspace.counters) * sizeof(uint32_t));
    return memory;
  }

  void runWith(void* const* buffers, void* const* addresses, BlockPool& pool) const {
    const std::vector<int64_t>& symbols = launch_.symbols;
    if (launch_.parameters.empty()) return runBlocks(buffers, symbols.data(), pool);
    LaunchValues<int64_t> values(symbols.size());
    std::ranges::copy(symbols, values.data());
    for (size_t i = 0; i < launch_.parameters.size(); ++i)
      values.data()[i] = reinterpret_cast<int64_t>(addresses[operand_count_ + launch_.parameters[i]]);
    runBlocks(buffers, values.data(), pool);
  }

  void runBlocks(void* const* buffers, const int64_t* symbols, BlockPool& pool) const {
    // Enough parts for threads to share, each of them long.
    constexpr int64_t kPartsPerThread = 8;
    const int64_t parts = std::min({blocks_, pool.threads() * kPartsPerThread, most_parts_});
    if (parts == 0) return;
    const CpuImage::Entry entry = code_.entry();
    if (parts == 1) return entry(buffers, symbols, 0, blocks_);
    pool.parallelFor(
        parts, [&](int64_t part) { entry(buffers, symbols, blocks_ * part / parts, blocks_ * (part + 1) / parts); });
  }

  KernelLaunch launch_;
  const CpuImage& code_;
  size_t operand_count_;
  int64_t blocks_;
  int64_t most_parts_;
  bool is_in_order_ = true;
};

}  // namespace

std::shared_ptr<const CpuWork> makeKernelWork(KernelLaunch launch, size_t operand_count) {
  if (launch.interpreted != nullptr) return makeInterpretedWork(std::move(launch), operand_count);
  TK_REQUIRE(
      product(launch.block) == 1, Unsupported,
      "{}: a kernel for the processor has one thread per block; this schedule has {} (of types TIDx, TIDy, TIDz)",
      launch.name, product(launch.block));
  return std::make_shared<CompiledWork>(std::move(launch), operand_count);
}

}  // namespace tokamak
