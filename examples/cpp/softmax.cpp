// Softmax over the caller's memory: a fusion is built, compiled for the processor, and called.
#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

#include <tokamak/tokamak.h>

using namespace tokamak;

int main() {
  const std::vector<float> x = {1, 2, 3, 4, 4, 3, 2, 1};
  std::vector<float> y(x.size());

  Fusion fusion("softmax_rows");
  fusion.output("y", softmax(fusion.input("x", DataType::F32, {"n", "m"}), 1));
  const std::shared_ptr<Device> device = openCpuDevice();
  Program program = compile(fusion, *device);
  program.run({Tensor::wrap(*device, x, {2, 4})}, {Tensor::wrap(*device, y, {2, 4})});

  std::printf("y = %.4f %.4f %.4f %.4f\n", y[0], y[1], y[2], y[3]);
  const double sum = std::exp(1.0) + std::exp(2.0) + std::exp(3.0) + std::exp(4.0);
  return std::fabs(y[0] - std::exp(1.0) / sum) < 1e-6 && y[0] == y[7] ? 0 : 1;
}
