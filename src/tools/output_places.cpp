#include "tools/output_places.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "base/error.h"
#include "base/output_file.h"
#include "runtime/npy.h"
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

void OutputPlaces::require(const std::vector<std::string>& outputs) const {
  std::map<std::filesystem::path, std::string> written;
  for (const auto& [name, file] : files_) {
    std::error_code unknown;
    const std::filesystem::path path =
        std::filesystem::weakly_canonical(std::filesystem::absolute(file, unknown), unknown);
    const bool is_device = std::filesystem::exists(path, unknown) && !std::filesystem::is_regular_file(path, unknown);
    if (file == "-" || is_device) continue;
    const auto [first, is_new] = written.emplace(path, name);
    TK_REQUIRE(is_new, Usage, "--output {}={}: --output {}={} is written there as well; give one of them another file",
               name, file, first->second, files_.at(first->second));
  }
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

}  // namespace tokamak::tools
