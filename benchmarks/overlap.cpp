// How well stream loops keep the GPU and the bus busy at once:
//
//   bench_overlap [--json FILE]
//
// pipeline:  blocks of rows are copied in from pinned memory, go through two products, and are copied out, each block
//            on one of several streams. Beside it the same loop with the copies alone, and with the products alone (on
//            device memory). overlap is max(copies alone, products alone) / time: 1 where the shorter one costs
//            nothing.
// mlp:       the same with smaller blocks and gelu between the products: a transformer's MLP, as in
//            examples/mlp_streams.fusion.
// blocks:    its products block by block on device memory, on 1 to 12 streams, beside all rows at once.
//
// The programs are fusions with a Stream schedule, run by the evaluator as any other. Figures are medians of turns, in
// microseconds; what the pipeline gives is compared with what the products alone give for the same rows.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "gpu_program.h"
#include "jit/jit_device.h"

namespace tokamak {
namespace {

// Rows go through two products, perhaps with gelu between them, `block` at a time.
struct Layers {
  int64_t rows = 32768;
  int64_t model = 4096;
  int64_t hidden = 8192;
  int64_t block = 1024;
  bool activates = false;

  std::string name() const { return fmt::format("{}.{}x{}x{}", activates ? "mlp" : "pipeline", rows, model, hidden); }
  std::string schedule(int result) const {
    return fmt::format(
        "schedule {{\n  split(T{0}, axis=0, factor={1})\n  parallelize(T{0}, axis=0, type=Stream)\n  "
        "propagate(T{0})\n}}\n",
        result, block);
  }
  std::string weights() const { return fmt::format("T1: bf16[{1}, {0}], T2: bf16[{0}, {1}]", model, hidden); }
  // Of T3; T6 is the result.
  std::string ops() const {
    return fmt::format("  T4 = linear(T3, T1)\n{}  T6 = linear({}, T2)\n",
                       activates ? "  T5 = cast(gelu_tanh(T4), dtype=bf16)\n" : "", activates ? "T5" : "T4");
  }
  std::string both() const {
    return fmt::format(
        "fusion both(T0: bf16[{0}, {1}] in pinned, {2}) -> T7 {{\n  T3: bf16[{0}, {1}] in device = set(T0)\n{3}"
        "  T7: bf16[{0}, {1}] in pinned = set(T6)\n}}\n{4}",
        rows, model, weights(), ops(), schedule(7));
  }
  std::string copies() const {
    return fmt::format(
        "fusion copies(T0: bf16[{0}, {1}] in pinned) -> T2 {{\n  T1: bf16[{0}, {1}] in device = set(T0)\n"
        "  T2: bf16[{0}, {1}] in pinned = set(T1)\n}}\n{2}",
        rows, model, schedule(2));
  }
  std::string inOnePiece() const {
    return fmt::format("fusion products(T3: bf16[{}, {}], {}) -> T6 {{\n{}}}\n", rows, model, weights(), ops());
  }
  std::string products() const { return inOnePiece() + schedule(6); }
};

// Rows of the second half, so that a block that was left out shows.
bool areEqual(const Tensor& pinned, const Tensor& device_tensor, const std::shared_ptr<Stream>& stream) {
  const int64_t bytes = std::min<int64_t>(device_tensor.numel(), 1 << 23) * sizeOf(device_tensor.dtype());
  const int64_t offset = device_tensor.numel() * sizeOf(device_tensor.dtype()) - bytes;
  std::vector<std::byte> expected(static_cast<size_t>(bytes));
  Device& device = device_tensor.device();
  device.copy(*stream, expected.data(), static_cast<const std::byte*>(device_tensor.data()) + offset, bytes);
  device.synchronize(*stream);
  return std::memcmp(expected.data(), static_cast<const std::byte*>(pinned.data()) + offset, expected.size()) == 0;
}

std::string measurePipeline(CudaDevice& device, const std::shared_ptr<Stream>& stream, const Layers& layers) {
  GpuTurns turns(device, stream);
  std::string row;
  for (const int64_t streams : {2, 3, 4, 6, 8}) {
    GpuProgram both(device, stream, layers.both(), streams);
    GpuProgram copies(device, stream, layers.copies(), streams, {both.inputs()[0]});
    const Tensor rows = Tensor::empty(device, stream, DataType::BF16, both.inputs()[0].sizes(), MemoryKind::Device);
    device.copy(*stream, rows.data(), both.inputs()[0].data(), rows.buffer()->bytes());
    GpuProgram products(device, stream, layers.products(), streams, {rows, both.inputs()[1], both.inputs()[2]});
    const std::vector<double> us = turns.time(9, {[&] { both.run(); }, [&] { copies.run(); }, [&] { products.run(); }});
    const double overlap = std::max(us[1], us[2]) / us[0];
    TK_REQUIRE(areEqual(both.outputs()[0], products.outputs()[0], stream), Device, "{}: the pipeline gives other bits",
               layers.name());
    fmt::print("{} on {} streams: {:.0f} us; copies alone {:.0f}, products alone {:.0f}: overlap {:.3f}\n",
               layers.name(), streams, us[0], us[1], us[2], overlap);
    row += fmt::format(R"({}"{}": {{"us": {:.1f}, "copies_us": {:.1f}, "products_us": {:.1f}, "overlap": {:.4f}}})",
                       row.empty() ? "" : ", ", streams, us[0], us[1], us[2], overlap);
  }
  return fmt::format("\"{}\": {{{}}}", layers.name(), row);
}

std::string measureBlocks(CudaDevice& device, const std::shared_ptr<Stream>& stream, const Layers& layers) {
  std::vector<std::unique_ptr<GpuProgram>> programs;
  programs.push_back(std::make_unique<GpuProgram>(device, stream, layers.inOnePiece()));
  const std::vector<int64_t> streams = {1, 2, 4, 6, 8, 12};
  for (const int64_t number : streams)
    programs.push_back(std::make_unique<GpuProgram>(device, stream, layers.products(), number, programs[0]->inputs()));
  std::vector<std::function<void()>> calls;
  for (const auto& program : programs) calls.emplace_back([&program] { program->run(); });
  const std::vector<double> us = GpuTurns(device, stream).time(15, calls);
  std::string row = fmt::format(R"("whole": {:.1f})", us[0]);
  for (size_t i = 0; i < streams.size(); ++i) {
    row += fmt::format(R"(, "{}": {:.1f})", streams[i], us[i + 1]);
    fmt::print("blocks of {} rows on {} streams: {:.0f} us, {:.2f} of the speed of one stream, {:.3f} of one piece\n",
               layers.block, streams[i], us[i + 1], us[1] / us[i + 1], us[0] / us[i + 1]);
  }
  return fmt::format("\"blocks.{}x{}x{}\": {{{}}}", layers.rows, layers.model, layers.hidden, row);
}

int run(int count, char** arguments) {
  JitCudaDevice device(0);
  const std::shared_ptr<Stream> stream = device.createStream();
  // The bus, as much of both, and the GPU the longest; and examples/mlp_streams.fusion, larger.
  const Layers mlp = {.rows = 16384, .model = 1024, .hidden = 4096, .block = 256, .activates = true};
  std::vector<std::function<std::string()>> parts;
  for (const int64_t hidden : {4096, 8192, 16384})
    parts.emplace_back([&, hidden] { return measurePipeline(device, stream, {.hidden = hidden}); });
  parts.emplace_back([&] { return measurePipeline(device, stream, mlp); });
  parts.emplace_back([&] { return measureBlocks(device, stream, mlp); });
  std::string rows;
  int failed = 0;
  for (const auto& part : parts) {
    try {
      rows += (rows.empty() ? "\n  " : ",\n  ") + part();
    } catch (const Error& error) {
      ++failed;
      std::fprintf(stderr, "%s\n", error.what());
      continue;
    }
    writeText(
        argumentOf(count, arguments, "--json", ""),
        fmt::format("{{\"device\": \"{}\", \"microseconds\": {{{}\n}}}}\n", device.properties().description, rows));
  }
  return failed > 0 ? 1 : 0;
}

}  // namespace
}  // namespace tokamak

int main(int count, char** arguments) { return tokamak::runBenchmark(tokamak::run, count, arguments); }
