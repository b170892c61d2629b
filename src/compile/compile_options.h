// What a user of compile() may choose.
#pragma once

#include <cstdint>

namespace tokamak {

class Communicator;
class IntermediateAllocator;
class OutputAllocator;

/// What becomes of outputs that could be views of an input or of another output (docs/views.md). Kernels only:
/// elsewhere each op computes.
enum class OutputViews : uint8_t {
  Give,  ///< they are views, unless the caller gives memory for them
  Copy,  ///< kernels write them: for callers that give memory for all outputs
};

/// How outputs lie in memory of which nothing is said (docs/layouts.md). Kernels only: elsewhere they are row-major.
enum class OutputLayouts : uint8_t {
  Inferred,  ///< like the inputs that they follow
  RowMajor,
};

struct CompileOptions {
  /// Segments become kernels; else each op runs by itself, and nothing is compiled.
  bool makes_kernels = true;
  /// Ops that depend on one another become one kernel, with exactly the loops that their schedules say; calls raise
  /// Schedule or Unsupported where that cannot be. Else a schedule counts where it covers all of a kernel.
  bool keeps_schedule = false;
  OutputViews output_views = OutputViews::Give;
  OutputLayouts output_layouts = OutputLayouts::Inferred;
  /// Every plan is proved free of races before it runs. Errors: Race.
  bool proves_plans = true;
  /// Streams of each call, for axes that are marked as Stream.
  int64_t streams = 4;
  /// How many calls may be under way at a time, each with streams and memory for intermediates of its own; further
  /// ones start after one of these. At most 4096. Errors: Usage.
  int64_t calls_in_flight = 4;
  /// How many plans are kept, one for each set of sizes, and how many bytes of the host they may take.
  int64_t most_plans = 128;
  int64_t most_plan_bytes = int64_t{64} << 20;
  /// Calls of plans with one stream run on the caller's thread where nothing is waited for (CPU): for small programs.
  bool runs_on_callers_thread = false;
  /// Where outputs come from that the caller does not give; null: the device. Outlives the program and its outputs.
  OutputAllocator* output_allocator = nullptr;
  /// Where memory for intermediates comes from; null: the device. Outlives the program.
  IntermediateAllocator* intermediate_allocator = nullptr;
  /// How many bytes a call may take for intermediates, all kinds of memory together; 0: no limit. A program holds
  /// `calls_in_flight` times that at most. prepare(), or the first run(), at sizes that need more raises OutOfMemory.
  int64_t most_intermediate_bytes = 0;
  /// Of a fusion over devices: the program is what this rank of the job does of it, through this communicator, whose
  /// device is the program's. Outlives the program. Null: the fusion is for one device.
  Communicator* communicator = nullptr;
};

}  // namespace tokamak
