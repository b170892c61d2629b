#include "contexts/context_kernels.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include <fmt/format.h>

#include "base/require.h"
#include "codegen/source.h"
#include "kernel/bind_kernel.h"
#include "kernel/shared_memory.h"

namespace tokamak::contexts {

namespace {

// A pattern of the CUDA text, and what stands for it.
struct Rule {
  std::regex pattern;
  std::string replacement;
};

const std::vector<Rule>& rules() {
  static const std::vector<Rule> rules = [] {
    const auto rule = [](const char* pattern, const char* replacement) {
      return Rule{std::regex(pattern), replacement};
    };
    return std::vector<Rule>{
        rule(R"(asm volatile\("griddepcontrol\.wait;" ::: "memory"\);)", "tk_now->depend();"),
        rule(R"(asm\("mapa\.u64 %0, %0, %1;" : "\+l"\(remote\) : "r"\((.*)\)\);)", "remote = tk_remote(remote, $1);"),
        rule(
            R"(asm volatile\("cp\.async\.c[ga]\.shared\.global \[%0\], \[%1\], (\d+);" :: "r"\(\(tk_u32\)__cvta_generic_to_shared\((.*)\)\), "l"\((.*)\) : "memory"\);)",
            "tk_now->copy((void*)$2, $3, $1);"),
        rule(R"(asm volatile\("cp\.async\.commit_group;" ::: "memory"\);)", "tk_now->commit();"),
        rule(R"(asm volatile\("cp\.async\.wait_group (\d+);" ::: "memory"\);)", "tk_now->wait_group($1);"),
        rule(R"(asm volatile\("barrier\.cluster\.arrive\.release\.aligned;" ::: "memory"\);)",
             "tk_now->arrive(__LINE__);"),
        rule(R"(asm volatile\("barrier\.cluster\.wait\.acquire\.aligned;" ::: "memory"\);)", "tk_now->wait(__LINE__);"),
        rule(R"(extern __shared__ (__align__\(16\) )?unsigned char tk_shared\[\];)",
             "unsigned char* const tk_shared = (unsigned char*)tk_now->launched();"),
        rule(R"(__shared__ (__align__\(16\) )?([\w ]+) (\w+)\[(.*)\];)",
             "$2 (&$3)[$4] = tk_shared_of<$2[$4]>(__COUNTER__);"),
        rule(R"(__shared__ (\w+) (\w+);)", "$1& $2 = tk_shared_of<$1>(__COUNTER__);"),
        rule(R"(asm\("mov\.b32 %0, \{%1, %2\};" : "=f"\((\w+)\) : "h"\(\(tk_u16\)0\), "h"\((\w+)\)\);)",
             "$1 = ptx_from_bf16($2);"),
    };
  }();
  return rules;
}

// `asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(x), "f"(y));` becomes `larger = ptx_max_NaN_f32(x, y);`.
std::string withFunctions(const std::string& line) {
  static const std::regex instruction(
      R"re(asm\("([\w.]+) %0, %1(?:, %2)?;" : "=[fhr]"\((\w+)\) : "[fhr]"\((\w+)\)(?:, "[fhr]"\((\w+)\))?\);)re");
  std::smatch match;
  if (!std::regex_search(line, match, instruction)) return line;
  std::string name = match[1].str();
  std::ranges::replace(name, '.', '_');
  const std::string second = match[4].matched ? ", " + match[4].str() : "";
  return match.prefix().str() + fmt::format("{} = ptx_{}({}{});", match[2].str(), name, match[3].str(), second) +
         match.suffix().str();
}

std::string readFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

constexpr size_t kMargin = 256;  // around each buffer, and its alignment

}  // namespace

std::string contextText(const std::string& cuda) {
  std::istringstream lines(cuda);
  std::string result;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("asm") != std::string::npos || line.find("__shared__") != std::string::npos) {
      for (const Rule& rule : rules()) line = std::regex_replace(line, rule.pattern, rule.replacement);
      line = withFunctions(line);
      TK_CHECK(line.find("asm") == std::string::npos && line.find("__shared__") == std::string::npos,
               "a line of a kernel's text has no words for contexts: {}", line);
    }
    result += line + "\n";
  }
  return result;
}

struct ContextKernels::Kernel {
  PreparedKernel prepared;
  KernelSource source;
  ContextKernel compiled;
};

