#include "report/op_cards.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "ir/fields.h"
#include "ir/ops/math/cast_op.h"
#include "ir/ops/math/pointwise_op.h"
#include "ir/ops/math/reduction_op.h"
#include "ir/text/fusion_printer.h"
#include "ir/text/scalar_text.h"

namespace tokamak {

namespace {

constexpr double kMostWidth = 300;
constexpr double kNameWidth = 420;  // names are what readers look for: only monsters are elided
constexpr size_t kMostLines = 4;
constexpr double kOpSize = 12;
constexpr double kSize = 11;
constexpr std::string_view kGrey = "#4a5763";

constexpr OpColour kElementwise{"elementwise", "#e4effa", "#4a7fb5"};
constexpr OpColour kReduction{"reduction", "#fde8d2", "#c46a1b"};
constexpr OpColour kLibrary{"library call", "#ece4f6", "#7a55a8"};
constexpr OpColour kView{"shape only", "#eef0f2", "#7b8894"};
constexpr OpColour kMoving{"moves or makes elements", "#e3f3e6", "#3f8f52"};

// A scalar's text without the blanks inside of parentheses, and without parentheses around the whole.
std::string withoutPadding(std::string_view text) {
  if (text.starts_with("( ") && text.ends_with(" )")) text = text.substr(2, text.size() - 4);
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_padding = text[i] == ' ' && ((i > 0 && text[i - 1] == '(') || text.substr(i + 1).starts_with(')'));
    if (!is_padding) result += text[i];
  }
  return result;
}

// The arguments of a call, cut at commas outside of brackets and strings.
std::vector<std::string> argumentsOf(std::string_view list) {
  std::vector<std::string> arguments(1);
  int depth = 0;
  bool is_string = false;
  for (const char c : list) {
    if (c == '"') is_string = !is_string;
    if (!is_string) depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    if (c == ',' && depth == 0 && !is_string)
      arguments.emplace_back();
    else if (c != ' ' || !arguments.back().empty())
      arguments.back() += c;
  }
  if (arguments.back().empty()) arguments.pop_back();
  return arguments;
}

// "sum(., axes=[1])": the call with a dot for each tensor, or the name alone where nothing else is said.
std::string callText(const Expr& expr, const FusionNames& names) {
  std::set<std::string> tensors;
  for (const TensorView* tensor : tensorsOf(expr.inputs())) tensors.insert(names.nameOf(*tensor));
  const std::string statement = statementText(expr, names);
  std::string call(callName(expr));
  const size_t begin = statement.find("= " + call + "(");
  if (begin == std::string::npos) return call;
  const std::string_view inside =
      std::string_view(statement).substr(begin + call.size() + 3, statement.size() - begin - call.size() - 4);
  bool says_more = false;
  std::vector<std::string> arguments = argumentsOf(inside);
  for (std::string& argument : arguments) {
    const std::string value = argument.substr(argument.find('=') == std::string::npos ? 0 : argument.find('=') + 1);
    const bool is_list = value.starts_with('[') && value.ends_with(']') && value.size() > 2;
    std::vector<std::string> items = is_list ? argumentsOf(value.substr(1, value.size() - 2)) : std::vector{value};
    const bool is_tensor = std::ranges::all_of(items, [&](const std::string& it) { return tensors.contains(it); });
    says_more = says_more || !is_tensor;
    argument = is_tensor ? "\xC2\xB7" : withoutPadding(argument);
  }
  return says_more ? fmt::format("{}({})", call, joined(arguments)) : call;
}

// A name and what it is; in lines of their own where they are long.
void addTensorLines(std::vector<CardLine>& lines, const std::string& name, const std::string& type) {
  const std::string shown = elidedText(name, kNameWidth, kSize, FontWeight::Bold);
  const double width = textWidth(shown, kSize, FontWeight::Bold) + textWidth(type, kSize);
  if (width <= kMostWidth) {
    lines.push_back({.bold = shown, .plain = type, .size = kSize, .tensor = name});
    return;
  }
  lines.push_back({.bold = shown, .plain = "", .size = kSize, .tensor = name});
  for (const std::string& line : wrappedText(type, kMostWidth, kSize, kMostLines))
    lines.push_back({.bold = "", .plain = line, .size = kSize});
}

}  // namespace

std::string plainText(const Scalar& scalar, const FusionNames& names) {
  return withoutPadding(scalarText(scalar, [&](const Scalar& symbol) { return names.nameOf(symbol); }));
}

