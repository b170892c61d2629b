#include "device_code/compiled_code.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace tokamak::test {

namespace {

std::string compiler() {
  const char* const given = std::getenv("CC");
  return given != nullptr ? given : "cc";
}

std::string fileText(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

std::string loopText(const std::string& name, LaneType result, std::span<const LaneType> operands,
                     const std::string& expression) {
  const auto type = [&](size_t i) { return i < operands.size() ? deviceTypeName(operands[i]) : std::string("char"); };
  return fmt::format(
      "void {}({}* restrict out, const {}* restrict x, const {}* restrict y, const {}* restrict z,\n"
      "    const {}* restrict w, long n) {{\n  for (long i = 0; i < n; ++i) out[i] = {};\n}}\n",
      name, deviceTypeName(result), type(0), type(1), type(2), type(3), expression);
}

std::string functionLoopName(FunctionId id, DataType operand) {
  return fmt::format("loop_{}_{}", functionInfo(id).name, dataTypeName(operand));
}

std::string functionLoopText(FunctionId id, DataType operand) {
  const FunctionInfo& info = functionInfo(id);
  const std::vector<std::string> names = {"x[i]", "y[i]", "z[i]", "w[i]"};
  std::vector<LaneType> types(static_cast<size_t>(info.arity), LaneType(operand));
  if (info.rule == TypeRule::Choose) types[0] = DataType::Bool;
  return loopText(functionLoopName(id, operand), functionTypes(id, operand)->result, types,
                  functionCall(id, operand, std::span(names).first(types.size())));
}

std::string kernelFlags() {
  return "-std=c11 -O2 -march=native -fno-math-errno -fno-trapping-math -ffp-contract=off "
         "-Wall -Wextra -Werror -Wno-unused-parameter" +
         std::string(CompiledCode::isClang() ? " -fno-builtin -fno-vectorize -fno-slp-vectorize"
                                             : " -fno-tree-loop-distribute-patterns -fno-tree-vectorize "
                                               "-fno-tree-slp-vectorize -fno-thread-jumps "
                                               "--param=max-completely-peel-times=0");
}

bool CompiledCode::hasCompiler() {
  static const bool found = std::system((compiler() + " --version >/dev/null 2>&1").c_str()) == 0;
  return found;
}

bool CompiledCode::isClang() {
  static const bool is_clang = std::system((compiler() + " --version 2>&1 | grep clang >/dev/null").c_str()) == 0;
  return is_clang;
}

CompiledCode::CompiledCode(std::span<const std::string> helpers, const std::string& loops, const std::string& flags)
    : CompiledCode(Source{deviceCode(Dialect::C, helpers) + "\n" + loops, kernelFlags() + " " + flags + " -nostdlib"}) {
}

CompiledCode::CompiledCode(const Source& source) {
  static int count = 0;
  const auto stem = std::filesystem::path(testing::TempDir()) / fmt::format("tokamak_device_{}_{}", getpid(), count++);
  const auto with = [&](const char* suffix) { return std::filesystem::path(stem) += suffix; };
  std::ofstream(with(".c")) << source.text;
  const std::string command = fmt::format("{} {} -shared -fPIC -Wl,-z,defs {} -o {} >{} 2>&1", compiler(), source.flags,
                                          with(".c").string(), with(".so").string(), with(".txt").string());
  const bool is_compiled = std::system(command.c_str()) == 0;
  messages_ = fileText(with(".txt"));
  handle_ = is_compiled ? dlopen(with(".so").c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  const std::string reason = handle_ != nullptr ? "" : is_compiled ? dlerror() : messages_;
  if (std::getenv("TOKAMAK_KEEP_DEVICE_CODE") == nullptr) {
    for (const char* suffix : {".c", ".so", ".txt"}) std::filesystem::remove(with(suffix));
  }
  if (handle_ == nullptr) throw std::runtime_error(command + "\n" + reason);
}

CompiledCode::~CompiledCode() { dlclose(handle_); }

LoopEntry CompiledCode::entry(const std::string& name) const {
  void* const address = dlsym(handle_, name.c_str());
  if (address == nullptr) throw std::runtime_error("no symbol " + name);
  return reinterpret_cast<LoopEntry>(address);
}

}  // namespace tokamak::test
