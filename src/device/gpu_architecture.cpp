#include "device/gpu_architecture.h"

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/require.h"

namespace tokamak {

namespace {

// What schedules have to know of the largest GPU of a compute capability (CUDA C++ Programming Guide, table "Technical
// Specifications per Compute Capability").
struct Generation {
  int64_t capability = 0;  // 86: 8.6
  int64_t multiprocessors = 0;
  int64_t threads_per_multiprocessor = 0;
  int64_t shared_kilobytes_per_block = 0;
};

constexpr Generation kGenerations[] = {
    {80, 108, 2048, 163},  {86, 84, 1536, 99},    {87, 16, 1536, 163},  {89, 142, 1536, 99},  {90, 132, 2048, 227},
    {100, 148, 2048, 227}, {103, 160, 2048, 227}, {110, 20, 1536, 227}, {120, 188, 1536, 99}, {121, 48, 1536, 99},
};

struct Architecture {
  int64_t capability = 0;  // 90: 9.0
  std::string_view suffix;
};

std::optional<Architecture> architectureNamed(std::string_view name) {
  constexpr std::string_view kPrefix = "sm_";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  Architecture architecture;
  const char* const end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data(), end, architecture.capability);
  if (error != std::errc() || architecture.capability < 0) return std::nullopt;
  architecture.suffix = name.substr(static_cast<size_t>(rest - name.data()));
  const bool is_suffix = architecture.suffix.empty() || architecture.suffix == "a" || architecture.suffix == "f";
  return is_suffix ? std::optional(architecture) : std::nullopt;
}

}  // namespace

KernelTarget gpuTarget(const std::string& architecture, const std::string& option) {
  const std::optional<Architecture> named = architectureNamed(architecture);
  TK_REQUIRE(named, Usage, "{} {}: expected sm_ and a compute capability, such as sm_80 or sm_90a", option,
             architecture);
  const Generation* known = nullptr;
  for (const Generation& generation : kGenerations) {
    if (generation.capability <= named->capability) known = &generation;
  }
  TK_REQUIRE(known != nullptr, Usage, "{} {}: kernels are made for sm_{} and later", option, architecture,
             kGenerations[0].capability);
  constexpr int64_t kFirstWithClusters = 90;
  KernelTarget target = hopperTarget();
  target.multiprocessors = known->multiprocessors;
  target.threads_per_multiprocessor = known->threads_per_multiprocessor;
  target.shared_bytes_per_block = known->shared_kilobytes_per_block * 1024;
  target.has_clusters = named->capability >= kFirstWithClusters;
  return target;
}

bool gpuRuns(const std::string& architecture, const std::string& code) {
  const std::optional<Architecture> gpu = architectureNamed(architecture);
  const std::optional<Architecture> compiled = architectureNamed(code);
  if (!gpu || !compiled) return false;
  if (compiled->suffix == "a") return gpu->capability == compiled->capability;
  return gpu->capability / 10 == compiled->capability / 10 && gpu->capability >= compiled->capability;
}

}  // namespace tokamak
