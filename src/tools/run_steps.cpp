#include "tools/run_steps.h"

#include "base/require.h"
#include "base/usable_processors.h"
#include "jit/open_device.h"
#include "runtime/cuda/cuda_device.h"
#include "tools/kernels_option.h"

namespace tokamak::tools {

double millisecondsSince(SteadyClock::time_point start) {
  return std::chrono::duration<double, std::milli>(SteadyClock::now() - start).count();
}

// What can be said before the program is read.
void requireDevice(const RunOptions& options) {
  const std::string& name = options.device;
  TK_REQUIRE(name == "cpu" || name == "cuda" || name == "interpreter", Usage,
             "--device {}: it must be one of cpu, cuda, interpreter", name);
  if (name != "cuda") return;
  const std::string reason = reasonForNoCuda();
  TK_REQUIRE(reason.empty(), Unsupported, "--device cuda: no CUDA device: {}", reason);
}

KernelRunner runnerOf(const RunOptions& options) {
  return options.device == "interpreter" ? KernelRunner::Interpreted : kernelRunnerNamed(options.kernels);
}

std::shared_ptr<Device> openDevice(const RunOptions& options, TraceObserver* trace, KernelObserver* kernels) {
  if (options.device == "cuda") return openCudaDevice(0, {.poisons_memory = true, .kernels = kernels, .trace = trace});
  CpuDeviceOptions cpu = {.threads = options.threads, .poisons_memory = true, .trace = trace, .kernels = kernels};
  cpu.runner = runnerOf(options);
  if (options.device == "cpu") cpu.target = cpuTarget(options.threads > 0 ? options.threads : usableProcessors());
  return openCpuDevice(cpu);
}

ReportForm reportForm(const RunOptions& options) {
  if (options.json) return ReportForm::Json;
  return options.quiet ? ReportForm::Quiet : ReportForm::Text;
}

void reportOutputs(const std::vector<std::string>& names, const std::vector<Tensor>& outputs, OutputPlaces& places,
                   RunReport& report) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    report.output(names[i], outputs[i]);
    places.put(names[i], outputs[i]);
  }
}

void writeTrace(const RunOptions& options, Device& device, Timeline& timeline, RunReport& report) {
  std::string source;
  if (options.device == "cuda") {
    auto& cuda = static_cast<CudaDevice&>(device);
    cuda.reportTrace();
    source = cuda.traceSource();
  }
  timeline.write(options.trace);
  report.trace(options.trace, source);
}

}  // namespace tokamak::tools
