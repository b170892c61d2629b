#include "host/ir/host_equal.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/require.h"
#include "host/ir/host_ir_container.h"
#include "host/ir/text/host_printer.h"
#include "host/ir/text/text_writer.h"
#include "ir/ops/host/end_coalescing.h"
#include "ir/ops/host/for_loop.h"
#include "ir/ops/host/post_on_stream.h"
#include "ir/ops/host/wait.h"

namespace tokamak {

namespace {

std::string_view takeLine(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::string firstTextDifference(std::string_view a, std::string_view b) {
  for (int line = 1; !a.empty() || !b.empty(); ++line) {
    const std::string_view left = takeLine(a);
    const std::string_view right = takeLine(b);
    if (left != right)
      return fmt::format("line {} of the text: '{}' in the first, '{}' in the second", line, left, right);
  }
  return "";
}

// One side of a comparison of programs whose texts are equal.
struct Side {
  explicit Side(const Fusion& program)
      : statements(statementsOf(program)),
        names(program, statements),
        whole(programText(program, names, "")),
        writer(names) {}

  std::string text(const Expr& expr, const Field& field) {
    if (const auto* loop = expr.as<ForLoop>()) {
      // Absent parts of a range have a meaning.
      if (field.name == "start" && loop->start == nullptr) return "0";
      if (field.name == "step" && loop->step == nullptr) return "1";
      if (field.name == "stop" && loop->stop == nullptr && loop->axis != nullptr)
        return writer.scalar(loop->axis->extent());
    }
    const bool is_number = (expr.info().is_communication || expr.is<EndCoalescing>()) && field.name == "number";
    if (!is_number && !expr.is<Wait>()) return writer.value(field.value);
    const auto number = std::get<int64_t>(field.value);
    if (expr.is<EndCoalescing>() && !names.isAwaited(number)) return "none";
    return fmt::to_string(names.communication(number));
  }

  Block statements;
  ProgramNames names;
  std::string whole;  // the text, in the order of which symbols are named
  TextWriter writer;
};

// First of the texts, then of what the text does not show because it follows from other parts: the fields of every
// statement.
std::string firstProgramDifference(const Fusion& a, const Fusion& b);

std::string fieldDifference(Side& left, const Expr& a, Side& right, const Expr& b) {
  if (a.kind() != b.kind()) return fmt::format("{} in the first, {} in the second", a.name(), b.name());
  const Fields fields_a = fieldsOf(a);
  const Fields fields_b = fieldsOf(b);
  for (size_t i = 0; i < fields_a.size(); ++i) {
    if (std::holds_alternative<Block>(fields_a[i].value)) continue;
    if (const auto* segment = std::get_if<std::shared_ptr<const HostSegment>>(&fields_a[i].value)) {
      const auto& other = std::get<std::shared_ptr<const HostSegment>>(fields_b[i].value);
      if (*segment == nullptr || (*segment)->fusion == nullptr) continue;
      std::string difference = firstProgramDifference(*(*segment)->fusion, *other->fusion);
      if (!difference.empty()) return difference;
      continue;
    }
    const std::string x = left.text(a, fields_a[i]);
    const std::string y = right.text(b, fields_b[i]);
    if (x != y) return fmt::format("{}: '{}' is {} in the first, {} in the second", a.name(), fields_a[i].name, x, y);
  }
  return "";
}

std::string firstProgramDifference(const Fusion& a, const Fusion& b) {
  Side left(a);
  Side right(b);
  if (left.whole != right.whole) return firstTextDifference(left.whole, right.whole);
  std::vector<const Expr*> in_a;
  std::vector<const Expr*> in_b;
  forEachStatement(left.statements, [&](const Expr& expr) { in_a.push_back(&expr); });
  forEachStatement(right.statements, [&](const Expr& expr) { in_b.push_back(&expr); });
  TK_CHECK(in_a.size() == in_b.size(), "programs of one text have {} and {} statements", in_a.size(), in_b.size());
  for (size_t i = 0; i < in_a.size(); ++i) {
    std::string difference = fieldDifference(left, *in_a[i], right, *in_b[i]);
    if (!difference.empty()) return fmt::format("statement {}: {}", i, difference);
  }
  return "";
}

}  // namespace

std::string firstDifference(const HostIrContainer& a, const HostIrContainer& b) { return firstProgramDifference(a, b); }

}  // namespace tokamak
