// kernel_texts: the C and CUDA text of the kernels that programs become, for scripts/kernel_texts; nothing is compiled
// or run.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "analysis/bind_shape.h"
#include "base/require.h"
#include "codegen/source.h"
#include "compile/lower_fusion.h"
#include "define/callables.h"
#include "device/kernel_target.h"
#include "generator/draw_numeric.h"
#include "generator/draw_program.h"
#include "host/run/host_ir_evaluator.h"
#include "ir/text/fusion_parser.h"
#include "ir/text/fusion_printer.h"
#include "jit/kernel_collector.h"
#include "kernel/index_type.h"

namespace tokamak {
namespace {

constexpr const char* kUsage =
    "kernel_texts draw N            prints N random fusions as cases\n"
    "kernel_texts write FOLDER FILE writes FOLDER/NAME.c and FOLDER/NAME.cu of each case of FILE, and what all call\n"
    "  a case is a line `// case NAME EXTENT=NUMBER ...` and a .fusion text\n";
constexpr const char* kCase = "// case ";
constexpr int kLanes = 16;  // of f32

struct TextCase {
  std::string name;
  std::map<std::string, int64_t> sizes;
  std::string text;
};

std::vector<TextCase> readCases(const std::string& file) {
  std::ifstream in(file);
  TK_REQUIRE(in.good(), Io, "{}: it cannot be read", file);
  std::vector<TextCase> cases;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(kCase)) {
      TK_REQUIRE(!cases.empty(), Usage, "{}: it begins with no line '{}NAME'", file, kCase);
      cases.back().text += line + "\n";
      continue;
    }
    std::istringstream words(line.substr(std::string_view(kCase).size()));
    TextCase& added = cases.emplace_back();
    words >> added.name;
    for (std::string size; words >> size;) {
      const size_t equals = size.find('=');
      TK_REQUIRE(equals != std::string::npos, Usage, "{}: '{}' is no EXTENT=NUMBER", file, size);
      added.sizes[size.substr(0, equals)] = std::stoll(size.substr(equals + 1));
    }
  }
  return cases;
}

// Of extents: what the case says, else the program's defaults.
ScalarBindings sizesOfCase(const Fusion& fusion, const TextCase& each) {
  ScalarBindings bindings;
  for (const auto& [symbol, size] : fusion.defaultSizes()) bindings[symbol] = size;
  for (Scalar* symbol : fusion.allSymbols()) {
    if (const auto found = each.sizes.find(symbol->name()); found != each.sizes.end()) bindings[symbol] = found->second;
  }
  return bindings;
}

// Inputs without contents, and the extents that no input shows.
std::vector<std::pair<Val*, RunValue>> valuesOf(const Fusion& fusion, const HostIrContainer& program,
                                                const ScalarBindings& bindings, Device& device) {
  const std::shared_ptr<Stream> stream = device.createStream();
  std::vector<std::pair<Val*, RunValue>> values;
  for (size_t i = 0; i < fusion.inputs().size(); ++i) {
    Val* const input = program.inputs()[i];
    const TensorView* tensor = asTensor(fusion.inputs()[i]);
    if (tensor == nullptr) {
      values.emplace_back(input, convertValue(int64_t{1}, input->dtype()));
      continue;
    }
    const std::vector<int64_t> sizes = sizesOf(*tensor, bindings);
    const std::vector<int64_t> strides = freshStrides(*tensor, sizes);
    const int64_t bytes = spanOf(sizes, strides) * sizeOf(tensor->dtype());
    values.emplace_back(input, Tensor(Buffer::allocate(device, stream, bytes, tensor->memoryKind()), 0, tensor->dtype(),
                                      sizes, strides));
  }
  for (Scalar* symbol : program.allSymbols()) {
    for (const auto& [known, value] : bindings) {
      if (known->name() == symbol->name() && !symbol->name().empty() && !program.isInput(symbol))
        values.emplace_back(symbol, value);
    }
  }
  return values;
}

