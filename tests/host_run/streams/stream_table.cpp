#include "host_run/streams/stream_table.h"

#include <algorithm>
#include <optional>
#include <regex>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "host_run/program_text.h"
#include "host_run/streams/stream_forms.h"
#include "ir/ops/host/for_loop.h"

namespace tokamak {

namespace {

const std::map<char, int64_t> kTableSizes = {{'a', 2}, {'b', 3}, {'c', 4}, {'d', 2}, {'k', 5}, {'m', 4}, {'n', 3}};

constexpr const char* kHead = R"(# What a Stream mark on an axis gives

`scripts/stream_table` writes this page; the test `StreamTable.IsTheCommittedOne` compares it. Each row marks one axis of an op's result, or two
merged axes (outer x inner), and lowers the program. The letters are extents. **yes** is a stream loop; *whole*: the op is computed whole, as its iterations
would read elements that lie apart; a number is a refusal, whose reason stands at the end.
*index*: the axis itself. *split*: the outer part of a split by a factor, or of an outer split. *propagated*: index with `propagate`, so that the ops before are
streamed too. The inner part of a split and parts of a merged axis are refused for every op: they are no view of the buffer. Reduced axes, and merges with them, are refused
for every op: their iterations would all write the same elements. What is streamed is run and compared by the test `StreamForms`.
A composite (attention, softmax) without `propagate` streams its last op only.

| op | axis of the result | index or merged | split | propagated |
|---|---|---|---|---|
)";

class Table {
 public:
  std::string write() {
    std::string text = kHead;
    for (const OpForm& form : opForms()) text += rowsOf(form);
    text += "\n## Reasons\n\n";
    for (size_t i = 0; i < reasons_.size(); ++i) text += fmt::format("{}. {}\n", i + 1, reasons_[i]);
    return text;
  }

 private:
  std::string rowsOf(const OpForm& form) {
    using Form = StreamMark::Form;
    const auto plain = fusionOf(textOf(form, kTableSizes, Extents::Symbols, ""));
    const TensorView& out = *plain->outputs()[0];
    const int64_t rank = out.axisCount();
    std::string rows;
    const auto addRow = [&](const std::string& axis, const std::vector<std::string>& cells) {
      rows += fmt::format("| {} | {} | {} |\n", form.name, axis, joined(cells, " | "));
    };
    for (int64_t axis = 0; axis < rank; ++axis) {
      if (isReduced(out, axis)) continue;
      StreamMark mark{.form = Form::Index, .axis = axis};
      StreamMark split{.form = Form::Split, .axis = axis};
      StreamMark outer{.form = Form::OuterSplit, .axis = axis};
      StreamMark propagated{.form = Form::Index, .axis = axis, .propagates = true};
      std::string in_parts = cell(form, split, rank);
      const std::string in_outer_parts = cell(form, outer, rank);
      if (in_parts != in_outer_parts) in_parts.append(", outer ").append(in_outer_parts);
      addRow(nameOf(out, axis), {cell(form, mark, rank), in_parts, cell(form, propagated, rank)});
    }
    for (int64_t axis = 0; axis < rank; ++axis) {
      for (int64_t inner = 0; inner < rank; ++inner) {
        if (inner == axis || isReduced(out, axis) || isReduced(out, inner)) continue;
        StreamMark mark{.form = Form::Merge, .axis = axis, .inner = inner};
        StreamMark propagated = mark;
        propagated.propagates = true;
        addRow(nameOf(out, axis) + " x " + nameOf(out, inner),
               {cell(form, mark, rank), "", cell(form, propagated, rank)});
      }
    }
    return rows;
  }

  static bool isReduced(const TensorView& out, int64_t axis) {
    return out.logical()[static_cast<size_t>(axis)]->isReduction();
  }

  static std::string nameOf(const TensorView& out, int64_t axis) {
    return fmt::format("{}: {}", axis, toString(*out.logical()[static_cast<size_t>(axis)]->visibleExtent()));
  }

  std::string cell(const OpForm& form, const StreamMark& mark, int64_t rank) {
    try {
      const auto fusion = fusionOf(textOf(form, kTableSizes, Extents::Symbols, scheduleOf(mark, rank)));
      return hasLoop(*lowerToHostProgram(*fusion, {.grouping = Grouping::Single})) ? "yes" : "whole";
    } catch (const Error& error) {
      return isRefusal(error) ? std::to_string(reason(error.message())) : "INTERNAL";
    }
  }

  static bool hasLoop(const HostIrContainer& program) {
    return std::ranges::any_of(program.topLevel().exprs, [](const Expr* expr) { return expr->is<ForLoop>(); });
  }

  // Without the names of the one program.
  size_t reason(std::string message) {
    message = std::regex_replace(message, std::regex("^Stream on axis [^:]*: "), "");
    message =
        std::regex_replace(message, std::regex("axis [0-9]+ \\([^)]*(\\([^)]*\\))*[^)]*\\)+ of T[0-9]+"), "an axis");
    message = std::regex_replace(message, std::regex("T\\??[0-9]+(: [a-z0-9]+\\[[^\\]]*\\])?"), "an operand");
    const auto found = std::ranges::find(reasons_, message);
    if (found == reasons_.end()) reasons_.push_back(message);
    return static_cast<size_t>(std::ranges::find(reasons_, message) - reasons_.begin()) + 1;
  }

  std::vector<std::string> reasons_;
};

}  // namespace

bool isRefusal(const Error& error) {
  if (error.code() == ErrorCode::Schedule) return true;
  const bool names_place =
      error.message().starts_with("Stream on axis ") || error.message().starts_with("Stream over a segment: ");
  return error.code() == ErrorCode::HostProgram && names_place;
}

std::string streamTable() { return Table().write(); }

}  // namespace tokamak
