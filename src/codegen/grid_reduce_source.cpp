#include "codegen/grid_reduce_source.h"

#include <algorithm>

#include <fmt/format.h>

namespace tokamak {

namespace {

// The linear index over some dimensions, and their number of elements.
struct Numbering {
  std::string number = "0";
  std::string count = "1";
};

template <class Wanted>
Numbering numberingOf(const std::vector<BlockReduceValue::Dimension>& dimensions, const Wanted& isWanted) {
  Numbering numbering;
  for (size_t i = 0; i < dimensions.size(); ++i) {
    if (!isWanted(i)) continue;
    const bool is_first = numbering.count == "1";
    numbering.number = is_first ? fmt::format("(tk_i64){}", dimensions[i].index)
                                : fmt::format("{} + {} * {}", numbering.number, numbering.count, dimensions[i].index);
    numbering.count = is_first ? fmt::format("(tk_i64)({})", dimensions[i].extent)
                               : fmt::format("{} * ({})", numbering.count, dimensions[i].extent);
  }
  return numbering;
}

// Whether a thread is the first of those with equal values; empty where all values differ.
std::string isFirst(const std::vector<BlockReduceValue::Dimension>& threads, const std::vector<bool>& is_spread) {
  std::string text;
  for (size_t i = 0; i < threads.size(); ++i) {
    if (!is_spread[i]) text += fmt::format("{}{} == 0", text.empty() ? "" : " && ", threads[i].index);
  }
  return text;
}

class GridReduceWriter {
 public:
  GridReduceWriter(const GridReduceForm& text, Dialect dialect) : text_(text), dialect_(dialect) {}

  BlockReduceLines write() {
    const Numbering member = numberingOf(text_.blocks, [&](size_t i) { return text_.blocks[i].is_combined; });
    const Numbering group = numberingOf(text_.blocks, [&](size_t i) { return !text_.blocks[i].is_combined; });
    line(fmt::format("const tk_i64 grid_member = {};", member.number));
    line(fmt::format("const tk_i64 grid_members = {};", member.count));
    line(fmt::format("const tk_i64 grid_group = {};", group.number));
    line(fmt::format("const tk_i64 grid_groups = {};", group.count));
    line("tk_u32* const grid_counter = (tk_u32*)tk_workspace + grid_group;");
    line(fmt::format("unsigned char* grid_values = {};", kFirstValue));
    for (const GridReduceForm::Value& value : text_.values) storeValues(value);
    continueInLastBlock();
    line(fmt::format("grid_values = {};", kFirstValue));
    for (const GridReduceForm::Value& value : text_.values) combineBlocks(value);
    return {std::move(lines_), scratch_bytes_};
  }

 private:
  static constexpr const char* kFirstValue = "tk_workspace + (grid_groups * 4 + 15) / 16 * 16";

  void line(const std::string& text) { lines_.push_back(text); }

  void forEachElement(const GridReduceForm::Value& value, const auto& body) {
    if (value.count == 1) return body("0");
    if (dialect_ == Dialect::Cuda) line("  #pragma unroll");
    line(fmt::format("  for (int v = 0; v < {}; ++v) {{", value.count));
    body("v");
    line("  }");
  }

  Numbering threadsOf(const GridReduceForm::Value& value, bool is_spread) const {
    return numberingOf(text_.threads, [&](size_t i) { return value.is_spread[i] == is_spread; });
  }

  void placeValues(const GridReduceForm::Value& value) {
    line(fmt::format("  {0}* const values = ({0}*)grid_values + grid_group * grid_members * {1} * {2};", value.type,
                     value.count, threadsOf(value, true).count));
  }
  void nextValues(const GridReduceForm::Value& value) {
    line(fmt::format("grid_values += (grid_groups * grid_members * {} * {} * {} + 15) / 16 * 16;", value.count,
                     threadsOf(value, true).count, value.bytes));
  }
  std::string element(const GridReduceForm::Value& value, const std::string& block, const std::string& k) const {
    const Numbering thread = threadsOf(value, true);
    return fmt::format("values[(({}) * {} + {}) * {} + {}]", block, value.count, k, thread.count, thread.number);
  }

  void storeValues(const GridReduceForm::Value& value) {
    const std::string is_first = isFirst(text_.threads, value.is_spread);
    line(is_first.empty() ? "{" : fmt::format("if ({}) {{", is_first));
    placeValues(value);
    forEachElement(value, [&](const std::string& k) {
      line(fmt::format("    {} = {};", element(value, "grid_member", k), value.element(k)));
    });
    line("}");
    nextValues(value);
  }

