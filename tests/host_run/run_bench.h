// RunBench: a device that poisons fresh memory, tensors on it with known elements, and runs that are compared with the
// oracle.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compile/multi_device_executor.h"
#include "device/tensor.h"
#include "host/run/host_ir_evaluator.h"
#include "jit/jit_device.h"
#include "oracle/evaluate.h"

namespace tokamak {

using Mode = HostIrEvaluatorParams::Mode;
inline constexpr Mode kModes[] = {Mode::Plan, Mode::Direct};
using Sizes = std::map<std::string, int64_t>;

class RunBench {
 public:
  explicit RunBench(const CpuDeviceOptions& options = {.threads = 2, .poisons_memory = true});

  JitCpuDevice device;
  std::shared_ptr<Stream> stream;

  /// Memory that the host may touch at once; row-major unless strides (in elements) are given. Every byte is 0xFF.
  Tensor empty(DataType dtype, std::vector<int64_t> sizes, std::vector<int64_t> strides = {});
  /// The same with these elements, in row-major order.
  Tensor numbers(DataType dtype, std::vector<int64_t> sizes, const std::vector<double>& elements);
  /// The same with elements from a seed: multiples of 1/64 between -4 and 4 for floating types, -8 to 8 for integers.
  Tensor random(DataType dtype, std::vector<int64_t> sizes, uint64_t seed, std::vector<int64_t> strides = {});
  /// One random tensor for each tensor that the fusion takes, dense in its stride order. Extents are the text's
  /// defaults but for `sizes`.
  std::vector<RunValue> inputsOf(const Fusion& fusion, const Sizes& sizes = {}, uint64_t seed = 1);
};

/// Each element as a number, row-major; waits for the tensor.
std::vector<double> numbersOf(const Tensor& tensor);
/// The elements' bytes, row-major; waits for the tensor.
std::vector<std::byte> bytesOf(const Tensor& tensor);

/// What the oracle needs of a run's inputs; to be taken before the run.
std::vector<oracle::Input> oracleInputsOf(const std::vector<RunValue>& inputs);
/// The first output that is not what the oracle says, in words; empty when all are.
std::string differenceFromOracle(const Fusion& fusion, const std::vector<oracle::Input>& inputs,
                                 const std::vector<Tensor>& outputs);

/// Binds the program's inputs, in order.
std::vector<std::pair<Val*, RunValue>> bound(const HostIrContainer& program, const std::vector<RunValue>& inputs);
/// The tensor of the program with this label.
TensorView* tensorOf(const HostIrContainer& program, int64_t label);

}  // namespace tokamak
