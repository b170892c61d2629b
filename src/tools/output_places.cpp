#include "tools/output_places.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "base/output_file.h"
#include "base/require.h"
#include "interop/npy.h"
#include "tools/program_file.h"

namespace tokamak::tools {

OutputPlaces::OutputPlaces(const std::vector<std::string>& texts) : files_(readAssignments("--output", texts)) {
  std::string first;
  for (const auto& [name, file] : files_) {
    if (file != "-") continue;
    TK_REQUIRE(first.empty(), Usage,
               "--output {}=-: --output {}=- goes to standard output as well; give one of them a file", name, first);
    first = name;
  }
  if (!first.empty()) standard_output_.emplace(fmt::format("--output {}=-", first));
}

void OutputPlaces::require(const std::vector<std::string>& outputs, const std::vector<OtherFile>& others) const {
  std::map<std::filesystem::path, std::string> used;
  const auto use = [&](const std::string& file, const std::string& what) {
    std::error_code unknown;
    const std::filesystem::path path =
        std::filesystem::weakly_canonical(std::filesystem::absolute(file, unknown), unknown);
    const bool is_device = std::filesystem::exists(path, unknown) && !std::filesystem::is_regular_file(path, unknown);
    if (file.empty() || file == "-" || is_device) return;
    const auto [first, is_new] = used.emplace(path, what);
    TK_REQUIRE(is_new, Usage, "{}: {} is that file as well; name another one", what, first->second);
  };
  for (const auto& [what, path] : others) use(path, what);
  for (const auto& [name, file] : files_) use(file, fmt::format("--output {}={}", name, file));
  for (const auto& [name, file] : files_) {
    TK_REQUIRE(std::ranges::find(outputs, name) != outputs.end(), Usage,
               "--output {}={}: the program has no such output", name, file);
    if (file != "-") OutputFile::requireWritable("--output " + name, file);
  }
}

void OutputPlaces::put(const std::string& name, const Tensor& tensor) {
  const auto file = files_.find(name);
  if (file == files_.end()) return;
  if (file->second == "-")
    standard_output_->write(tensor);
  else
    writeNpy(file->second, tensor);
}

void writeText(const std::string& option, const std::string& path, const std::string& text) {
  if (path == "-") {
    fmt::print("{}", text);
    return;
  }
  OutputFile file(option, path);
  file.write(text);
  file.finish();
}

}  // namespace tokamak::tools
