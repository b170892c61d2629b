// Report page: all that is known of a program and of a run of it, on one HTML page.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "device/kernel_target.h"
#include "host/ir/host_ir_container.h"
#include "host/plan/plan.h"
#include "report/run_record.h"

namespace tokamak {

/// A kernel that was made for a GPU which need not be there.
struct CudaKernelTexts {
  std::string name;
  std::string launch;  ///< "64 blocks of 128 threads"
  KernelTexts texts;
};

/// What the page is made from. Pointers outlive the call.
struct ReportParts {
  const Fusion* fusion = nullptr;             ///< as written
  const HostIrContainer* segments = nullptr;  ///< of makeHostProgram()
  KernelTarget target;                        ///< that it was made for
  const HostIrContainer* program = nullptr;   ///< that ran
  const Plan* plan = nullptr;
  const RunRecord* record = nullptr;  ///< of the run
  std::vector<std::pair<std::string, int64_t>> sizes;
  std::string device;  ///< for people: which machine ran it
  std::string maker;   ///< program and version
  std::string segments_text;
  std::string host_text;
  std::vector<CudaKernelTexts> cuda_kernels;
  std::string why_no_cuda;  ///< where there are none
};

/// One self-contained file: pictures, texts, tables; nothing is loaded, nothing is a script. Errors: none but of
/// memory.
std::string reportPage(const ReportParts& parts);

}  // namespace tokamak
