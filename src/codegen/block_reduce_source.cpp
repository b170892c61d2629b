#include "codegen/block_reduce_source.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

namespace tokamak {

namespace {

constexpr int64_t kWarp = 32;
constexpr int64_t kFewWarps = 4;
constexpr int64_t kFewBytes = 1024;
constexpr int64_t kMostScratch = 16 * 1024;  // bytes

class BlockReduceWriter {
 public:
  explicit BlockReduceWriter(std::span<const BlockReduceValue> texts) : texts_(texts), text_(texts[0]) {
    for (const auto& dimension : text_.dimensions)
      threads_ = threads_ && dimension.constant ? std::optional(*threads_ * *dimension.constant) : std::nullopt;
  }

  bool mayBeWrittenTogether() const {
    const std::optional<int64_t> x = combinedAlongX();
    if (!x || *x <= kWarp || *x % kWarp != 0) return false;
    const int64_t values = *threads_ / kWarp;
    return std::ranges::all_of(texts_,
                               [&](const BlockReduceValue& text) { return ownsScratch(text, values * text.count); });
  }

  BlockReduceLines write() {
    line("{");
    const std::optional<int64_t> x = combinedAlongX();
    const bool fills_warps = threads_.value_or(1) % kWarp == 0;
    if (!text_.active_threads.empty())
      tree();
    else if (x && *x <= kWarp && std::has_single_bit(static_cast<uint64_t>(*x)) && fills_warps)
      shuffles(*x);
    else if (x && *x % kWarp == 0)
      overWarps(*x);
    else
      tree();
    line("}");
    return {std::move(lines_), scratch_bytes_};
  }

 private:
  static bool ownsScratch(const BlockReduceValue& text, int64_t values) {
    return values * text.bytes <= kFewBytes && text.may_have_own_scratch;
  }

  // The extent of x if x alone is combined, and the extent is constant.
  std::optional<int64_t> combinedAlongX() const {
    if (text_.dimensions.empty() || !text_.dimensions[0].is_combined || !threads_) return std::nullopt;
    for (size_t i = 1; i < text_.dimensions.size(); ++i) {
      if (text_.dimensions[i].is_combined) return std::nullopt;
    }
    // (In a block without x, dimension 0 is y or z: its threads are neighbours, too.)
    return text_.dimensions[0].constant;
  }

  void line(const std::string& text) {
    if (text.starts_with('}')) --depth_;
    lines_.push_back(std::string(static_cast<size_t>(depth_) * 2, ' ') + text);
    if (text.ends_with('{')) ++depth_;
  }
  void forEachValue(const BlockReduceValue& text,
                    const std::function<void(const std::string& place, const std::string& k)>& body) {
    if (text.count == 1) return body(text.element("0"), "0");
    line("#pragma unroll");
    line(fmt::format("for (int v = 0; v < {}; ++v) {{", text.count));
    body(text.element("v"), "v");
    line("}");
  }

  void shuffles(int64_t width) {
    line("#pragma unroll");
    line(fmt::format("for (int step = {}; step > 0; step /= 2) {{", width / 2));
    for (const BlockReduceValue& text : texts_) {
      forEachValue(text, [&](const std::string& place, const std::string&) {
        const std::string other = fmt::format("(({})__shfl_xor_sync(0xffffffffu, {}, step))", text.type, place);
        line(fmt::format("{} = {};", place, text.combined(place, other)));
      });
    }
    line("}");
  }

  // The number of a thread along the combined dimensions, or along the others; `extent` becomes the count.
  std::string numberOf(bool of_combined, std::string& extent) const {
    std::string number = "0";
    extent = "1";
    for (const auto& dimension : text_.dimensions) {
      if (dimension.is_combined != of_combined) continue;
      const bool is_first = extent == "1";
      number = is_first ? dimension.index : fmt::format("{} + ({}) * {}", number, extent, dimension.index);
      extent = is_first ? fmt::format("({})", dimension.extent) : fmt::format("{} * ({})", extent, dimension.extent);
    }
    return number;
  }

  // Warps store their results to shared memory, and each warp combines all of them: by lanes and shuffles if there is a
  // power of two of warps (for 18 that was slower).
  // Two buffers, used alternately, would save the second barrier, but take a register that norm backward does not have.
  void overWarps(int64_t x) {
    const int64_t warps = x / kWarp;
    const int64_t all_rows = *threads_ / x;
    const std::string& index = text_.dimensions[0].index;
    std::string rows;
    line(fmt::format("const int row = {};", numberOf(false, rows)));
    useScratch(text_.count * all_rows * warps);
    const auto placeOf = [&](const BlockReduceValue& text, const std::string& k, const std::string& warp) {
      const std::string place = fmt::format("({} * {} + row) * {} + {}", k, all_rows, warps, warp);
      return fmt::format("{}[{}]", scratchOf(text), place);
    };
    shuffles(kWarp);
    line(fmt::format("if ({} % {} == 0) {{", index, kWarp));
    for (const BlockReduceValue& text : texts_) {
      forEachValue(text, [&](const std::string& value, const std::string& k) {
        line(fmt::format("{} = {};", placeOf(text, k, fmt::format("{} / {}", index, kWarp)), value));
      });
    }
    line("}");
    line("__syncthreads();");
    const bool by_lanes = std::has_single_bit(static_cast<uint64_t>(warps)) && warps > kFewWarps;
    for (const BlockReduceValue& text : texts_) {
      forEachValue(text, [&](const std::string& value, const std::string& k) {
        // Lane i loads warp i's value, so that a thread loads one value.
        if (by_lanes)
          return line(fmt::format("{} = {};", value, placeOf(text, k, fmt::format("({} & {})", index, warps - 1))));
        line(fmt::format("{} = {};", value, placeOf(text, k, "0")));
        line("#pragma unroll");
        line(fmt::format("for (int w = 1; w < {}; ++w) {{", warps));
        line(fmt::format("{} = {};", value, text.combined(value, placeOf(text, k, "w"))));
        line("}");
      });
    }
    if (by_lanes) shuffles(warps);
    finishScratch();
  }

