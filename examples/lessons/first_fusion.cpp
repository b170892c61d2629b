// Softmax of each row, after a bias was added.
#include <cstdio>
#include <memory>
#include <vector>

#include <tokamak/tokamak.h>

using namespace tokamak;

int main() {
  Fusion fusion("first_fusion");
  TensorView* x = fusion.input("x", DataType::F32, {"rows", "columns"});
  TensorView* bias = fusion.input("bias", DataType::F32, {"columns"});
  fusion.output("y", softmax(add(x, bias), 1));

  const std::shared_ptr<Device> device = openCpuDevice();
  Program program = compile(fusion, *device);

  const std::vector<float> rows = {1, 2, 3, 4, 4, 3, 2, 1};
  const std::vector<float> zeros(4);
  const Tensor y = program.run({Tensor::wrap(*device, rows, {2, 4}), Tensor::wrap(*device, zeros, {4})})[0];
  for (const float value : y.read<float>()) std::printf("%.4f ", value);
  std::printf("\n");
}
