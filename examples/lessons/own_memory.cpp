// A running mean in memory of the program's own: no allocation by the library, no copy, one plan for all calls.
#include <array>
#include <cstdio>
#include <memory>
#include <vector>

#include <tokamak/tokamak.h>

using namespace tokamak;

int main() {
  const std::unique_ptr<Fusion> fusion = readFusion(R"(
    fusion running_mean(mean: f32[n], x: f32[n]) -> (next aliases mean, largest) {
      next = mean + 0.5 * (x - mean)
      largest = max(next, axes=[0])
    })");
  const std::shared_ptr<Device> device = openCpuDevice();
  Program program = compile(*fusion, *device);
  program.prepare({{"n", 4}});  // compiles; the calls below do not

  std::vector<float> mean(4);
  std::vector<float> sample(4);
  std::array<float, 1> largest = {};
  const std::array<Tensor, 2> inputs = {Tensor::wrap(*device, mean, {4}), Tensor::wrap(*device, sample, {4})};
  std::array<Tensor, 2> outputs = {inputs[0], Tensor::wrap(*device, largest, {})};

  const std::shared_ptr<Stream> stream = device->createStream();
  for (int step = 1; step <= 3; ++step) {
    sample = {1, 2, 3, static_cast<float>(8 * step)};  // the same memory, new values
    program.runInto(inputs, outputs, *stream);         // returns at once
    stream->synchronize();                             // from here on the host may read and write
    std::printf("mean = %g %g %g %g, largest = %g\n", mean[0], mean[1], mean[2], mean[3], largest[0]);
  }
  std::printf("plans: %d\n", static_cast<int>(program.statistics().plans));

  std::vector<float> five(5);
  try {
    program.run({inputs[0], Tensor::wrap(*device, five, {5})});
  } catch (const Error& error) {
    std::printf("%s\n", error.what());
  }
}
