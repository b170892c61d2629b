#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/require.h"
#include "base/text.h"
#include "compile/exported_file.h"
#include "compile/exported_program.h"
#include "compile/load_executor.h"
#include "compile/make_program.h"
#include "device/gpu_architecture.h"
#include "host/ir/text/host_parser.h"
#include "jit/exported_images.h"
#include "jit/loaded_kernels.h"
#include "runtime/cpu/cpu_device.h"
#include "toolchain/file_descriptor.h"
#include "toolchain/processor_features.h"

namespace tokamak {

namespace {

// Code is taken from nobody else than this user and root.
void requireTrusted(const struct stat& status, const std::string& path) {
  constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;
  TK_REQUIRE(status.st_uid == geteuid() || status.st_uid == 0, Io,
             "{}: it belongs to user {}, this is user {}: it is code, and is not run; a copy of your "
             "own is (or LoadOptions::trusts_any_owner)",
             path, status.st_uid, geteuid());
  TK_REQUIRE((status.st_mode & kOthersWrite) == 0, Io,
             "{}: others may write to it (mode {:04o}): it is code, and is not run; chmod go-w helps (or "
             "LoadOptions::trusts_any_owner)",
             path, status.st_mode & 07777);
}

std::string readFile(const std::string& path, const LoadOptions& options) {
  // Not blocking: a FIFO of that name is refused, not waited for.
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  TK_REQUIRE(file.isOpen(), Io, "{}: {}", path,
             errno == ELOOP ? "it is a symbolic link, which is not followed to code; give the file that it leads to"
                            : std::strerror(errno));
  struct stat status = {};
  TK_REQUIRE(fstat(file.get(), &status) == 0, Io, "{}: {}", path, std::strerror(errno));
  TK_REQUIRE(S_ISREG(status.st_mode), Io, "{}: it is no regular file", path);
  if (!options.trusts_any_owner) requireTrusted(status, path);
  std::string bytes;
  TK_REQUIRE(readAll(file.get(), static_cast<size_t>(status.st_size), bytes), Io, "{}: it cannot be read: {}", path,
             std::strerror(errno));
  return bytes;
}

// It runs the kernel IR of any target.
bool isInterpreter(const Device& device) {
  const auto* cpu = dynamic_cast<const CpuDevice*>(&device);
  return cpu != nullptr && cpu->runner() == KernelRunner::Interpreted;
}

// Why the target's code cannot run on the device; empty: it can.
std::string misfitOf(const ExportedTarget& target, const Device& device) {
  if (isInterpreter(device)) return "";
  const TargetKind kind = device.properties().ordinal < 0 ? TargetKind::Cpu : TargetKind::Cuda;
  if (target.kind != kind) return target.kind == TargetKind::Cpu ? "it is for a processor" : "it is for a GPU";
  if (kind == TargetKind::Cuda) {
    const std::string& gpu = device.properties().architecture;
    return gpuRuns(gpu, target.needs) ? "" : fmt::format("it is for {}, this GPU is {}", target.needs, gpu);
  }
  const std::string lacking = featuresLacking(target.needs);
  return lacking.empty() ? "" : fmt::format("this processor lacks {}", lacking);
}

const ExportedTarget& targetFor(const ExportedFile& file, const Device& device, std::string_view path) {
  std::vector<std::string> reasons;
  for (const ExportedTarget& target : file.targets) {
    const std::string misfit = misfitOf(target, device);
    if (misfit.empty()) return target;
    reasons.push_back(fmt::format("{}: {}", target.name, misfit));
  }
  TK_RAISE(Unsupported, "{}: it has no code for the device {}: {}", path, device.properties().name,
           joined(reasons, "; "));
}

void nameAll(HostIrContainer& program, const ExportedFile& file, const ExportedTarget& target, std::string_view path) {
  const size_t outputs = program.outputs().size();
  const size_t inputs = tensorsOf(program.inputs()).size();
  for (const size_t output : file.given)
    TK_REQUIRE(output < outputs, Io, "{}: it is damaged: it gives output {} of {}", path, output, outputs);
  for (const auto& [output, input] : file.in_place)
    TK_REQUIRE(output < outputs && input < inputs, Io, "{}: it is damaged: output {} updates input {}", path, output,
               input);
  giveNames(program, file.names, target.symbols);
  // What has one size has it unless somebody says otherwise.
  for (Scalar* symbol : program.allSymbols()) {
    const auto extent = file.sizes.find(symbol->name());
    if (extent == file.sizes.end() || extent->second.isRange() || extent->second.sizes().size() > 1) continue;
    program.defaultSizes()[symbol] = extent->second.sizes()[0];
  }
}

std::shared_ptr<KernelMaker> kernelsOf(const ExportedFile& file, const ExportedTarget& target, std::string_view path,
                                       Device& device, const LoadOptions& options,
                                       const std::shared_ptr<const std::string>& contents) {
  LoadedKernelsOptions loaded{.file = std::string(path), .sizes = textOf(file.sizes)};
  loaded.target = device.kernelTarget();
  loaded.launches = parseLaunches(target.launches, path);
  loaded.index_types = target.index_types;
  loaded.kernels = target.kernels;
  loaded.contents = contents;
  if (options.compiles) loaded.fallback = device.kernelMaker();
  loaded.target.kind = target.kind;
  if (isInterpreter(device)) return std::make_shared<LoadedKernels>(std::move(loaded));
  std::vector<std::shared_ptr<const KernelImage>> made(target.images.size());
  loaded.load = [kind = target.kind, images = target.images, made, contents](size_t code,
                                                                             const std::string& entry) mutable {
    std::shared_ptr<const KernelImage>& image = made[code];
    if (image != nullptr) return image;
    if (kind == TargetKind::Cuda)
      image = gpuImage(images[code], entry, contents);
    else
      image = processorImage(images[code], entry, contents);
    return image;
  };
  return std::make_shared<LoadedKernels>(std::move(loaded));
}

}  // namespace

std::unique_ptr<MultiDeviceExecutor> loadExecutor(std::string contents, std::string_view name, Device& device,
                                                  const LoadOptions& options) {
  const auto bytes = std::make_shared<const std::string>(std::move(contents));
  const ExportedFile file = readExportedFile(*bytes, name);
  const ExportedTarget& target = targetFor(file, device, name);
  std::unique_ptr<HostIrContainer> program = parseHostProgram(target.host_program, name);
  nameAll(*program, file, target, name);
  HostIrEvaluatorParams params = evaluatorParamsOf(options.run);
  params.segments = SegmentMode::Kernels;
  params.kernels = kernelsOf(file, target, name, device, options, bytes);
  MultiDeviceExecutor::Outputs outputs{.given = file.given, .in_place = file.in_place};
  return std::make_unique<MultiDeviceExecutor>(std::move(program), std::move(outputs), device, params);
}

std::unique_ptr<MultiDeviceExecutor> loadExecutor(const std::string& path, Device& device, const LoadOptions& options) {
  return loadExecutor(readFile(path, options), path, device, options);
}

Program loadProgram(std::string contents, std::string_view name, Device& device, const LoadOptions& options) {
  return makeProgram(loadExecutor(std::move(contents), name, device, options));
}

Program loadProgram(const std::string& path, Device& device, const LoadOptions& options) {
  return makeProgram(loadExecutor(path, device, options));
}

}  // namespace tokamak
