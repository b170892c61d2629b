#include "simulate/processor_machine.h"

namespace tokamak {

Machine processorMachine() {
  return {
      .name = "ranks on processors",
      .ranks_per_host = 1024,
      .memory_bandwidth = 1e10,
      .function_rate = 2e8,
      .product_rates = {{DataType::F64, 4e10}, {DataType::F32, 8e10}, {DataType::F16, 1e10}, {DataType::BF16, 1e10}},
      .kernel_latency = 10e-6,
      .host_link = {.latency = 0, .bandwidth = 6.8e9},
      .transports = {{"local", {.latency = 40e-6}}, {"mpi", {.latency = 100e-6, .step_latency = 20e-6}}}};
}

}  // namespace tokamak
