// Random programs of rows: norms and softmaxes beside outer sums, repeated along new axes, compared, updated in
// place. Whatever is grouped into a kernel while sizes are symbols is one at all sizes, none and one included.
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/text.h"
#include "device/kernel_target.h"
#include "host/sanitized_share.h"
#include "host_run/program_text.h"
#include "host_run/run_bench.h"

namespace tokamak {
namespace {

// Of x[m, n] and w[m, n], which may lie in memory in another order, and g[n].
class RowProgram {
 public:
  explicit RowProgram(uint64_t seed) : random_(seed) {}

  std::string text() {
    const std::string x = fmt::format("x: {}[m, n]{}", pick({"f32", "f32", "f16", "bf16"}), order());
    const std::string w = fmt::format("w: f32[m, n]{}", order());
    const size_t steps = 1 + below(3);
    for (size_t i = 0; i < steps; ++i) defineStep();
    std::vector<std::string> gives;
    if (below(2) == 0) gives.push_back(values_.back());
    const size_t outputs = 1 + below(3);
    for (size_t i = 0; i < outputs; ++i) gives.push_back(define(output()));
    if (below(3) == 0) gives.push_back(define(fmt::format("w + {} * 0.5", value())) + " aliases w");
    return fmt::format("fusion f({}, {}, g: f32[n]) -> ({}) {{ {}}}", x, w, joined(gives), body_);
  }

 private:
  size_t below(size_t bound) { return static_cast<size_t>(random_() % bound); }
  std::string pick(std::initializer_list<const char*> texts) { return texts.begin()[below(texts.size())]; }
  std::string order() { return below(3) == 0 ? " stride_order(0, 1)" : ""; }

  std::string define(const std::string& value) {
    const std::string name = fmt::format("v{}", count_++);
    body_ += fmt::format("{} = {} ", name, value);
    return name;
  }

  // One of the last results of steps, or an input.
  std::string value() { return values_[values_.size() - 1 - below(std::min<size_t>(values_.size(), 3))]; }

  void defineStep() {
    const std::string a = value();
    std::string result;
    switch (below(8)) {
      case 0: result = fmt::format("softmax({})", a); break;
      case 1:
      case 2: result = fmt::format("rms_norm({})", a); break;
      case 3: result = fmt::format("layer_norm({}, g)", a); break;
      case 4: result = fmt::format("{0} - mean({0}, axes=[1], keepdim=true)", a); break;
      case 5: result = fmt::format("{} * {}", a, value()); break;
      case 6: result = fmt::format("{} * broadcast_in_dim(g, shape=[m, n], axes=[1])", a); break;
      default: result = fmt::format("exp({} * 0.25)", a); break;
    }
    values_.push_back(define(result));
  }

  std::string output() {
    const std::string a = value();
    switch (below(8)) {
      case 0:
      case 1: return fmt::format("sum({} * {}, axes=[0])", a, value());
      case 2: return fmt::format("sum({}, axes=[1])", a);
      case 3: return fmt::format("broadcast_in_dim({}, shape=[m, 4, n], axes=[0, 2])", a);
      case 4: return fmt::format("broadcast_in_dim({}, shape=[3, m, n], axes=[1, 2])", a);
      case 5: return fmt::format("broadcast_in_dim({}, shape=[m, n, 2], axes=[0, 1])", a);
      case 6: return fmt::format("lt({}, {})", a, value());
      default: return fmt::format("neg({})", a);
    }
  }

  std::mt19937_64 random_;
  std::string body_;
  std::vector<std::string> values_ = {"w", "x"};
  size_t count_ = 0;
};

// What differs from the oracle, or why there is no kernel; empty when all is well.
std::string problemAt(const Fusion& fusion, MultiDeviceExecutor& executor, RunBench& bench, const Sizes& sizes) {
  const auto inputs = bench.inputsOf(fusion, sizes);
  const auto reference = oracleInputsOf(inputs);
  try {
    return differenceFromOracle(fusion, reference, executor.runWithInput(inputs));
  } catch (const Error& error) {
    return error.message();
  }
}

template <class Visit>
void forEachTarget(const Visit& visit) {
  for (const KernelTarget& target : {cpuTarget(2), hopperTarget()}) {
    SCOPED_TRACE(target.kind == TargetKind::Cpu ? "for the processor" : "for a GPU");
    RunBench bench({.threads = 2, .poisons_memory = true, .runner = KernelRunner::Interpreted, .target = target});
    visit(bench);
  }
}

const std::string kRowCases[] = {
    // Of a row there is one element for all that an axis repeats; rows end within an iteration of the threads.
    "(v: f32[m, n]) -> y { y = broadcast_in_dim(softmax(v), shape=[m, 4, n], axes=[0, 2]) }",
    "(v: f32[m, n], g: f32[n]) -> y { y = broadcast_in_dim(layer_norm(v, g), shape=[m, n, 2], axes=[0, 1]) }",
    "(v: f32[m, n]) -> y { y = lt(broadcast_in_dim(rms_norm(v), shape=[3, m, n], axes=[1, 2]), 0.5) }",
    // Partial outer reductions over no rows.
    "(x: f32[m, n]) -> (a, b) { a = rms_norm(x) b = sum(a * x, axes=[0]) }",
    "(x: f32[m, n]) -> (a, b) { a = softmax(x) b = sum(a * x, axes=[0]) }",
    // A result of a row that is an output, made of values that are kept in the row's iteration.
    R"((x: f32[m, n], w: f32[m, n]) -> (a, b, c) {
  v = exp(w)
  a = v - mean(v, axes=[1], keepdim=true)
  b = sum(v, axes=[1])
  c = sum(x * a, axes=[0])
})",
};

TEST(RowPrograms, OfKnownFaults) {
  forEachTarget([](RunBench& bench) {
    for (const std::string& text : kRowCases) {
      const auto fusion = fusionOf("fusion f" + text);
      MultiDeviceExecutor executor(*fusion, bench.device, {});
      for (const int64_t m : {0, 7}) {
        for (const int64_t n : {15, 65, 500})
          EXPECT_EQ(problemAt(*fusion, executor, bench, {{"m", m}, {"n", n}}), "")
              << text << " sizes { m = " << m << ", n = " << n << " }";
      }
    }
  });
}

TEST(RowPrograms, AreKernelsAtAllSizes) {
  constexpr int64_t kRows[] = {0, 0, 1, 2, 7, 65, 130};
  constexpr int64_t kColumns[] = {1, 3, 15, 16, 40, 65, 300, 500, 512};
  constexpr int64_t kMostElements = 3000;
  forEachTarget([&](RunBench& bench) {
    for (uint64_t seed = 0; seed < 250 / kShare; ++seed) {
      const std::string text = RowProgram(seed).text();
      const auto fusion = fusionOf(text);
      MultiDeviceExecutor executor(*fusion, bench.device, {});
      std::mt19937_64 random(~seed);
      for (int call = 0; call < 3; ++call) {
        const int64_t m = kRows[random() % std::size(kRows)];
        const int64_t n = kColumns[random() % std::size(kColumns)];
        if (m * n > kMostElements) continue;
        EXPECT_EQ(problemAt(*fusion, executor, bench, {{"m", m}, {"n", n}}), "")
            << "seed " << seed << ": " << text << " sizes { m = " << m << ", n = " << n << " }";
      }
    }
  });
}

}  // namespace
}  // namespace tokamak
