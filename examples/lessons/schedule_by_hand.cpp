// A schedule in C++: the commands of a text are functions.
#include <cstdio>
#include <memory>
#include <vector>

#include <tokamak/tokamak.h>

using namespace tokamak;

int main() {
  Fusion fusion("normalize_by_hand");
  TensorView* x = fusion.input("x", DataType::F32, {"rows", "columns"});
  TensorView* total = sum(x, {1});
  TensorView* y = div(x, unsqueeze(total, 1));
  fusion.output("y", y);

  parallelize(y, 0, ParallelType::BIDx);
  propagate(y);
  split(total, 1, 4);
  rfactor(total, {1});
  inline_most(fusion);

  const std::shared_ptr<Device> device = openCpuDevice();
  Program program = compile(fusion, *device);
  const std::vector<float> rows = {1, 1, 2, 4, 3, 1, 0, 4};
  const Tensor result = program.run({Tensor::wrap(*device, rows, {2, 4})})[0];
  for (const float value : result.read<float>()) std::printf("%g ", value);
  std::printf("\n");
}
