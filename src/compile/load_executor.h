// The executor of an exported program, for who looks into its host program; users call loadProgram().
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "compile/export_options.h"
#include "compile/multi_device_executor.h"

namespace tokamak {

/// As loadProgram().
std::unique_ptr<MultiDeviceExecutor> loadExecutor(std::string contents, std::string_view name, Device& device,
                                                  const LoadOptions& options);
std::unique_ptr<MultiDeviceExecutor> loadExecutor(const std::string& path, Device& device, const LoadOptions& options);

}  // namespace tokamak