  std::string scratchOf(const BlockReduceValue& text) const {
    return texts_.size() == 1 ? "scratch" : fmt::format("scratch_{}", &text - texts_.data());
  }

  // Small scratch memory is not shared with other exchanges: then a barrier is needed only if this one is repeated.
  void useScratch(int64_t values) {
    owns_scratch_ = ownsScratch(text_, values);
    if (!owns_scratch_) {
      line(fmt::format("{}* const scratch = ({}*)tk_scratch;", text_.type, text_.type));
      scratch_bytes_ = values * text_.bytes;
      return;
    }
    for (const BlockReduceValue& text : texts_)
      line(fmt::format("__shared__ {} {}[{}];", text.type, scratchOf(text), values / text_.count * text.count));
  }
  void finishScratch() {
    if (owns_scratch_ ? text_.is_repeated : text_.needs_barrier_before) line("__syncthreads();");
  }

  void tree() {
    std::string members;
    std::string groups;
    const std::string rank = numberOf(true, members);
    const std::string group = numberOf(false, groups);
    // As many values at a time as fit.
    const int64_t threads = threads_.value_or(kMostThreads);
    int64_t chunk = std::max<int64_t>(1, std::min(text_.count, kMostScratch / (threads * text_.bytes)));
    while (text_.count % chunk != 0) --chunk;
    useScratch(chunk * threads);
    line(fmt::format("const int ranks = {};", members));
    line(fmt::format("const int members = {};", text_.active_threads.empty() ? "ranks" : text_.active_threads));
    line(fmt::format("const int groups = {};", groups));
    line(fmt::format("const int rank = {};", rank));
    line(fmt::format("const int group = {};", group));
    const auto place = [&](const std::string& k, const std::string& member) {
      return fmt::format("scratch[({} * ranks + {}) * groups + group]", k, member);
    };
    const bool is_chunked = chunk < text_.count;
    if (is_chunked) line("#pragma unroll");
    if (is_chunked) line(fmt::format("for (int first = 0; first < {}; first += {}) {{", text_.count, chunk));
    const auto forEachOfChunk = [&](const std::function<void(const std::string&, const std::string&)>& body) {
      if (chunk == 1) return body(text_.element(is_chunked ? "first" : "0"), "0");
      line("#pragma unroll");
      line(fmt::format("for (int v = 0; v < {}; ++v) {{", chunk));
      body(text_.element(is_chunked ? "first + v" : "v"), "v");
      line("}");
    };
    forEachOfChunk([&](const std::string& value, const std::string& k) {
      line(fmt::format("{} = {};", place(k, "rank"), value));
    });
    line("__syncthreads();");
    line("int step = 1;");
    line("while (step < members) step *= 2;");
    line("for (step /= 2; step > 0; step /= 2) {");
    line("if (rank < step && rank + step < members) {");
    forEachOfChunk([&](const std::string&, const std::string& k) {
      line(fmt::format("{} = {};", place(k, "rank"), text_.combined(place(k, "rank"), place(k, "(rank + step)"))));
    });
    line("}");
    line("__syncthreads();");
    line("}");
    forEachOfChunk(
        [&](const std::string& value, const std::string& k) { line(fmt::format("{} = {};", value, place(k, "0"))); });
    if (is_chunked) line("__syncthreads();");
    if (!is_chunked) finishScratch();
    if (is_chunked) line("}");
  }

  std::span<const BlockReduceValue> texts_;
  const BlockReduceValue& text_;  // the first of texts_
  int64_t scratch_bytes_ = 0;
  bool owns_scratch_ = false;
  std::optional<int64_t> threads_ = 1;
  std::vector<std::string> lines_;
  int depth_ = 0;
};

}  // namespace

BlockReduceLines blockReduceSource(const BlockReduceValue& text) {
  return BlockReduceWriter(std::span(&text, 1)).write();
}

BlockReduceLines blockReduceSource(const std::vector<BlockReduceValue>& texts) {
  if (BlockReduceWriter(texts).mayBeWrittenTogether()) return BlockReduceWriter(texts).write();
  BlockReduceLines all;
  for (const BlockReduceValue& text : texts) {
    BlockReduceLines each = blockReduceSource(text);
    all.lines.insert(all.lines.end(), each.lines.begin(), each.lines.end());
    all.scratch_bytes = std::max(all.scratch_bytes, each.scratch_bytes);
  }
  return all;
}

}  // namespace tokamak
