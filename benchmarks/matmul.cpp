// Matrix products of a program beside the same products by cuBLASLt called directly, in one process, turn by turn:
//
//   bench_matmul [--json FILE]
//
// Direct calls get the library's first choice for the problem with the workspace that ours have, without our rule that
// sums do not depend on the order of blocks. Bias, relu and gelu (of which the latter two have to be asked for) are the
// library's epilogue in both. Ours may take what an earlier run has recorded of the library's choices. Figures are
// medians, in microseconds; results are compared.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "gpu_program.h"
#include "jit/jit_device.h"
#include "runtime/cuda/cublas_library.h"
#include "runtime/cuda/cuda_queue.h"
#include "runtime/cuda/driver_context.h"

namespace tokamak {
namespace {

enum class Epilogue : uint8_t { None, Bias, BiasRelu, BiasGelu };

struct Problem {
  int64_t m, n, k;
  Epilogue epilogue;

  std::string name() const {
    const char* const names[] = {"matmul", "linear_bias", "linear_bias_relu", "linear_bias_gelu"};
    return fmt::format("{}.{}x{}x{}", names[static_cast<size_t>(epilogue)], m, n, k);
  }
  std::string text() const {
    const bool has_bias = epilogue != Epilogue::None;
    const std::string_view activation = activationCall();
    return fmt::format(
        "fusion product(T0: bf16[{}, {}], T1: bf16[{}, {}]{}) -> T{} {{\n  T3 = linear(T0, T1{})\n{}}}\n", m, k, n, k,
        has_bias ? fmt::format(", T2: bf16[{}]", n) : "", activation.empty() ? 3 : 4, has_bias ? ", T2" : "",
        activation.empty() ? "" : fmt::format("  T4 = cast({}, dtype=bf16)\n", activation));
  }
  std::string_view activationCall() const {
    return epilogue == Epilogue::BiasRelu ? "relu(T3)" : epilogue == Epilogue::BiasGelu ? "gelu_tanh(T3)" : "";
  }
  // As the library numbers them.
  uint32_t libraryEpilogue() const {
    switch (epilogue) {
      case Epilogue::None: return cublas::kEpilogueDefault;
      case Epilogue::Bias: return cublas::kEpilogueBias;
      case Epilogue::BiasRelu: return cublas::kEpilogueBias | cublas::kEpilogueRelu;
      case Epilogue::BiasGelu: return cublas::kEpilogueBias | cublas::kEpilogueGelu;
    }
    TK_CHECK(false, "no such epilogue");
  }
};

constexpr Problem kProblems[] = {{8192, 8192, 8192, Epilogue::None},     {8192, 14336, 4096, Epilogue::Bias},
                                 {2048, 2048, 8192, Epilogue::None},     {2048, 8192, 2048, Epilogue::Bias},
                                 {16384, 4096, 14336, Epilogue::None},   {8192, 14336, 4096, Epilogue::BiasRelu},
                                 {2048, 8192, 2048, Epilogue::BiasRelu}, {8192, 14336, 4096, Epilogue::BiasGelu},
                                 {2048, 8192, 2048, Epilogue::BiasGelu}};

constexpr uint64_t kWorkspaceBytes = uint64_t{32} << 20;

// The product by the library: row-major x w^T is, seen column by column, w^T x.
class Direct {
 public:
  Direct(CudaDevice& device, std::shared_ptr<Stream> stream, const Problem& problem, const std::vector<Tensor>& inputs)
      : device_(device), stream_(std::move(stream)), inputs_(inputs) {
    const CurrentContext current(*device_.context());
    check(library_->create(&handle_));
    check(library_->product_create(&product_, cublas::kComputeF32, cublas::kF32));
    check(library_->product_set(product_, cublas::kTransposeA, &cublas::kTransposed, sizeof(cublas::kTransposed)));
    if (problem.epilogue != Epilogue::None) {
      const uint32_t epilogue = problem.libraryEpilogue();
      void* const bias = inputs_[2].data();
      check(library_->product_set(product_, cublas::kEpilogue, &epilogue, sizeof(epilogue)));
      check(library_->product_set(product_, cublas::kBiasPointer, static_cast<const void*>(&bias), sizeof(bias)));
    }
    const auto layout = [&](cublas::Layout& made, int64_t rows, int64_t columns) {
      check(library_->layout_create(&made, cublas::kBF16, static_cast<uint64_t>(rows), static_cast<uint64_t>(columns),
                                    rows));
    };
    layout(w_, problem.k, problem.n);
    layout(x_, problem.k, problem.m);
    layout(y_, problem.n, problem.m);
    cublas::Preference preference = nullptr;
    check(library_->preference_create(&preference));
    check(library_->preference_set(preference, cublas::kMostWorkspace, &kWorkspaceBytes, sizeof(kWorkspaceBytes)));
    std::array<cublas::Choice, 8> choices;
    int count = 0;
    check(library_->choose(handle_, product_, w_, x_, y_, y_, preference, static_cast<int>(choices.size()),
                           choices.data(), &count));
    library_->preference_destroy(preference);
    const auto found = std::find_if(choices.begin(), choices.begin() + count,
                                    [](const cublas::Choice& choice) { return choice.state == cublas::kSuccess; });
    TK_REQUIRE(found != choices.begin() + count, Unsupported, "cuBLASLt has no kernel for {}", problem.name());
    choice_ = *found;
    workspace_ = Buffer::allocate(device_, stream_, kWorkspaceBytes, MemoryKind::Device);
    const std::vector<int64_t> sizes = {problem.m, problem.n};
    output_ = Tensor::empty(device_, stream_, DataType::BF16, sizes, MemoryKind::Device);
  }
  Direct(const Direct&) = delete;
  Direct& operator=(const Direct&) = delete;
  ~Direct() {
    const CurrentContext current(*device_.context());
    for (const cublas::Layout layout : {w_, x_, y_}) library_->layout_destroy(layout);
    library_->product_destroy(product_);
    library_->destroy(handle_);
  }

