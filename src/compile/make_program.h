// Programs around an executor, for who makes them and for who looks into them.
#pragma once

#include <memory>

#include "compile/compile_options.h"
#include "compile/lower_fusion.h"
#include "compile/program.h"
#include "host/run/host_ir_evaluator.h"

namespace tokamak {

class MultiDeviceExecutor;

Program makeProgram(std::unique_ptr<MultiDeviceExecutor> executor);
MultiDeviceExecutor& executorOf(Program& program);

/// What the options say about runs.
HostIrEvaluatorParams evaluatorParamsOf(const CompileOptions& options);
/// What they say about the host program; the target is not told.
HostLoweringOptions loweringOptionsOf(const CompileOptions& options);

}  // namespace tokamak
