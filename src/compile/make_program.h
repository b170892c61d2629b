// Programs around an executor, for compile() and loadProgram().
#pragma once

#include <memory>

#include "compile/compile_options.h"
#include "compile/program.h"
#include "host/run/host_ir_evaluator.h"

namespace tokamak {

class MultiDeviceExecutor;

Program makeProgram(std::unique_ptr<MultiDeviceExecutor> executor);

/// What the options say about runs.
HostIrEvaluatorParams evaluatorParamsOf(const CompileOptions& options);

}  // namespace tokamak
