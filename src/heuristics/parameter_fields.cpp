#include "heuristics/parameter_fields.h"

#include <bit>

#include "base/require.h"
#include "heuristics/outer_reductions.h"

namespace tokamak {

namespace {

constexpr ParameterUse kAll = {.of_elements = true, .of_inner_rows = true, .of_outer_rows = true};
constexpr ParameterUse kElements = {.of_elements = true};
constexpr ParameterUse kElementsAndInner = {.of_elements = true, .of_inner_rows = true};
constexpr ParameterUse kRows = {.of_inner_rows = true, .of_outer_rows = true};
constexpr ParameterUse kInner = {.of_inner_rows = true};
constexpr ParameterUse kOuter = {.of_outer_rows = true};

constexpr int64_t kMostBlocks = 65535;  // along y of a GPU's grid

bool isPowerOfTwo(int64_t number) { return number > 0 && std::has_single_bit(static_cast<uint64_t>(number)); }

bool follows(int64_t number, ParameterRule rule) {
  switch (rule) {
    case ParameterRule::Any: return true;
    case ParameterRule::PowerOfTwo: return isPowerOfTwo(number);
    case ParameterRule::WholeWarps: return number <= kWarp ? isPowerOfTwo(number) : number % kWarp == 0;
  }
  TK_CHECK(false, "no such rule of a parameter");
}

std::string_view describe(ParameterRule rule) {
  switch (rule) {
    case ParameterRule::Any: return "";
    case ParameterRule::PowerOfTwo: return ", powers of two";
    case ParameterRule::WholeWarps: return ", powers of two up to 32 and multiples of 32";
  }
  TK_CHECK(false, "no such rule of a parameter");
}

}  // namespace

std::vector<ParameterField> fieldsOf(CpuScheduleParameters& it) {
  constexpr auto kAny = ParameterRule::Any;
  constexpr int64_t kMany = int64_t{1} << 30;
  return {
      {"block_elements", &it.block_elements, 1, kMany, kAny, kAll,
       "elements that a block computes along the innermost axes"},
      {"tiles_transposes", &it.tiles_transposes, 0, 1, kAny, kElements,
       "whether an output that lies in another order than its inputs is computed in tiles"},
      {"tile_bytes", &it.tile_bytes, 8, 2048, kAny, kElements, "bytes of the output along each side of a tile"},
      {"block_columns", &it.block_columns, 1, int64_t{1} << 16, kAny, kOuter,
       "neighbouring columns that a block computes"},
      {"accumulators", &it.accumulators, 1, 4096, kAny, kInner, "partial results of a reduction, in vectors"},
      {"last_accumulators", &it.last_accumulators, 1, 4096, kAny, kInner,
       "partial results that are combined one after the other, those before pairwise"},
      {"block_terms", &it.block_terms, 1, kMany, kAny, kRows, "elements of a partial sum"},
      {"split_elements", &it.split_elements, 1, kMany, kAny, kRows,
       "elements that a block has at least where several share a reduction"},
      {"max_grid_split", &it.max_grid_split, 1, 1024, kAny, kRows, "blocks that share a reduction at most"},
      {"persistent_bytes", &it.persistent_bytes, 0, int64_t{1} << 20, kAny, kRows,
       "bytes of what a row reads again and a block keeps, at most"},
  };
}

std::vector<ParameterField> fieldsOf(CudaScheduleParameters& it) {
  constexpr auto kAny = ParameterRule::Any;
  constexpr auto kPower = ParameterRule::PowerOfTwo;
  constexpr int64_t kMostThreads = 1024;
  return {
      {"vector", &it.vector, 1, kAccessBytes, kPower, kAll, "elements of a vectorised access"},
      {"threads", &it.threads, 1, kMostThreads, ParameterRule::WholeWarps, kElementsAndInner,
       "threads of a block along a row, or over the elements of an output without rows"},
      {"persistent_batches", &it.persistent_batches, 0, kMostPersistent, kAny, kRows,
       "vectors of a row that a thread keeps in registers; 0: every reduction reads the row again"},
      {"rows", &it.rows_per_block, 1, kMostThreads, kAny, kElementsAndInner, "rows that a block computes side by side"},
      {"unroll", &it.unroll, 1, 16, kAny, kInner,
       "vectors that a thread loads at once from a row that it does not keep"},
      {"outer_grid_split", &it.outer_grid_split, 1, kMostBlocks, kAny, kOuter, "blocks that share a column"},
      {"block_x", &it.block_x, 1, 128, kPower, kOuter, "threads of a block along the columns"},
      {"block_y", &it.block_y, 1, kOuterBlockThreads, kPower, kOuter, "threads of a block that share a column"},
      {"inner_grid_split", &it.inner_grid_split, 1, kMostBlocks, kAny, kInner, "blocks that share a row"},
      {"chunk", &it.chunk, 0, 32, kAny, kInner, "vectors of a chunk of an online softmax; 0: none"},
      {"stages", &it.stages, 0, 8, kAny, kInner,
       "buffers in shared memory for a row's inputs; 0: what is kept is in registers"},
      {"persistent_outer", &it.persistent_outer, 0, 1, kAny, kInner,
       "whether inputs that all rows share are kept in shared memory"},
      {"splits_row_over_grid", &it.splits_row_over_grid, 0, 1, kAny, kInner,
       "whether blocks divide a row, where nothing needs all of it"},
      {"cluster", &it.cluster, 1, 8, kAny, kInner, "blocks that share a row as a cluster"},
      {"persistent_grid", &it.persistent_grid, 0, kMostBlocks, kAny, kInner,
       "blocks, each of which computes several rows; 0: a block for each row"},
      {"together", &it.rows_together, 1, 8, kAny, kInner, "rows that a thread computes in one iteration"},
      {"tiles_transposes", &it.tiles_transposes, 0, 1, kAny, kElements,
       "whether an output that lies in another order than its inputs is computed in tiles"},
  };
}

std::vector<ParameterField> fieldsOf(ScheduleParameters& parameters) {
  return std::visit([](auto& each) { return fieldsOf(each); }, parameters);
}

bool isUsed(const ParameterField& field, const KernelLoops& loops) {
  const bool has_rows = loops.has_inner_rows || loops.has_outer_rows;
  return (field.use.of_elements && !has_rows) || (field.use.of_inner_rows && loops.has_inner_rows) ||
         (field.use.of_outer_rows && loops.has_outer_rows);
}

void requireLegal(std::span<const ParameterField> fields) {
  for (const ParameterField& field : fields) {
    const auto* const* number = std::get_if<int64_t*>(&field.value);
    if (number == nullptr) continue;
    TK_REQUIRE(**number >= field.least && **number <= field.most && follows(**number, field.rule), Schedule,
               "{} is {}; legal are {} to {}{}", field.name, **number, field.least, field.most, describe(field.rule));
  }
}

}  // namespace tokamak
