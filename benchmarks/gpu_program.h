// GpuProgram: a fusion's text as a host program on a GPU, with tensors of its own; and the figures of benchmarks that
// time such programs.
#pragma once

#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/bind_shape.h"
#include "base/require.h"
#include "compile/lower_fusion.h"
#include "define/callables.h"
#include "host/run/host_ir_evaluator.h"
#include "ir/text/fusion_parser.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/cuda_timer.h"
#include "schedule/commands.h"

namespace tokamak {

/// Fills a tensor of bf16 or f32 with random numbers in [-1, 1) of its type; waits.
inline void fillRandomly(const Tensor& tensor, const std::shared_ptr<Stream>& stream, uint64_t seed) {
  constexpr int64_t kElements = int64_t{1} << 20;
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> draw(-1, 1);
  Device& device = tensor.device();
  const int64_t width = sizeOf(tensor.dtype());
  const auto block = Buffer::allocate(device, stream, kElements * width, MemoryKind::Pinned);
  device.synchronize(*stream);
  for (int64_t i = 0; i < kElements; ++i) {
    const float value = draw(random);
    const auto* const bytes = reinterpret_cast<const std::byte*>(&value);
    // A bf16 is the upper half of an f32.
    std::copy(bytes + 4 - width, bytes + 4, static_cast<std::byte*>(block->address()) + i * width);
  }
  const int64_t total = tensor.numel() * width;
  for (int64_t at = 0; at < total; at += kElements * width)
    device.copy(*stream, static_cast<std::byte*>(tensor.data()) + at, block->address(),
                std::min(kElements * width, total - at));
  device.synchronize(*stream);
}

class GpuProgram {
 public:
  /// `text`: a fusion with numbers for extents. Inputs are random, or those given. Errors: of the text, of the device.
  GpuProgram(CudaDevice& device, std::shared_ptr<Stream> stream, const std::string& text, int64_t streams = 4,
             std::vector<Tensor> inputs = {}, ProductActivations activations = kExactProductActivations)
      : stream_(std::move(stream)), inputs_(std::move(inputs)) {
    const auto fusion =
        parseFusion(text, "program", {.resolver = &definingResolver(), .scheduler = &scheduleCommands()});
    for (size_t i = inputs_.size(); i < fusion->inputs().size(); ++i) {
      const TensorView& view = *asTensor(fusion->inputs()[i]);
      inputs_.push_back(Tensor::empty(device, stream_, view.dtype(), sizesOf(view, {}), view.memoryKind()));
      fillRandomly(inputs_.back(), stream_, i + 1);
    }
    KernelTarget target = device.kernelTarget();
    target.product_activations = activations;
    evaluator_ = std::make_unique<HostIrEvaluator>(
        lowerToHostProgram(*fusion, {.target = target, .output_views = OutputViews::Copy}), device,
        HostIrEvaluatorParams{.number_of_streams = streams, .segments = SegmentMode::Kernels});
    std::vector<std::pair<Val*, RunValue>> values;
    for (size_t i = 0; i < inputs_.size(); ++i) values.emplace_back(evaluator_->program().inputs()[i], inputs_[i]);
    outputs_ = evaluator_->runWithInput(values);
    for (const Tensor& output : outputs_) output.waitReady();
  }

  void run() { evaluator_->run(inputs_, outputs_, *stream_); }
  const std::vector<Tensor>& inputs() const { return inputs_; }
  const std::vector<Tensor>& outputs() const { return outputs_; }

 private:
  std::shared_ptr<Stream> stream_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> outputs_;
  std::unique_ptr<HostIrEvaluator> evaluator_;
};

/// Times calls that take turns on a stream, each behind a fill that empties the second-level cache and lets the host
/// get ahead: medians, in microseconds.
class GpuTurns {
 public:
  GpuTurns(CudaDevice& device, std::shared_ptr<Stream> stream)
      : device_(device), stream_(std::move(stream)), timer_(device) {
    scratch_ = Buffer::allocate(device, stream_, kScratchBytes, MemoryKind::Device);
  }

  std::vector<double> time(int64_t repeat, const std::vector<std::function<void()>>& calls) {
    constexpr int64_t kWarm = 3;
    std::vector<std::vector<double>> times(calls.size());
    for (int64_t turn = 0; turn < kWarm + repeat; ++turn) {
      for (size_t i = 0; i < calls.size(); ++i) {
        device_.fill(*stream_, scratch_->address(), static_cast<uint8_t>(turn), kScratchBytes);
        timer_.start(*stream_);
        calls[i]();
        timer_.stop(*stream_);
        device_.synchronize(*stream_);
        if (turn >= kWarm) times[i].push_back(timer_.microseconds());
      }
    }
    std::vector<double> medians;
    for (std::vector<double>& values : times) {
      std::ranges::sort(values);
      medians.push_back(values[values.size() / 2]);
    }
    return medians;
  }

 private:
  static constexpr int64_t kScratchBytes = int64_t{512} << 20;

  CudaDevice& device_;
  std::shared_ptr<Stream> stream_;
  CudaTimer timer_;
  std::shared_ptr<Buffer> scratch_;
};

/// What follows an option on a command line.
inline std::string argumentOf(int count, char** arguments, std::string_view option, std::string otherwise) {
  for (int i = 1; i + 1 < count; ++i)
    if (arguments[i] == option) return arguments[i + 1];
  return otherwise;
}

/// Errors: Usage for a file that cannot be written.
inline void writeText(const std::string& file, const std::string& text) {
  if (file.empty()) return;
  std::FILE* const out = std::fopen(file.c_str(), "w");
  TK_REQUIRE(out != nullptr, Usage, "'{}' cannot be written", file);
  std::fputs(text.c_str(), out);
  std::fclose(out);
}

/// The exit code of `run`, or 1 after an error, which is printed.
inline int runBenchmark(int (*run)(int count, char** arguments), int count, char** arguments) {
  try {
    return run(count, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

}  // namespace tokamak
