#include "codegen/combine_source.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

namespace tokamak {

namespace {

constexpr int64_t kWarp = 32;
constexpr int64_t kMostThreads = 1024;
constexpr int64_t kFewWarps = 4;
constexpr int64_t kFewBytes = 1024;
constexpr int64_t kMostScratch = 16 * 1024;  // in bytes

class CombineWriter {
 public:
  explicit CombineWriter(const CombineText& text) : text_(text) {}

  CombineLines write() {
    line("{");
    const std::optional<int64_t> x = combinedAlongX();
    const bool fills_warps = threads_.value_or(1) % kWarp == 0;
    if (!text_.contributors.empty())
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
  // The extent of x where that alone is combined and known.
  std::optional<int64_t> combinedAlongX() {
    threads_ = 1;
    for (const auto& dimension : text_.dimensions)
      threads_ = threads_ && dimension.constant ? std::optional(*threads_ * *dimension.constant) : std::nullopt;
    if (text_.dimensions.empty() || !text_.dimensions[0].is_combined || !threads_) return std::nullopt;
    for (size_t i = 1; i < text_.dimensions.size(); ++i) {
      if (text_.dimensions[i].is_combined) return std::nullopt;
    }
    // Without x, dimension 0 is y or z; neighbours along it are neighbours all the same.
    return text_.dimensions[0].constant;
  }

  void line(const std::string& text) {
    if (text.starts_with('}')) --depth_;
    lines_.push_back(std::string(static_cast<size_t>(depth_) * 2, ' ') + text);
    if (text.ends_with('{')) ++depth_;
  }
  void forEachValue(const std::function<void(const std::string& place, const std::string& k)>& body) {
    if (text_.count == 1) return body(text_.place("0"), "0");
    line("#pragma unroll");
    line(fmt::format("for (int v = 0; v < {}; ++v) {{", text_.count));
    body(text_.place("v"), "v");
    line("}");
  }

  void shuffles(int64_t width) {
    line("#pragma unroll");
    line(fmt::format("for (int step = {}; step > 0; step /= 2) {{", width / 2));
    forEachValue([&](const std::string& place, const std::string&) {
      const std::string other = fmt::format("(({})__shfl_xor_sync(0xffffffffu, {}, step))", text_.type, place);
      line(fmt::format("{} = {};", place, text_.combined(place, other)));
    });
    line("}");
  }

  // The threads that do not differ along the combined dimensions, numbered.
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

  void overWarps(int64_t x) {
    std::string rows;
    const std::string row = numberOf(false, rows);
    const int64_t warps = x / kWarp;
    const int64_t all_rows = *threads_ / x;
    useScratch(text_.count * all_rows * warps);
    const std::string& index = text_.dimensions[0].index;
    line(fmt::format("const int row = {};", row));
    const auto place = [&](const std::string& k, const std::string& warp) {
      return fmt::format("scratch[({} * {} + row) * {} + {}]", k, all_rows, warps, warp);
    };
    shuffles(kWarp);
    line(fmt::format("if ({} % {} == 0) {{", index, kWarp));
    forEachValue([&](const std::string& value, const std::string& k) {
      line(fmt::format("{} = {};", place(k, fmt::format("{} / {}", index, kWarp)), value));
    });
    line("}");
    line("__syncthreads();");
    if (std::has_single_bit(static_cast<uint64_t>(warps)) && warps > kFewWarps) {
      // Lane i takes warp i's value: each value is read once, not once per warp and value.
      forEachValue([&](const std::string& value, const std::string& k) {
        line(fmt::format("{} = {};", value, place(k, fmt::format("({} & {})", index, warps - 1))));
      });
      shuffles(warps);
    } else {
      forEachValue([&](const std::string& value, const std::string& k) {
        line(fmt::format("{} = {};", value, place(k, "0")));
        line("#pragma unroll");
        line(fmt::format("for (int w = 1; w < {}; ++w) {{", warps));
        line(fmt::format("{} = {};", value, text_.combined(value, place(k, "w"))));
        line("}");
      });
    }
    finishScratch();
  }

  // Few bytes are the exchange's own; then nobody waits before the next one, unless that is this one again.
  void useScratch(int64_t values) {
    owns_scratch_ = values * text_.bytes <= kFewBytes && text_.may_own_scratch;
    if (owns_scratch_) return line(fmt::format("__shared__ {} scratch[{}];", text_.type, values));
    line(fmt::format("{}* const scratch = ({}*)tk_scratch;", text_.type, text_.type));
    scratch_bytes_ = values * text_.bytes;
  }
  void finishScratch() {
    if (owns_scratch_ ? text_.is_repeated : text_.shares_scratch) line("__syncthreads();");
  }

  void tree() {
    std::string members;
    std::string groups;
    const std::string rank = numberOf(true, members);
    const std::string group = numberOf(false, groups);
    // So many values at a time that they fit.
    const int64_t threads = threads_.value_or(kMostThreads);
    int64_t chunk = std::max<int64_t>(1, std::min(text_.count, kMostScratch / (threads * text_.bytes)));
    while (text_.count % chunk != 0) --chunk;
    useScratch(chunk * threads);
    line(fmt::format("const int ranks = {};", members));
    line(fmt::format("const int members = {};", text_.contributors.empty() ? "ranks" : text_.contributors));
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
      if (chunk == 1) return body(text_.place(is_chunked ? "first" : "0"), "0");
      line("#pragma unroll");
      line(fmt::format("for (int v = 0; v < {}; ++v) {{", chunk));
      body(text_.place(is_chunked ? "first + v" : "v"), "v");
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

  const CombineText& text_;
  int64_t scratch_bytes_ = 0;
  bool owns_scratch_ = false;
  std::optional<int64_t> threads_ = 1;
  std::vector<std::string> lines_;
  int depth_ = 0;
};

}  // namespace

CombineLines combineSource(const CombineText& text) { return CombineWriter(text).write(); }

}  // namespace tokamak
