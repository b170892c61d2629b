// Device code in C, compiled by the machine's C compiler into a shared object and loaded: what a kernel on the CPU
// sees.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "device_code/device_code.h"

namespace tokamak::test {

/// out[i] = f(in[0][i], ...) over n elements side by side; bool is a byte.
using LoopEntry = void (*)(void* out, const void* x, const void* y, const void* z, const void* w, int64_t n);

/// The source of an exported loop that computes `expression` of x[i], y[i], z[i], w[i].
std::string loopText(const std::string& name, LaneType result, std::span<const LaneType> operands,
                     const std::string& expression);
/// The loop of one function of the table, named loop_<function>_<type>.
std::string functionLoopText(FunctionId id, DataType operand);
std::string functionLoopName(FunctionId id, DataType operand);

/// The flags that kernels are compiled with, for the compiler at hand.
std::string kernelFlags();

/// A program as text, and how the C compiler is to compile it.
struct Source {
  std::string text;
  std::string flags;
};

/// A loaded shared object. An undefined symbol (a call of libm, say) fails the link.
class CompiledCode {
 public:
  /// `helpers` and what they need, then `loops`; compiled with kernelFlags() and `flags`.
  CompiledCode(std::span<const std::string> helpers, const std::string& loops, const std::string& flags = "");
  explicit CompiledCode(const Source& source);
  ~CompiledCode();
  CompiledCode(const CompiledCode&) = delete;
  CompiledCode& operator=(const CompiledCode&) = delete;

  /// False where there is no C compiler; the test is to be skipped then.
  static bool hasCompiler();
  static bool isClang();
  LoopEntry entry(const std::string& name) const;
  /// What the compiler printed.
  const std::string& messages() const { return messages_; }

 private:
  std::string messages_;
  void* handle_ = nullptr;
};

}  // namespace tokamak::test
