// What compilers make of device code: which functions are written for lanes, and that NVRTC compiles all of it.
#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>

#include "device_code/compiled_code.h"
#include "symbolic/function_table.h"

namespace tokamak::test {
namespace {

// Compilers vectorise nothing: what has no lanes is computed element by element.
TEST(Compilers, FunctionsOfKernelsHaveLanes) {
  constexpr FunctionId ids[] = {function_id::abs,   function_id::add,     function_id::ceil,    function_id::clamp,
                                function_id::erf,   function_id::exp,     function_id::exp2,    function_id::expm1,
                                function_id::floor, function_id::log,     function_id::log1p,   function_id::log2,
                                function_id::relu,  function_id::maximum, function_id::minimum, function_id::round,
                                function_id::rsqrt, function_id::sigmoid, function_id::silu,    function_id::sqrt,
                                function_id::tanh,  function_id::trunc,   function_id::where,   function_id::isnan,
                                function_id::acos,  function_id::atan2,   function_id::cosh,    function_id::pow};
  for (const FunctionId id : ids) {
    EXPECT_TRUE(hasFunction(id, LaneType(DataType::F32, 16))) << functionInfo(id).name;
    EXPECT_TRUE(hasFunction(id, LaneType(DataType::F64, 8))) << functionInfo(id).name;
  }
  for (const FunctionId id : {function_id::cos, function_id::sin, function_id::tan})
    EXPECT_TRUE(hasFunction(id, LaneType(DataType::F32, 16))) << functionInfo(id).name;
}

// The few functions of NVRTC that compiling takes; the library is found at run time or the test is skipped.
struct Nvrtc {
  using Program = struct OpaqueProgram*;
  using Create = int (*)(Program*, const char*, const char*, int, const char* const*, const char* const*);
  using Compile = int (*)(Program, int, const char* const*);
  using LogSize = int (*)(Program, size_t*);
  using Log = int (*)(Program, char*);

  void* library = nullptr;
  Create create = nullptr;
  Compile compile = nullptr;
  LogSize log_size = nullptr;
  Log log = nullptr;

  Nvrtc() {
    for (const char* name : {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "/usr/local/cuda/lib64/libnvrtc.so"}) {
      if (library == nullptr) library = dlopen(name, RTLD_NOW);
    }
    if (library == nullptr) return;
    create = reinterpret_cast<Create>(dlsym(library, "nvrtcCreateProgram"));
    compile = reinterpret_cast<Compile>(dlsym(library, "nvrtcCompileProgram"));
    log_size = reinterpret_cast<LogSize>(dlsym(library, "nvrtcGetProgramLogSize"));
    log = reinterpret_cast<Log>(dlsym(library, "nvrtcGetProgramLog"));
  }

  // Empty when it compiles.
  std::string messages(const std::string& source) const {
    Program program = nullptr;
    if (create(&program, source.c_str(), "kernel.cu", 0, nullptr, nullptr) != 0) return "no program";
    const char* const options[] = {"--gpu-architecture=sm_90a", "--fmad=false", "--std=c++17"};
    const int status = compile(program, 3, options);
    size_t size = 0;
    log_size(program, &size);
    std::string text(size, '\0');
    log(program, text.data());
    return status == 0 ? "" : text;
  }
};

TEST(Compilers, NvrtcCompilesEveryFunctionAndCast) {
  const Nvrtc nvrtc;
  if (nvrtc.library == nullptr) GTEST_SKIP() << "no NVRTC";
  std::vector<std::string> helpers;
  std::string kernels;
  const auto kernel = [&](const std::string& name, const std::string& result, const std::vector<std::string>& types,
                          const std::string& value) {
    std::string parameters;
    for (size_t i = 0; i < types.size(); ++i) parameters += fmt::format(", const {}* {}", types[i], "xyzw"[i]);
    kernels += fmt::format(
        "extern \"C\" __global__ void {}({}* out{}) {{\n  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  "
        "out[i] = {};\n}}\n",
        name, result, parameters, value);
  };
  const auto need = [&](const std::vector<std::string>& names) {
    helpers.insert(helpers.end(), names.begin(), names.end());
  };
  const std::vector<std::string> operands = {"x[i]", "y[i]", "z[i]", "w[i]"};
  for (const FunctionInfo& info : allFunctions()) {
    for (const DataType type : {DataType::F32, DataType::F64, DataType::I32, DataType::I64, DataType::Bool}) {
      if (!hasFunction(info.id, type)) continue;
      need(functionHelpers(info.id, type));
      std::vector<std::string> types(static_cast<size_t>(info.arity), deviceTypeName(type));
      if (info.rule == TypeRule::Choose) types[0] = "tk_bool";
      kernel(functionLoopName(info.id, type), deviceTypeName(functionTypes(info.id, type)->result), types,
             functionCall(info.id, type, std::span(operands).first(types.size())));
    }
  }
  for (const DataType to : kAllDataTypes) {
    for (const DataType from : kAllDataTypes) {
      need(castHelpers(to, from));
      kernel(fmt::format("cast_{}_{}", dataTypeName(to), dataTypeName(from)), deviceTypeName(to),
             {deviceTypeName(from)}, castCall(to, from, "x[i]"));
    }
  }
  EXPECT_EQ(nvrtc.messages(deviceCode(Dialect::Cuda, helpers) + "\n" + kernels), "");
}

}  // namespace
}  // namespace tokamak::test
