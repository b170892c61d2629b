#include "tools/export_command.h"

#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "base/output_file.h"
#include "base/require.h"
#include "compile/export_for_c.h"
#include "compile/exported_program.h"
#include "tools/error_place.h"
#include "tools/integer_in.h"
#include "tools/lowering_options.h"
#include "tools/program_file.h"
#include "tools/range_cost.h"

namespace tokamak::tools {

namespace {

int64_t sizeIn(const std::string& option, std::string_view text) {
  const auto size = integerIn<int64_t>(std::string(text));
  TK_REQUIRE(size.has_value(), Usage, "--size {}: '{}' is no size; 4096, 128,4096 and 1..65536 are legal", option,
             text);
  return *size;
}

// "4096", "128,4096" or "1..65536".
ExportedExtent extentIn(const std::string& name, std::string_view text) {
  const std::string option = fmt::format("{}={}", name, text);
  if (const size_t dots = text.find(".."); dots != std::string_view::npos)
    return ExportedExtent::range(sizeIn(option, text.substr(0, dots)), sizeIn(option, text.substr(dots + 2)));
  std::vector<int64_t> sizes;
  while (true) {
    const size_t comma = text.find(',');
    sizes.push_back(sizeIn(option, text.substr(0, comma)));
    if (comma == std::string_view::npos) return ExportedExtent(std::move(sizes));
    text.remove_prefix(comma + 1);
  }
}

// The program's default sizes, and what the options say.
std::map<std::string, ExportedExtent> extentsOf(const Fusion& fusion, const std::vector<std::string>& options) {
  std::map<std::string, ExportedExtent> extents;
  for (const auto& [name, text] : readAssignments("--size", options)) extents.emplace(name, extentIn(name, text));
  for (const auto& [symbol, size] : fusion.defaultSizes()) extents.emplace(symbol->name(), ExportedExtent{size});
  return extents;
}

void writeFile(const std::string& option, const std::string& path, const std::string& bytes) {
  OutputFile file(option, path);
  file.keepToOwner();
  file.write(bytes);
  file.finish();
}

}  // namespace

int exportCommand(const ExportCommandOptions& options) {
  ProgramFile file = readProgram(options.file);
  TK_REQUIRE(file.fusion != nullptr, Usage, "{}: it holds a host program; only fusions are exported", options.file);
  try {
    TK_REQUIRE(!options.output.empty() || !options.c_prefix.empty(), Usage,
               "export: nothing is to be written; give --output FILE or --c PREFIX");
    std::error_code none;
    TK_REQUIRE(!std::filesystem::equivalent(options.output, options.file, none), Usage,
               "--output {}: it is the program that is exported", options.output);
    TK_REQUIRE(options.output != "-", Usage, "--output -: an exported program is not written to standard output");
    if (!options.output.empty()) OutputFile::requireWritable("--output", options.output);
    ExportOptions exported{.sizes = extentsOf(*file.fusion, options.sizes)};
    if (!options.processors.empty() || !options.gpus.empty()) exported.processors = options.processors;
    exported.gpus = options.gpus;
    exported.threads = options.threads;
    exported.output_layouts = outputLayoutsNamed(options.output_layouts);
    std::vector<ExportReport> report;
    const std::string bytes = exportProgram(*file.fusion, exported, &report);
    if (!options.output.empty()) writeFile("--output", options.output, bytes);
    if (!options.c_prefix.empty()) {
      const CExport c = exportForC(*file.fusion, bytes, std::filesystem::path(options.c_prefix).filename());
      writeFile("--c", options.c_prefix + ".o", c.object);
      writeFile("--c", options.c_prefix + ".h", c.header);
    }
    for (const ExportReport& target : report)
      fmt::print("{}: {} kernels for {} sets of sizes and layouts, {} bytes of code\n", target.target, target.kernels,
                 target.launches, target.code_bytes);
    if (const std::string cost = rangeCost(*file.fusion, exported, bytes); !cost.empty()) fmt::print("{}\n", cost);
    if (!options.output.empty()) fmt::print("{}: {} bytes\n", options.output, bytes.size());
    if (!options.c_prefix.empty()) fmt::print("{0}.o and {0}.h: to be linked with the library\n", options.c_prefix);
    return 0;
  } catch (const Error& error) {
    throw withPlace(error, file);
  }
}

}  // namespace tokamak::tools