  void run() {
    const CurrentContext current(*device_.context());
    const float one = 1;
    const float zero = 0;
    check(library_->multiply(handle_, product_, &one, inputs_[1].data(), w_, inputs_[0].data(), x_, &zero,
                             output_.data(), y_, output_.data(), y_, &choice_.algorithm, workspace_->address(),
                             kWorkspaceBytes, CudaDevice::queueOf(*stream_).stream()));
  }
  const Tensor& output() const { return output_; }

 private:
  void check(cublas::Status status) const {
    TK_REQUIRE(status == cublas::kSuccess, Device, "cuBLASLt reports {}", library_->describe(status));
  }

  CudaDevice& device_;
  std::shared_ptr<Stream> stream_;
  const std::vector<Tensor>& inputs_;
  const CublasLibrary* library_ = &CublasLibrary::load();
  cublas::Handle handle_ = nullptr;
  cublas::Product product_ = nullptr;
  cublas::Layout w_ = nullptr, x_ = nullptr, y_ = nullptr;
  cublas::Choice choice_;
  std::shared_ptr<Buffer> workspace_;
  Tensor output_;
};

// By the norm of the second, over the first elements.
double differenceOf(const Tensor& a, const Tensor& b, const std::shared_ptr<Stream>& stream) {
  const int64_t count = std::min<int64_t>(a.numel(), 1 << 22);
  std::vector<uint16_t> of_a(static_cast<size_t>(count));
  std::vector<uint16_t> of_b(of_a.size());
  a.device().copy(*stream, of_a.data(), a.data(), 2 * count);
  a.device().copy(*stream, of_b.data(), b.data(), 2 * count);
  a.device().synchronize(*stream);
  double difference = 0;
  double norm = 0;
  for (size_t i = 0; i < of_a.size(); ++i) {
    const auto value = [](uint16_t bits) {
      const uint32_t wide = static_cast<uint32_t>(bits) << 16U;
      float result = 0;
      std::memcpy(&result, &wide, sizeof(result));
      return static_cast<double>(result);
    };
    difference += std::pow(value(of_a[i]) - value(of_b[i]), 2);
    norm += std::pow(value(of_b[i]), 2);
  }
  return std::sqrt(difference / norm);
}

std::string measure(CudaDevice& device, const std::shared_ptr<Stream>& stream, const Problem& problem) {
  GpuProgram ours(device, stream, problem.text(), 4, {}, kAllProductActivations);
  Direct direct(device, stream, problem, ours.inputs());
  GpuTurns turns(device, stream);
  const std::vector<double> us = turns.time(31, {[&] { ours.run(); }, [&] { direct.run(); }});
  const double difference = differenceOf(ours.outputs()[0], direct.output(), stream);
  // Two kernels may add up in different orders, and round to different neighbours then.
  TK_REQUIRE(difference < 0.01, Device, "results differ by {:.2g} of their norm", difference);
  const double flops =
      2.0 * static_cast<double>(problem.m) * static_cast<double>(problem.n) * static_cast<double>(problem.k);
  fmt::print("{:<36} {:9.1f} us ({:.0f} TFLOP/s), cuBLASLt {:9.1f} us: {:.3f} of its speed\n", problem.name(), us[0],
             flops / us[0] / 1e6, us[1], us[1] / us[0]);
  return fmt::format(
      R"({{"us": {:.2f}, "cublas_us": {:.2f}, "tflops": {:.1f}, "of_cublas": {:.4f}, "difference": {:.2g}}})", us[0],
      us[1], flops / us[0] / 1e6, us[1] / us[0], difference);
}

int run(int count, char** arguments) {
  JitCudaDevice device(0);
  const std::shared_ptr<Stream> stream = device.createStream();
  std::string rows;
  int failed = 0;
  for (const Problem& problem : kProblems) {
    std::string row;
    try {
      row = measure(device, stream, problem);
    } catch (const Error& error) {
      ++failed;
      std::fprintf(stderr, "%s: %s\n", problem.name().c_str(), error.what());
      continue;
    }
    rows += fmt::format("{}\n  \"{}\": {}", rows.empty() ? "" : ",", problem.name(), row);
    writeText(argumentOf(count, arguments, "--json", ""),
              fmt::format("{{\"device\": \"{}\", \"cublas\": {}, \"cases\": {{{}\n}}}}\n",
                          device.properties().description, CublasLibrary::load().version(), rows));
  }
  return failed > 0 ? 1 : 0;
}

}  // namespace
}  // namespace tokamak

int main(int count, char** arguments) { return tokamak::runBenchmark(tokamak::run, count, arguments); }
