// KernelTarget: what the machine that a kernel is made for is like, as far as schedules depend on it.
#pragma once

#include <cstdint>
#include <string>

#include "base/export.h"

namespace tokamak {

enum class TargetKind : uint8_t {
  Cpu,   ///< a block is a task with one thread
  Cuda,  ///< a block has threads, in warps of 32
};

/// Activations that may be part of a matrix product, where its library applies them as it stores the result
/// (graph/product_group.h).
struct ProductActivations {
  bool relu = false;
  bool gelu_tanh =
      false;  ///< of f32; cuBLASLt's tanh is an approximation, which is wrong by up to 5e-6 where ours is by 4 ulp
  bool gelu_tanh_of_halves =
      false;  ///< the product is not rounded to f16 or bf16 before, as the program says that it is

  bool operator==(const ProductActivations&) const = default;
};

/// Those that change nothing but who computes: taken unless somebody asks for more.
inline constexpr ProductActivations kExactProductActivations = {.relu = true};
/// For who does not mind a rounding less, and a coarser tanh.
inline constexpr ProductActivations kAllProductActivations = {
    .relu = true, .gelu_tanh = true, .gelu_tanh_of_halves = true};

/// kExactProductActivations, unless the environment variable TOKAMAK_PRODUCT_ACTIVATIONS says otherwise: names from
/// above by commas, "all" or "none".
/// Errors: Usage.
TOKAMAK_EXPORT ProductActivations chosenProductActivations();

struct KernelTarget {
  TargetKind kind = TargetKind::Cpu;
  int64_t multiprocessors = 1;               ///< that blocks run on; processors of a CPU
  int64_t threads_per_block = 1;             ///< at most
  int64_t threads_per_multiprocessor = 1;    ///< at most
  int64_t shared_bytes_per_block = 0;        ///< at most, opted in
  int64_t registers_per_multiprocessor = 0;  ///< of 4 bytes
  bool has_clusters = false;                 ///< blocks may share their shared memory
  bool strided_products = false;             ///< the library reads views: matrices and batches with strides of any size
  ProductActivations product_activations;    ///< which ones may be part of a product
  /// Schedule parameters of CUDA kernels that are not to be chosen, "threads=1024,persistent_batches=0,chunk=4", for
  /// measurements.
  std::string parameter_overrides;

  bool operator==(const KernelTarget&) const = default;
};

/// What the environment variable TOKAMAK_CUDA_SCHEDULE says, for KernelTarget::by_hand.
TOKAMAK_EXPORT std::string cudaParameterOverrides();
TOKAMAK_EXPORT KernelTarget cpuTarget(int64_t processors = 1);
/// An NVIDIA H200: what kernels are made for where there is no device to ask.
TOKAMAK_EXPORT KernelTarget hopperTarget();

}  // namespace tokamak
