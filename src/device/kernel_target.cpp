#include "device/kernel_target.h"

#include <cstdlib>
#include <sstream>

#include "base/require.h"

namespace tokamak {

std::string cudaParameterOverrides() {
  const char* const given = std::getenv("TOKAMAK_CUDA_SCHEDULE");
  return given == nullptr ? "" : given;
}

ProductActivations chosenProductActivations() {
  const char* const given = std::getenv("TOKAMAK_PRODUCT_ACTIVATIONS");
  if (given == nullptr) return kExactProductActivations;
  ProductActivations activations;
  std::istringstream names{std::string(given)};
  for (std::string name; std::getline(names, name, ',');) {
    if (name == "all") return kAllProductActivations;
    if (name == "none") return {};
    bool* const activation = name == "relu"                  ? &activations.relu
                             : name == "gelu_tanh"           ? &activations.gelu_tanh
                             : name == "gelu_tanh_of_halves" ? &activations.gelu_tanh_of_halves
                                                             : nullptr;
    TK_REQUIRE(activation != nullptr, Usage,
               "TOKAMAK_PRODUCT_ACTIVATIONS={}: '{}' is none of relu, gelu_tanh, gelu_tanh_of_halves, all, none", given,
               name);
    *activation = true;
  }
  return activations;
}

KernelTarget cpuTarget(int64_t processors) {
  return {.kind = TargetKind::Cpu, .multiprocessors = processors, .strided_products = true};
}

KernelTarget hopperTarget() {
  return {.kind = TargetKind::Cuda,
          .multiprocessors = 132,
          .threads_per_block = 1024,
          .threads_per_multiprocessor = 2048,
          .shared_bytes_per_block = 227 * 1024,
          .registers_per_multiprocessor = 65536,
          .has_clusters = true,
          .product_activations = chosenProductActivations(),
          .parameter_overrides = cudaParameterOverrides()};
}

}  // namespace tokamak
