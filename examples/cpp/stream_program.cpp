// Builds a fusion by the C++ API, marks a Stream axis, runs it on the CPU and checks one element by hand.
#include <cmath>
#include <cstdio>
#include <memory>
#include <span>
#include <vector>

#include <tokamak/tokamak.h>

using namespace tokamak;

int main() {
  // out = exp(in) * 0.5 for in: f32[rows, 64], rows symbolic, streamed row by row.
  Fusion fusion("scaled_exp");
  TensorView* exponential = exp(fusion.input("in", DataType::F32, {"rows", 64}));
  TensorView* out = mul(exponential, 0.5);
  fusion.output("out", out);
  exponential->axis(0)->parallelize(ParallelType::Stream);
  out->axis(0)->parallelize(ParallelType::Stream);

  const std::shared_ptr<Device> device = openCpuDevice();
  Program program = compile(fusion, *device);
  std::printf("%s", program.hostText().c_str());

  std::vector<float> values(size_t{6} * 64);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7) * 0.25F;
  const std::vector<Tensor> outputs = program.run({Tensor::wrap(*device, values, {6, 64})});
  const std::span<const float> results = outputs[0].read<float>();  // waits for the result
  const double expected = std::exp(static_cast<double>(values[65])) * 0.5;
  std::printf("out[1, 1] = %g, expected %g\n", static_cast<double>(results[65]), expected);
  return std::fabs(results[65] - expected) < 1e-6 ? 0 : 1;
}
