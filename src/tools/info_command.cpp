#include "tools/info_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/profiler_range.h"
#include "base/require.h"
#include "base/text.h"
#include "device_code/device_code.h"
#include "ir/fields.h"
#include "jit/jit_device.h"
#include "jit/open_device.h"
#include "oracle/exceptions.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/cpu/open_blas.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/cupti_records.h"
#include "symbolic/functions.h"
#include "tokamak/version.h"
#include "tools/ops_page.h"

namespace tokamak::tools {

namespace {

std::string_view ruleName(TypeRule rule) {
  switch (rule) {
    case TypeRule::Float: return "float";
    case TypeRule::Numeric: return "numeric";
    case TypeRule::Any: return "any";
    case TypeRule::Test: return "test";
    case TypeRule::Compare: return "compare";
    case TypeRule::Logical: return "logical";
    case TypeRule::Bitwise: return "bitwise";
    case TypeRule::Integer: return "integer";
    case TypeRule::Choose: return "choose";
  }
  return "";
}

std::string_view accuracyName(Accuracy accuracy) {
  switch (accuracy) {
    case Accuracy::Exact: return "exact";
    case Accuracy::Rounded: return "rounded";
    case Accuracy::Approx: return "approx";
    case Accuracy::Step: return "step";
  }
  return "";
}

// The legal operand types, each with the type that the function then computes in and the one it gives.
std::string functionTypesText(FunctionId id) {
  std::vector<std::string> rows;
  for (const DataType type : kAllDataTypes) {
    const std::optional<FunctionTypes> types = functionTypes(id, type);
    if (!types) continue;
    rows.push_back(fmt::format(R"("{}": {{"operand": "{}", "result": "{}"}})", dataTypeName(type),
                               dataTypeName(types->operand), dataTypeName(types->result)));
  }
  return fmt::format("{{{}}}", joined(rows));
}

std::string exceptionOf(FunctionId id) {
  const oracle::Exception* exception = oracle::exceptionFor(id);
  if (exception == nullptr) return "null";
  return fmt::format(R"({{"ulps": {}, "epsilons": {}, "smallest_normals": {}, "reason": "{}"}})", exception->ulps,
                     exception->epsilons, exception->smallest_normals, exception->reason);
}

// Names and reasons hold no character that JSON would have escaped.
void printFunctions() {
  std::vector<std::string> rows;
  for (const FunctionInfo& row : allFunctions()) {
    rows.push_back(fmt::format(
        R"(  {{"name": "{}", "operands": {}, "rule": "{}", "accuracy": "{}", "types": {}, "exception": {}}})", row.name,
        row.arity, ruleName(row.rule), accuracyName(row.accuracy), functionTypesText(row.id), exceptionOf(row.id)));
  }
  fmt::print("[\n{}\n]\n", joined(rows, ",\n"));
}

// The names between commas; every one must be a helper of CUDA.
std::vector<std::string> helpersNamed(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const size_t length = std::min(list.find(','), list.size());
    names.emplace_back(list.substr(0, length));
    TK_REQUIRE(hasHelper(Dialect::Cuda, names.back()), Usage,
               "info: --device-code: there is no function '{}' in device code for CUDA; names are like exp_f32",
               names.back());
    list.remove_prefix(std::min(length + 1, list.size()));
  }
  return names;
}

double gibibytes(int64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

void printCudaDevices() {
  if (const std::string reason = reasonForNoCuda(); !reason.empty())
    return fmt::print("device cuda: none: {}\n", reason);
  for (int64_t ordinal = 0; ordinal < countCudaDevices(); ++ordinal) {
    try {
      const CudaDevice device(ordinal);
      const CudaProperties& gpu = device.cudaProperties();
      fmt::print("device {}: {}, sm_{}{}, {} multiprocessors, {:.1f} GiB, {} KiB of shared memory per block\n",
                 device.properties().name, device.properties().description, gpu.capability_major, gpu.capability_minor,
                 gpu.multiprocessors, gibibytes(device.properties().memory_bytes),
                 gpu.shared_bytes_per_block_optin / 1024);
    } catch (const Error& error) {
      fmt::print("device cuda:{}: cannot be used: {}\n", ordinal, error.message());
    }
  }
}

}  // namespace

void requireOneAnswer(const InfoOptions& options) {
  std::vector<std::string> asked = {options.written.begin(), options.written.end()};
  std::erase(asked, "--markdown");
  TK_REQUIRE(asked.size() < 2, Usage, "info: {} print one thing each; give one of them", joined(asked, " and "));
  const bool lists_ops = options.written.contains("--ops");
  TK_REQUIRE(lists_ops || !options.markdown, Usage, "info: --markdown is a form of --ops; give that, too");
  TK_REQUIRE(!options.markdown || options.ops.empty(), Usage,
             "info: --ops {} --markdown: the page has all ops; leave out the name or --markdown", options.ops);
}

int infoCommand(const InfoOptions& options) {
  if (options.written.contains("--ops")) {
    fmt::print("{}", options.markdown ? opsPage() : options.ops.empty() ? opList() : opText(options.ops));
    return 0;
  }
  if (options.functions) {
    printFunctions();
    return 0;
  }
  if (!options.device_code.empty()) {
    fmt::print("{}", deviceCode(Dialect::Cuda, helpersNamed(options.device_code)));
    return 0;
  }
  fmt::print("tokamak {}\n", TOKAMAK_VERSION);
  const CpuDevice device;
  const DeviceProperties& cpu = device.properties();
  fmt::print("device cpu: {}, {} threads, {:.1f} GiB\n", cpu.description, cpu.threads, gibibytes(cpu.memory_bytes));
  fmt::print("kernels of the cpu: {}\n", describeKernels(KernelRunner::Compiled));
  printCudaDevices();
  fmt::print("matrix products: {}\n", OpenBlas::describe());
  fmt::print("ranges for profilers: {}\n", describeRanges());
  fmt::print("times of GPU timelines: {}\n",
             cuptiHeaderVersion() == 0 ? "the driver's events (built without cupti.h)"
                                       : fmt::format("CUPTI {}, else the driver's events", cuptiHeaderVersion()));
  fmt::print("ops: {} structured, {} elementwise functions\n", allOpKinds().size(), allFunctions().size());
  return 0;
}

}  // namespace tokamak::tools
