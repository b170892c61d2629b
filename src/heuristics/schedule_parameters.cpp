#include "heuristics/schedule_parameters.h"

#include "base/profiler_range.h"
#include "base/require.h"

namespace tokamak {

ScheduleParameters chooseParameters(const ReductionStructure& structure, const KernelTarget& target,
                                    const ScalarBindings& sizes) {
  if (target.kind == TargetKind::Cpu) return chooseCpuParameters(structure, target, sizes);
  return chooseCudaParameters(structure, target, sizes);
}

std::string toString(const ScheduleParameters& parameters) {
  return std::visit([](const auto& each) { return toString(each); }, parameters);
}

void scheduleKernel(Fusion& fusion, const ScheduleParameters& parameters) {
  static const RangeName range_name("schedule kernel");
  const Range range(range_name);
  if (const auto* cpu = std::get_if<CpuScheduleParameters>(&parameters))
    scheduleForCpu(fusion, *cpu);
  else
    scheduleForCuda(requireReductionStructure(fusion), std::get<CudaScheduleParameters>(parameters));
  // The fusion may come from a host program, where all is in memory.
  for (TensorView* tensor : fusion.allTensors()) {
    const bool is_given = fusion.isInput(tensor) || fusion.isOutput(tensor);
    if (!is_given && tensor->memoryType() == MemoryType::Global) tensor->setMemoryType(MemoryType::Local);
  }
}

ReductionStructure requireReductionStructure(Fusion& fusion) {
  ReductionStructure structure(fusion);
  const auto problem = structure.find(WholeReductions::SingleBlock);
  TK_REQUIRE(!problem, Schedule, "no kernel: {}", *problem);
  return structure;
}

}  // namespace tokamak