  void continueInLastBlock() {
    if (dialect_ == Dialect::C)
      return line("if (__atomic_add_fetch(grid_counter, 1u, __ATOMIC_ACQ_REL) != grid_members) continue;");
    const std::string is_first = isFirst(text_.threads, std::vector<bool>(text_.threads.size(), false));
    line("__shared__ bool grid_is_last;");
    line("__threadfence();");
    line("__syncthreads();");
    line(fmt::format("if ({}) {{", is_first.empty() ? "1" : is_first));
    line("  grid_is_last = atomicAdd(grid_counter, 1u) + 1 == grid_members;");
    line("  if (grid_is_last) *grid_counter = 0;");
    line("}");
    line("__syncthreads();");
    line("if (!grid_is_last) return;");
    line("__threadfence();");
  }

  // Combines blocks pairwise, which is more exact than one after the other.
  void combineBlocksPairwise(const GridReduceForm::Value& value) {
    line("{");
    placeValues(value);
    line("  for (tk_i64 apart = 1; apart < grid_members; apart *= 2) {");
    line("  for (tk_i64 member = 0; member + apart < grid_members; member += 2 * apart) {");
    forEachElement(value, [&](const std::string& k) {
      const std::string sum = element(value, "member", k);
      line(fmt::format("    {} = {};", sum, value.combined(sum, element(value, "member + apart", k))));
    });
    line("  }");
    line("  }");
    forEachElement(value, [&](const std::string& k) {
      line(fmt::format("    {} = {};", value.element(k), element(value, "0", k)));
    });
    line("}");
    nextValues(value);
  }

  // Each of `sharers` threads with equal values combines every sharers-th block.
  void combineBlocks(const GridReduceForm::Value& value) {
    if (dialect_ == Dialect::C) return combineBlocksPairwise(value);
    const Numbering rank = threadsOf(value, false);
    const bool is_shared = rank.count != "1";
    line("{");
    placeValues(value);
    // Bypasses the L1 cache, which other blocks do not write to. (Bools have no such load.)
    const auto loaded = [&](const std::string& block, const std::string& k) {
      const std::string place = element(value, block, k);
      return value.bytes == 1 ? fmt::format("(({})__ldcg((const unsigned char*)&{}))", value.type, place)
                              : fmt::format("(({})__ldcg(&{}))", value.type, place);
    };
    if (is_shared) {
      line(fmt::format("  const tk_i64 sharer = {};", rank.number));
      line(fmt::format("  const tk_i64 sharers = {0} < grid_members ? {0} : grid_members;", rank.count));
      line("  const tk_i64 first_block = sharer < sharers ? sharer : 0;");
    }
    // All elements of a block, then those of the next, so that loads overlap.
    forEachElement(value, [&](const std::string& k) {
      line(fmt::format("    {} = {};", value.element(k), loaded(is_shared ? "first_block" : "0", k)));
    });
    line("  #pragma unroll 8");
    line(is_shared ? "  for (tk_i64 block = first_block + sharers; block < grid_members; block += sharers) {"
                   : "  for (tk_i64 block = 1; block < grid_members; ++block) {");
    forEachElement(value, [&](const std::string& k) {
      line(fmt::format("    {} = {};", value.element(k), value.combined(value.element(k), loaded("block", k))));
    });
    line("  }");
    if (is_shared) combineSharers(value);
    line("}");
    nextValues(value);
  }

  void combineSharers(const GridReduceForm::Value& value) {
    BlockReduceValue sharers;
    sharers.needs_barrier_before = true;
    sharers.active_threads = "(int)sharers";
    sharers.type = value.type;
    sharers.bytes = value.bytes;
    sharers.count = value.count;
    sharers.dimensions = text_.threads;
    for (size_t i = 0; i < sharers.dimensions.size(); ++i) sharers.dimensions[i].is_combined = !value.is_spread[i];
    sharers.element = value.element;
    sharers.combined = value.combined;
    BlockReduceLines combined = blockReduceSource(sharers);
    for (std::string& each : combined.lines) line("  " + each);
    scratch_bytes_ = std::max(scratch_bytes_, combined.scratch_bytes);
  }

  const GridReduceForm& text_;
  Dialect dialect_;
  int64_t scratch_bytes_ = 0;
  std::vector<std::string> lines_;
};

}  // namespace

BlockReduceLines gridReduceSource(const GridReduceForm& text, Dialect dialect) {
  return GridReduceWriter(text, dialect).write();
}

}  // namespace tokamak