// Of all kernels in their order; what is refused says so.
std::string kernelsOf(const TextCase& each, const KernelTarget& target, std::set<std::string>& helpers) {
  std::string text;
  try {
    const auto fusion = parseFusion(each.text, each.name, {.resolver = &definingResolver()});
    KernelCollector device(target, [&](const PreparedKernel& prepared) {
      const kir::Kernel& kernel = prepared.kernel;
      const KernelSource source = target.kind == TargetKind::Cuda
                                      ? kernelSource(kernel, Dialect::Cuda, kir::indexTypeOf(kernel, prepared.bindings))
                                      : kernelSource(kernel, Dialect::C, DataType::I64, kLanes);
      text += source.text + "\n";
      helpers.insert(source.helpers.begin(), source.helpers.end());
    });
    auto program = lowerToHostProgram(*fusion, {.grouping = Grouping::Fused, .target = target});
    const auto values = valuesOf(*fusion, *program, sizesOfCase(*fusion, each), device);
    HostIrEvaluator(std::move(program), device, {.segments = SegmentMode::Kernels}).planFor(values);
  } catch (const Error& error) {
    text += fmt::format("refused: {}\n", errorCodeName(error.code()));
  }
  return text;
}

void write(const std::filesystem::path& folder, const std::string& file) {
  constexpr int64_t kProcessors = 8;
  int64_t refused = 0;
  std::map<Dialect, std::set<std::string>> helpers;
  const std::vector<TextCase> cases = readCases(file);
  std::filesystem::create_directories(folder);
  for (const TextCase& each : cases) {
    const std::string c = kernelsOf(each, cpuTarget(kProcessors), helpers[Dialect::C]);
    const std::string cuda = kernelsOf(each, hopperTarget(), helpers[Dialect::Cuda]);
    std::ofstream(folder / (each.name + ".c")) << c;
    std::ofstream(folder / (each.name + ".cu")) << cuda;
    refused += (c.find("refused: ") != std::string::npos) + (cuda.find("refused: ") != std::string::npos);
  }
  for (const auto& [dialect, names] : helpers) {
    const std::vector<std::string> called(names.begin(), names.end());
    std::ofstream(folder / (dialect == Dialect::C ? "helpers.c" : "helpers.cu")) << deviceCode(dialect, called);
  }
  std::cout << cases.size() << " cases, " << refused << " of " << 2 * cases.size() << " texts end in an error\n";
}

// Half as large as suites are, half with every remainder; nothing is computed, so that extents cost nothing.
std::unique_ptr<Fusion> drawn(uint64_t seed) {
  using namespace generator;
  constexpr int64_t kMany = int64_t{1} << 22;
  switch (seed % 4) {
    case 0: return drawNumericProgram(seed);
    case 1: return build(drawProgram(seed, {.max_ops = 12, .max_elements = kMany}));
    case 2:
      return build(drawProgram(seed, {.max_ops = seed % 16 == 2 ? 40 : 12,
                                      .max_elements = kMany,
                                      .pointwise = 70,
                                      .has_even_types = true,
                                      .extent = 1 + static_cast<int64_t>(seed % 131)}));
    default: return build(drawProgram(seed, {.max_ops = 8, .max_elements = 2048}));
  }
}

bool canBeRead(const std::string& text) {
  try {
    parseFusion(text, "drawn", {.resolver = &definingResolver()});
    return true;
  } catch (const Error&) {
    return false;
  }
}

void draw(uint64_t count) {
  for (uint64_t seed = 1; count > 0; ++seed) {
    const std::string text = printFusion(*drawn(seed));
    if (!canBeRead(text)) continue;
    std::cout << fmt::format("{}random_{}\n{}", kCase, seed, text);
    --count;
  }
}

}  // namespace
}  // namespace tokamak

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    if (words.size() == 2 && words[0] == "draw") {
      tokamak::draw(std::stoull(words[1]));
    } else if (words.size() == 3 && words[0] == "write") {
      tokamak::write(words[1], words[2]);
    } else {
      std::cerr << tokamak::kUsage;
      return 2;
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