std::string shapeText(const TensorView& tensor, const FusionNames& names) {
  std::vector<std::string> extents;
  for (const IterDomain* axis : shapeOf(tensor)) extents.push_back(plainText(*axis->visibleExtent(), names));
  return fmt::format("{}[{}]", dataTypeName(tensor.dtype()), joined(extents));
}

Card tensorCard(const TensorView& tensor, const FusionNames& names, const std::string& name, const std::string& role) {
  Card card;
  const std::string type = shapeText(tensor, names);
  addTensorLines(card.lines, name, type);
  if (!role.empty()) card.lines.push_back({.bold = "", .plain = role, .size = 9.5, .colour = kGrey});
  card.shape = {.fill = "#ffffff", .stroke = "#1d2733", .stroke_width = 1.2, .corner = 11};
  card.kind = "tensor-box";
  card.data = name;
  card.title = fmt::format("{}: {}", name, type);
  return card;
}

Card scalarCard(const Scalar& scalar, const FusionNames& names) {
  const std::string name = names.nameOf(scalar);
  const std::string type(dataTypeName(scalar.dtype()));
  Card card;
  card.lines.push_back({.bold = elidedText(name, kNameWidth, kSize, FontWeight::Bold), .plain = type, .size = kSize});
  card.lines.push_back({.bold = "", .plain = "input", .size = 9.5, .colour = kGrey});
  card.shape = {.fill = "#ffffff", .stroke = "#1d2733", .stroke_width = 1.2, .corner = 11, .dash = "4 2"};
  card.kind = "scalar";
  card.data = name;
  card.title = fmt::format("{}: {}, a scalar", name, type);
  return card;
}

Card opCard(const Expr& expr, const FusionNames& names, const TensorNamer& namer,
            const std::function<bool(const TensorView&)>& names_result) {
  Card card;
  const std::string call = callText(expr, names);
  const std::string head(callName(expr));
  const bool fits = textWidth(call, kOpSize, FontWeight::Bold) <= kMostWidth;
  card.lines.push_back(
      {.bold = fits ? call : elidedText(head, kMostWidth, kOpSize, FontWeight::Bold), .plain = "", .size = kOpSize});
  if (!fits) {
    for (const std::string& line : wrappedText(call.substr(head.size()), kMostWidth, kSize, kMostLines))
      card.lines.push_back({.bold = "", .plain = line, .size = kSize});
  }
  for (const TensorView* result : tensorsOf(expr.outputs())) {
    if (names_result(*result)) addTensorLines(card.lines, namer(*result), shapeText(*result, names));
  }
  const OpColour& colour = colourOf(expr);
  card.shape = {.fill = colour.fill, .stroke = colour.stroke, .corner = 3};
  card.kind = "op";
  card.data = head;
  card.title = statementText(expr, names);
  return card;
}

const OpColour& colourOf(const Expr& expr) {
  if (expr.info().is_library) return kLibrary;
  if (expr.is<ReductionOp>()) return kReduction;
  if (expr.is<PointwiseOp>() || expr.is<CastOp>()) return kElementwise;
  return expr.info().may_be_view ? kView : kMoving;
}

double drawLegend(Svg& svg, const Point& at, const std::vector<const OpColour*>& colours) {
  double x = at.x;
  for (const OpColour* known : {&kElementwise, &kReduction, &kLibrary, &kView, &kMoving}) {
    if (std::ranges::find(colours, known) == colours.end()) continue;
    svg.rectangle({x, at.y, 10, 10}, {.fill = known->fill, .stroke = known->stroke, .corner = 2});
    svg.text({x + 15, at.y + 9}, known->meaning, {.size = 10, .colour = kGrey});
    x += 15 + textWidth(known->meaning, 10) + 18;
  }
  return x - at.x;
}

std::string counted(size_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

Rectangle drawHeading(Svg& svg, const std::string& heading, const std::string& below) {
  constexpr double kLeft = 20;
  const std::string shown = elidedText(heading, 560, 16, FontWeight::Bold);
  svg.text({kLeft, 30}, shown, {.size = 16, .weight = FontWeight::Bold});
  svg.text({kLeft, 48}, below, {.size = 11, .colour = kGrey});
  const double width = std::max(textWidth(shown, 16, FontWeight::Bold), textWidth(below, 11));
  return {0, 0, kLeft + width, 66};
}

}  // namespace tokamak
