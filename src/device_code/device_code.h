// Device code: the C and CUDA C++ functions that a generated kernel may call, as source. A kernel includes exactly
// those it needs. They give the results of the formulas (symbolic/function_table.h) and of conversions between types.
//
// A helper is named like its function without "tk_": exp_f32 is `tk_f32 tk_exp_f32(tk_f32 x)`. How a source is written:
// src/device_code/README.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "symbolic/functions.h"

namespace tokamak {

/// The language that a kernel is printed in: C11 with the builtins of gcc and clang, or CUDA C++ as NVRTC reads it.
enum class Dialect : uint8_t { C, Cuda };

/// What an expression of device code has: one element, or several side by side (a vector type of the C dialect). Lanes
/// of bool are a mask: integer lanes of `mask_bytes` (1, 4 or 8) with all bits set or none. A DataType by itself is one
/// lane.
struct LaneType {
  // NOLINTNEXTLINE(google-explicit-constructor): a type is a type of one lane.
  LaneType(DataType element, int count = 1, int bytes_of_mask = 4)
      : type(element), lanes(count), mask_bytes(bytes_of_mask) {}

  DataType type;
  int lanes;
  int mask_bytes;
};

/// "tk_f32", "tk_i64", "tk_bool", "tk_bf16" (16 bits, unsigned), "tk_f32x16"; lanes of half types are "tk_u16x16",
/// masks "tk_i8x64", "tk_i32x16", "tk_i64x8".
std::string deviceTypeName(LaneType type);

/// The dialect's types and macros, then the helpers and all that they need, each once, what is needed first. The source
/// has no #include. An unknown helper is an Internal error; CUDA has no lanes.
std::string deviceCode(Dialect dialect, std::span<const std::string> helpers);

/// Whether there is such a helper: hasHelper(Dialect::C, "exp_f32x16").
bool hasHelper(Dialect dialect, std::string_view name);

/// Every helper of one lane, sorted by name.
std::vector<std::string> allHelpers(Dialect dialect);

/// Whether kernels can compute the function with `operand` (functionTypes(...)->operand: no half type).
bool hasFunction(FunctionId id, LaneType operand);
/// The call as an expression: "tk_exp_f32(a)", "(a + b)"; each operand occurs at most once. Operands need no
/// parentheses if they are names, calls or in parentheses. Unsupported where hasFunction is false.
std::string functionCall(FunctionId id, LaneType operand, std::span<const std::string> operands);
/// What functionCall's expression needs of deviceCode.
std::vector<std::string> functionHelpers(FunctionId id, LaneType operand);

/// The helper for f(x) + 1 of lanes of f32, where the dialect has one: "one_plus_erf_f32x16". Its error is absolute, at
/// most 2^-22.
std::optional<std::string> onePlusHelper(Dialect dialect, FunctionId id, int lanes);

/// The width of the mask that comparing lanes of this type gives.
int maskBytes(DataType compared);
/// A mask with lanes of another width.
std::string maskCall(LaneType mask, int bytes, std::string_view value);

/// `value` converted, of one lane or of many (a mask has `from.mask_bytes`), and rounded once; float to integer
/// truncates, saturates, and takes NaN to 0.
std::string castCall(DataType to, LaneType from, std::string_view value);
std::vector<std::string> castHelpers(DataType to, LaneType from);

}  // namespace tokamak