// A launch's buffers, copied to where there is room around each.
struct ContextKernels::Memory {
  std::vector<std::vector<std::byte>> copies;
  std::vector<std::byte*> places;
  std::vector<int64_t> bytes;
  std::vector<std::byte> workspace;
  std::byte* workspace_place = nullptr;
};

ContextKernels::ContextKernels() {
  std::string name = (std::filesystem::temp_directory_path() / "tokamak_contexts_XXXXXX").string();
  TK_CHECK(mkdtemp(name.data()) != nullptr, "no folder {} for kernels", name);
  folder_ = name;
}

ContextKernels::~ContextKernels() {
  for (void* library : libraries_) dlclose(library);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

size_t ContextKernels::add(const PreparedKernel& prepared, DataType index_type) {
  auto kernel = std::make_unique<Kernel>();
  kernel->prepared = prepared;
  kernel->prepared.kernel.name = fmt::format("k{}", kernels_.size());
  kernel->source = kernelSource(kernel->prepared.kernel, Dialect::Cuda, index_type);
  kernels_.push_back(std::move(kernel));
  return kernels_.size() - 1;
}

size_t ContextKernels::add(const PreparedKernel& prepared, DataType index_type, std::string text) {
  const size_t number = add(prepared, index_type);
  Kernel& kernel = *kernels_[number];
  // The entry's name is this kernel's.
  static const std::regex entry(R"((__launch_bounds__\([^)]*\)) \w+\()");
  kernel.source.text = std::regex_replace(text, entry, "$1 " + kernel.source.entry + "(");
  return number;
}

const std::string& ContextKernels::textOf(size_t number) const { return kernels_[number]->source.text; }

std::optional<std::string> ContextKernels::compile() {
  std::vector<KernelSource> sources;
  for (size_t i = compiled_; i < kernels_.size(); ++i) sources.push_back(kernels_[i]->source);
  std::string text = "#include \"cuda_words.h\"\n" + contextText(compilationUnit(sources, Dialect::Cuda));
  for (const KernelSource& source : sources) text += fmt::format("TK_ENTRY({})\n", source.entry);
  const std::string stem = fmt::format("{}/kernels{}", folder_, files_++);
  std::ofstream(stem + ".cpp") << text;
  const std::string command = fmt::format(
      "g++ -std=c++17 -O0 -w -fPIC -fno-exceptions -fsanitize=thread --param tsan-instrument-func-entry-exit=0 "
      "-ffp-contract=off -I {}/fuzz/contexts -c {}.cpp -o {}.o 2>{}.log && g++ -shared {}.o -o {}.so -lm 2>>{}.log",
      TOKAMAK_TEST_DIR, stem, stem, stem, stem, stem, stem);
  if (std::system(command.c_str()) != 0) return readFile(stem + ".log").substr(0, 4000);
  void* library = dlopen((stem + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::string(dlerror());
  libraries_.push_back(library);
  char* begin = nullptr;
  char* end = nullptr;
  reinterpret_cast<void (*)(char**, char**)>(dlsym(library, "tk_image"))(&begin, &end);
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    lines.push_back(line.substr(std::min(line.size(), line.find_first_not_of(' '))));
  const auto shared_lines = std::make_shared<const std::vector<std::string>>(std::move(lines));
  for (; compiled_ < kernels_.size(); ++compiled_) {
    Kernel& kernel = *kernels_[compiled_];
    const auto entry =
        reinterpret_cast<void (*)(void* const*)>(dlsym(library, ("call_" + kernel.source.entry).c_str()));
    TK_CHECK(entry != nullptr, "{} is not in the file compiled from it", kernel.source.entry);
    kernel.compiled = {.call = entry,
                       .machine = static_cast<ContextMachine**>(dlsym(library, "tk_now")),
                       .image = begin,
                       .image_end = end,
                       .line = [shared_lines](int line) {
                         return fmt::format("line {} `{}`", line, shared_lines->at(static_cast<size_t>(line) - 1));
                       }};
  }
  return std::nullopt;
}

std::optional<std::string> ContextKernels::run(size_t number, std::span<const KernelBuffer> buffers, uint64_t seed) {
  const Kernel& kernel = *kernels_[number];
  const KernelWorkspace workspace = kir::workspaceOf(kernel.prepared.kernel, kernel.prepared.bindings);
  Memory memory;
  memory.workspace.assign(static_cast<size_t>(workspace.bytes) + 2 * kMargin, std::byte{0});
  const auto aligned = [](std::byte* place) {
    return place + (kMargin - reinterpret_cast<uintptr_t>(place) % kMargin) % kMargin;
  };
  memory.workspace_place = aligned(memory.workspace.data());
  std::vector<std::vector<std::byte>> first;
  using Copies = GridOrder::Copies;
  for (const GridOrder& order :
       {GridOrder{0, Copies::Early}, GridOrder{seed, Copies::Late}, GridOrder{seed + 1, Copies::Late}}) {
    memory.copies.clear();
    memory.places.clear();
    memory.bytes.clear();
    for (size_t i = 0; i < buffers.size(); ++i) {
      const int64_t bytes = buffers[i].elements * sizeOf(kernel.prepared.kernel.tensors[i]->dtype());
      std::vector<std::byte>& copy =
          memory.copies.emplace_back(static_cast<size_t>(bytes) + 3 * kMargin, std::byte{0x5A});
      memory.places.push_back(aligned(copy.data()) + reinterpret_cast<uintptr_t>(buffers[i].address) % kMargin);
      memory.bytes.push_back(bytes);
      if (bytes > 0) std::memcpy(memory.places[i], buffers[i].address, static_cast<size_t>(bytes));
    }
    if (auto problem = runOnce(kernel, memory, order)) return problem;
    std::vector<std::vector<std::byte>> results;
    for (size_t i = 0; i < buffers.size(); ++i)
      results.emplace_back(memory.places[i], memory.places[i] + memory.bytes[i]);
    if (first.empty()) first = results;
    if (first != results) return fmt::format("other results in the order of seed {} with late copies", order.seed);
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (!buffers[i].is_written && memory.bytes[i] > 0)
      std::memcpy(buffers[i].address, memory.places[i], static_cast<size_t>(memory.bytes[i]));
  }
  const auto* counters = reinterpret_cast<const uint32_t*>(memory.workspace_place);
  if (std::any_of(counters, counters + workspace.counters, [](uint32_t counter) { return counter != 0; }))
    return "a counter of blocks is not 0 after the launch";
  return std::nullopt;
}

std::optional<std::string> ContextKernels::runOnce(const Kernel& kernel, Memory& memory, const GridOrder& order) {
  const kir::Kernel& lowered = kernel.prepared.kernel;
  const ScalarBindings& bindings = kernel.prepared.bindings;
  GridShape shape;
  for (const kir::LaunchDimension& dimension : lowered.dimensions) {
    const int64_t extent = evaluateInt(*dimension.extent, bindings);
    if (extent == 0) return std::nullopt;
    if (kir::isClusterType(dimension.type)) {
      shape.cluster = extent;
      continue;
    }
    const bool is_thread = kir::isThreadType(dimension.type);
    const ParallelType first = is_thread ? ParallelType::TIDx : ParallelType::BIDx;
    (is_thread ? shape.threads : shape.blocks)[static_cast<size_t>(dimension.type) - static_cast<size_t>(first)] =
        extent;
  }
  shape.blocks[0] *= shape.cluster;
  shape.shared_bytes = kir::launchedSharedBytes(lowered, bindings);
  MemoryWatch watch;
  for (size_t i = 0; i < memory.places.size(); ++i) {
    const bool is_input = i < memory.places.size() - lowered.fusion->outputs().size();
    watch.add({memory.places[i], memory.bytes[i], is_input, false, fmt::format("T{}", lowered.tensors[i]->label())});
  }
  std::vector<int64_t> symbols = symbolBits(lowered, bindings);
  std::vector<void*> arguments;
  for (std::byte*& place : memory.places) arguments.push_back(static_cast<void*>(&place));
  const KernelWorkspace workspace = kir::workspaceOf(lowered, bindings);
  if (workspace.bytes > 0) {
    const int64_t counters = workspace.counters * 4;
    watch.add({memory.workspace_place, counters, true, false, "the counters"});
    const int64_t values = (counters + 15) / 16 * 16;
    watch.add({memory.workspace_place + values, workspace.bytes - values, false, false, "the workspace"});
    arguments.push_back(static_cast<void*>(&memory.workspace_place));
  }
  for (int64_t& symbol : symbols) arguments.push_back(&symbol);
  return runGrid(kernel.compiled, shape, order, watch, arguments.data());
}

}  // namespace tokamak::contexts
