#include "runtime/cuda/cuda_module.h"

#include "base/profiler_range.h"

namespace tokamak {

std::shared_ptr<const CudaModule> CudaModule::load(std::shared_ptr<DriverContext> context, std::string_view image) {
  static const RangeName range_name("load kernel");
  const Range range(range_name);
  const CurrentContext current(*context);
  const std::string terminated(image);  // PTX text has to end with a zero
  driver::Module module = nullptr;
  const auto load = [&] { return context->driver().module_load(&module, terminated.c_str()); };
  context->check(context->withRoom(load), "loading compiled code of {} bytes on {}", image.size(), context->name());
  return std::shared_ptr<const CudaModule>(new CudaModule(std::move(context), module));
}

CudaModule::~CudaModule() {
  context_->quietly([&](const DriverLibrary& driver) { driver.module_unload(module_); });
}

int CudaModule::attribute(driver::Function handle, int number, const std::string& name) const {
  int value = 0;
  context_->check(context_->driver().function_get(&value, number, handle), "kernel {}: attribute {}", name, number);
  return value;
}

CudaFunction CudaModule::function(const std::string& name) const {
  const CurrentContext current(*context_);
  CudaFunction result{.module = shared_from_this(), .handle = nullptr, .name = name, .resources = {}};
  context_->check(context_->driver().module_function(&result.handle, module_, name.c_str()),
                  "looking for kernel {} in compiled code", name);
  result.resources = {.registers = attribute(result.handle, driver::kFunctionRegisters, name),
                      .local_bytes = attribute(result.handle, driver::kFunctionLocalBytes, name),
                      .static_shared_bytes = attribute(result.handle, driver::kFunctionStaticShared, name),
                      .max_threads = attribute(result.handle, driver::kFunctionMaxThreads, name)};
  return result;
}

// The driver's attribute is one for the function: a smaller launch must not take it away from a larger one.
void CudaModule::requireSharedBytes(const CudaFunction& function, int64_t bytes) const {
  const std::lock_guard lock(mutex_);
  int64_t& allowed = shared_bytes_[function.handle];
  if (bytes <= allowed) return;
  const CurrentContext current(*context_);
  const auto value = static_cast<int>(bytes);
  context_->check(context_->driver().function_set(function.handle, driver::kFunctionMaxDynamicShared, value),
                  "kernel {}: {} bytes of dynamic shared memory", function.name, bytes);
  allowed = bytes;
}

void CudaModule::allowAnyClusterSize(const CudaFunction& function) const {
  const CurrentContext current(*context_);
  context_->check(context_->driver().function_set(function.handle, driver::kFunctionAnyClusterSize, 1),
                  "kernel {}: clusters of more than 8 blocks", function.name);
}

}  // namespace tokamak
