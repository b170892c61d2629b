// Explanation: what becomes of a fusion in a call, and why: segments, cuts, kernels, memory, waits.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compile/argument.h"
#include "compile/compile_options.h"
#include "device/device.h"
#include "device/kernel_maker.h"
#include "device/prepare_options.h"
#include "host/plan/plan.h"
#include "ir/fusion.h"

namespace tokamak {

/// A kernel of a segment, at the sizes of the call.
struct ExplainedKernel {
  std::string name;
  CodeNote code;
  std::vector<KernelNotes::Parameter> parameters;  ///< that the kernel depends on
  std::vector<CodeNote> all_codes;                 ///< for other sizes, too, oldest first
  std::array<int64_t, 3> grid = {1, 1, 1};
  std::array<int64_t, 3> block = {1, 1, 1};
  int64_t shared_bytes = 0;
  int64_t workspace_bytes = 0;
  bool is_interpreted = false;
  CodeFacts facts;
};

/// Why the segment is no kernel of some kind; nothing: it is one.
struct ExplainedKind {
  std::string name;
  std::optional<std::string> reason;
};

struct ExplainedSegment {
  std::string form;              ///< "kernel of 5 ops", "library call linear"
  std::vector<std::string> ops;  ///< a line each
  std::vector<std::string> reads;
  std::vector<std::string> gives;
  std::vector<ExplainedKind> kinds;      ///< in order of priority; none for what is no kernel
  std::vector<ExplainedKernel> kernels;  ///< usually one
  int64_t launches = 0;
  int64_t bytes_read = 0;  ///< of all launches, each operand once
  int64_t bytes_written = 0;
  std::optional<double> arithmetic;  ///< as arithmeticOf()
};

struct ExplainedCut {
  size_t producer = 0;
  size_t consumer = 0;
  std::string reason;
};

struct Explanation {
  std::string name;
  std::vector<std::pair<std::string, int64_t>> sizes;  ///< of named extents
  std::vector<ExplainedSegment> segments;
  std::vector<ExplainedCut> cuts;  ///< between segments of which one reads what the other gives
  PlanSummary plan;
  std::vector<std::string> waits;  ///< that the plan keeps
  std::vector<std::string> notes;  ///< a sentence for each output that is a view, or could have been one
};

/// Of a call with such inputs; of tensors only types, sizes, strides and addresses are looked at. Compiles what such a
/// call needs, and runs nothing; what was compiled for a call on this device before is not compiled again. The fusion
/// stays as it is. Errors: those of Program::outputLayouts().
Explanation explain(const Fusion& fusion, Device& device, const CompileOptions& options,
                    std::span<const Argument> inputs, const PrepareOptions& prepare = {});

}  // namespace tokamak
