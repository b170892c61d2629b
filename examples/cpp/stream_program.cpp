// Builds a fusion by the C++ API, marks a Stream axis, runs it on the CPU and checks one element by hand.
#include <cmath>
#include <cstdio>

#include "define/functions.h"
#include "define/structured.h"
#include "host/ir/text/host_printer.h"
#include "host/run/multi_device_executor.h"
#include "runtime/cpu/cpu_device.h"

using namespace tokamak;

int main() {
  // out = exp(in) * 0.5 for in: f32[rows, 64], rows symbolic, streamed row by row.
  Fusion fusion("scaled_exp");
  Scalar* rows = fusion.symbol("rows");
  TensorView* in =
      fusion.tensor(DataType::F32, {fusion.axis({.extent = rows}), fusion.axis({.extent = fusion.constant(64)})});
  fusion.addInput(in);
  TensorView* exponential = exp(in);
  TensorView* out = mul(exponential, 0.5);
  fusion.addOutput(out);
  exponential->axis(0)->parallelize(ParallelType::Stream);
  out->axis(0)->parallelize(ParallelType::Stream);

  CpuDevice device;
  MultiDeviceExecutor executor(fusion, device);
  std::printf("%s", printHostProgram(executor.program()).c_str());

  const std::shared_ptr<Stream> stream = device.createStream();
  const int64_t sizes[] = {6, 64};
  Tensor input = Tensor::emptyOnHost(device, stream, DataType::F32, sizes);
  auto* values = static_cast<float*>(input.hostData());
  for (int64_t i = 0; i < input.numel(); ++i) values[i] = static_cast<float>(i % 7) * 0.25F;

  const RunValue inputs[] = {input};
  const std::vector<Tensor> outputs = executor.runWithInput(inputs);
  const auto* results = static_cast<const float*>(outputs[0].hostData());  // waits for the result
  const double expected = std::exp(static_cast<double>(values[65])) * 0.5;
  std::printf("out[1, 1] = %g, expected %g\n", static_cast<double>(results[65]), expected);
  return std::fabs(results[65] - expected) < 1e-6 ? 0 : 1;
}
