// Runs an exported softmax: nothing is compiled. The first argument is the file.
#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

#include <tokamak/tokamak.h>

using namespace tokamak;

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    const std::shared_ptr<Device> device = openCpuDevice();
    Program program = loadProgram(argv[1], *device);
    const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8, 8, 7, 6, 5, 4, 3, 2, 1};
    const std::vector<Tensor> outputs = program.run({Tensor::wrap(*device, x, {2, 8})});
    const std::span<const float> y = outputs[0].read<float>();
    double sum = 0;
    for (int i = 1; i <= 8; ++i) sum += std::exp(i);
    std::printf("y = %.4f %.4f ... %.4f\n", y[0], y[1], y[7]);
    return std::fabs(y[7] - std::exp(8.0) / sum) < 1e-6 && std::fabs(y[0] - y[15]) < 1e-6 ? 0 : 1;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
