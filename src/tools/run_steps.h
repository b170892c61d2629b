// Steps of `tokamak run`, of programs that are compiled and of those that were.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/trace.h"
#include "runtime/cpu/cpu_device.h"
#include "tools/output_places.h"
#include "tools/run_command.h"
#include "tools/run_report.h"

namespace tokamak::tools {

using SteadyClock = std::chrono::steady_clock;

double millisecondsSince(SteadyClock::time_point start);

/// What can be said before the program is read. Errors: Usage for an unknown device; Unsupported where there is no GPU.
void requireDevice(const RunOptions& options);
KernelRunner runnerOf(const RunOptions& options);
/// `trace` and `kernels` may be null.
std::shared_ptr<Device> openDevice(const RunOptions& options, TraceObserver* trace, KernelObserver* kernels);
ReportForm reportForm(const RunOptions& options);
/// Writes outputs, which are on the host, to the report and to their places.
void reportOutputs(const std::vector<std::string>& names, const std::vector<Tensor>& outputs, OutputPlaces& places,
                   RunReport& report);
void writeTrace(const RunOptions& options, Device& device, Timeline& timeline, RunReport& report);

}  // namespace tokamak::tools
