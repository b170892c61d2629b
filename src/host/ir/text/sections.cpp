#include "host/ir/text/sections.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "host/ir/extent_demands.h"
#include "host/ir/text/program_names.h"
#include "ir/ops/host/allocate.h"

namespace tokamak {

namespace {

using Contiguity = std::vector<std::optional<bool>>;

Contiguity denseContiguity(const TensorDomain& domain) {
  Contiguity dense;
  for (const IterDomain* axis : domain.allocation.empty() ? domain.logical : domain.allocation) {
    dense.push_back(axis->isReduction() || axis->isBroadcast() ? std::nullopt : std::optional(true));
  }
  return dense;
}

std::string contiguityText(const Contiguity& contiguity) {
  const auto word = [](std::optional<bool> entry) -> std::string {
    return !entry ? "none" : *entry ? "true" : "false";
  };
  return fmt::format("[{}]", joined(textsOf(contiguity, word)));
}

std::string stepText(TextWriter& writer, const DomainExpr& step) {
  if (step.kind == DomainExprKind::Merge) {
    return fmt::format("merge {}, {} -> {}", writer.axis(step.in[0]), writer.axis(step.in[1]),
                       writer.axis(step.out[0]));
  }
  if (step.kind == DomainExprKind::Swizzle) {
    return fmt::format("swizzle {} {}, {} -> {}, {}", swizzleTypeName(step.swizzle), writer.axis(step.in[0]),
                       writer.axis(step.in[1]), writer.axis(step.out[0]), writer.axis(step.out[1]));
  }
  return fmt::format("{} {} by {} -> {}, {}", step.is_inner_factor ? "split" : "outer split", writer.axis(step.in[0]),
                     writer.scalar(step.factor), writer.axis(step.out[0]), writer.axis(step.out[1]));
}

std::vector<std::string> domainLines(TextWriter& writer, const TensorView& tensor, bool is_allocated) {
  const TensorDomain& domain = tensor.domain();
  std::vector<std::string> lines;
  if (!domain.root.empty()) lines.push_back("root " + writer.axes(domain.root));
  for (const DomainExpr* step : domainSteps(domain)) lines.push_back(stepText(writer, *step));
  if (domain.logical != domain.loop) lines.push_back("logical " + writer.axes(domain.logical));
  if (!domain.allocation.empty()) lines.push_back("allocation " + writer.axes(domain.allocation));
  if (domain.contiguity != denseContiguity(domain)) lines.push_back("contiguity " + contiguityText(domain.contiguity));
  if (domain.stride_order) lines.push_back(fmt::format("stride_order [{}]", joined(*domain.stride_order)));
  if (domain.stride_order_hint) {
    lines.push_back(fmt::format("stride_order_hint [{}]", joined(*domain.stride_order_hint)));
  }
  const bool tells_memory = tensor.memoryKind() != MemoryKind::Device && !is_allocated;
  if (tells_memory) lines.push_back(fmt::format("memory {}", memoryKindName(tensor.memoryKind())));
  return lines;
}

std::string section(std::string_view name, const std::vector<std::string>& lines, const std::string& margin) {
  if (lines.empty()) return "";
  std::string text = fmt::format("{}{}:{{\n", margin, name);
  for (const std::string& line : lines) text += fmt::format("{}  {}\n", margin, line);
  return text + margin + "}\n";
}

std::vector<std::string> byNumber(const std::map<int64_t, std::string>& lines) {
  std::vector<std::string> list;
  for (const auto& [number, line] : lines) list.push_back(line);
  return list;
}

std::vector<std::string> pairLines(TextWriter& writer, const std::map<TensorView*, TensorView*, ById>& pairs) {
  std::map<int64_t, std::string> lines;
  for (const auto& [left, right] : pairs)
    lines[writer.names().tensor(*left)] = fmt::format("{} -> {}", writer.tensor(*left), writer.tensor(*right));
  return byNumber(lines);
}

void readPairs(TextReader& reader, const std::function<void(TensorView*, TensorView*)>& take) {
  TokenStream& tokens = reader.tokens();
  while (!tokens.accept("}")) {
    const Token& at = tokens.peek();
    TensorView* left = reader.tensor();
    tokens.expect("->");
    TensorView* right = reader.tensor();
    tokens.placed(at, [&] { take(left, right); });
  }
}

template <class Element>
auto bracketed(TextReader& reader, Element&& element) {
  std::vector<std::decay_t<decltype(element())>> list;
  reader.tokens().expect("[");
  if (reader.tokens().accept("]")) return list;
  do list.push_back(element());
  while (reader.tokens().accept(","));
  reader.expectClosing("]");
  return list;
}

std::optional<bool> readDensity(TextReader& reader) {
  if (reader.tokens().accept("none")) return std::nullopt;
  if (!reader.tokens().at("true") && !reader.tokens().at("false"))
    reader.tokens().failExpected("'true', 'false' or 'none'");
  return reader.flag();
}

// Axes that a step makes are named by it for the first time, so that no axis comes from itself.
IterDomain* readResult(TextReader& reader, size_t known_before) {
  const Token& at = reader.tokens().peek();
  IterDomain* axis = reader.axis();
  const bool is_open = !reader.isKnownAxis(axis, known_before) || axis->definition() != nullptr;
  if (!is_open) reader.tokens().fail(at, "this axis was named before; a step makes axes of its own");
  return axis;
}

bool isSameStep(const DomainExpr& a, const DomainExpr& b) {
  return a.kind == b.kind && std::ranges::equal(a.in, b.in) && std::ranges::equal(a.out, b.out) && isSameForm(a, b);
}

void recordStep(TextReader& reader, const DomainExpr& step, const Token& at) {
  if (step.in[0] == step.in[1]) reader.tokens().fail(at, "an axis cannot be merged with itself");
  if (step.out[0] == step.out[1]) reader.tokens().fail(at, "a split makes two different axes");
  bool is_recorded = true;
  for (const IterDomain* out : step.out) {
    if (out == nullptr) continue;
    const DomainExpr* have = out->definition();
    if (have != nullptr && !isSameStep(*have, step))
      reader.tokens().fail(at, "another step made one of these axes before");
    is_recorded = is_recorded && have != nullptr;
  }
  if (!is_recorded) reader.program().domainExpr(step);
}

void readStep(TextReader& reader) {
  TokenStream& tokens = reader.tokens();
  const Token& at = tokens.peek();
  DomainExpr step;
  step.is_inner_factor = !tokens.accept("outer");
  const bool is_split = !step.is_inner_factor || tokens.at("split");
  const bool is_swizzle = !is_split && tokens.accept("swizzle");
  if (is_swizzle) {
    const auto type = swizzleTypeFromName(tokens.peek().text);
    if (!type) tokens.failExpected("xor or cyclic_shift");
    tokens.next();
    step.kind = DomainExprKind::Swizzle;
    step.swizzle = *type;
  } else {
    step.kind = is_split ? DomainExprKind::Split : DomainExprKind::Merge;
    tokens.expect(is_split ? "split" : "merge");
  }
  step.in[0] = reader.axis();
  if (is_split) {
    if (!tokens.at("by")) tokens.failExpected("'by' and the factor");
    tokens.next();
    step.factor = reader.scalar("the factor of the split");
  } else {
    tokens.expect(",");
    step.in[1] = reader.axis();
  }
  tokens.expect("->");
  const size_t known_before = reader.axisCount();
  step.out[0] = readResult(reader, known_before);
  if (is_split || is_swizzle) {
    tokens.expect(",");
    step.out[1] = readResult(reader, known_before);
  }
  recordStep(reader, step, at);
}

MemoryKind readMemory(TextReader& reader) {
  const auto kind = memoryKindFromName(reader.tokens().peek().text);
  if (!kind) reader.tokens().failExpected("device, pinned or host");
  reader.tokens().next();
  return *kind;
}

void readItem(TextReader& reader, DomainEntry& entry, std::set<std::string_view>& seen) {
  TokenStream& tokens = reader.tokens();
  const Token& word = tokens.peek();
  if (word.is("split") || word.is("outer") || word.is("merge") || word.is("swizzle")) return readStep(reader);
  const auto integers = [&] { return bracketed(reader, [&] { return tokens.expectInteger("an integer"); }); };
  if (!seen.insert(word.text).second) tokens.fail(word, fmt::format("{} is given twice", describeToken(word)));
  if (tokens.accept("root"))
    entry.domain.root = reader.axes();
  else if (tokens.accept("logical"))
    entry.logical = reader.axes();
  else if (tokens.accept("allocation"))
    entry.domain.allocation = reader.axes();
  else if (tokens.accept("contiguity"))
    entry.contiguity = bracketed(reader, [&] { return readDensity(reader); });
  else if (tokens.accept("stride_order"))
    entry.domain.stride_order = integers();
  else if (tokens.accept("stride_order_hint"))
    entry.domain.stride_order_hint = integers();
  else if (tokens.accept("memory"))
    entry.memory = readMemory(reader);
  else
    tokens.failExpected(
        "root, split, outer split, merge, swizzle, logical, allocation, contiguity, stride_order, stride_order_hint, "
        "memory or "
        "'}'");
}

}  // namespace

std::string domainsText(TextWriter& writer, const Block& statements, const std::string& margin) {
  std::set<const TensorView*> allocated;
  forEachStatement(statements, [&](const Expr& expr) {
    if (const auto* op = expr.as<Allocate>()) allocated.insert(op->buffer);
  });
  std::vector<std::string> lines;
  for (const TensorView* tensor : writer.names().tensors()) {
    const std::vector<std::string> items = domainLines(writer, *tensor, allocated.contains(tensor));
    if (items.empty()) continue;
    lines.push_back(fmt::format("T{}:{{", writer.names().tensor(*tensor)));
    for (const std::string& item : items) lines.push_back("  " + item);
    lines.emplace_back("}");
  }
  return section("Domains", lines, margin);
}

void readDomains(TextReader& reader) {
  TokenStream& tokens = reader.tokens();
  while (!tokens.accept("}")) {
    const Token& at = tokens.peek();
    if (!startsTensor(at)) tokens.failExpected("a tensor such as T0, or '}'");
    tokens.next();
    const auto number = numberAfter("T", at);
    if (!number) tokens.fail(at, fmt::format("'{}': expected T and a number up to {}", at.text, kLargestNumber));
    if (reader.domains().contains(*number)) tokens.fail(at, fmt::format("T{} has an entry already", *number));
    DomainEntry& entry = reader.domains()[*number];
    entry.offset = at.offset;
    tokens.expect(":");
    tokens.expect("{");
    std::set<std::string_view> seen;
    while (!tokens.accept("}")) readItem(reader, entry, seen);
  }
}

std::string aliasesText(TextWriter& writer, const HostIrContainer& program, const std::string& margin) {
  return section("Aliases", pairLines(writer, program.aliases()), margin);
}

void readAliases(TextReader& reader) {
  readPairs(reader, [&](TensorView* alias, TensorView* original) { reader.host()->markAlias(original, alias); });
}

std::string viewsText(TextWriter& writer, const HostIrContainer& program, const std::string& margin) {
  return section("Views", pairLines(writer, program.views()), margin);
}

void readViews(TextReader& reader) {
  readPairs(reader, [&](TensorView* view, TensorView* source) { reader.host()->markView(source, view); });
}

std::string demandsText(TextWriter& writer, const HostIrContainer& program, const std::string& margin) {
  std::vector<std::string> lines;
  for (const ExtentDemand& demand : program.demands()) {
    lines.push_back(fmt::format("{}: {} == {}", demand.op, writer.scalar(demand.first), writer.scalar(demand.second)));
    if (demand.unless_zero != nullptr) lines.back() += fmt::format(" or {} == 0", writer.scalar(demand.unless_zero));
  }
  return section("Demands", lines, margin);
}

void readDemands(TextReader& reader) {
  TokenStream& tokens = reader.tokens();
  while (!tokens.accept("}")) {
    const Token& op = tokens.peek();
    if (op.kind != TokenKind::Identifier) tokens.failExpected("the name of an op, or '}'");
    tokens.next();
    tokens.expect(":");
    ExtentDemand demand{.op = std::string(op.text)};
    demand.first = reader.scalar("an extent");
    tokens.expect("==");
    demand.second = reader.scalar("an extent");
    if (tokens.accept("or")) {
      demand.unless_zero = reader.scalar("a number of elements");
      tokens.expect("==");
      if (tokens.expectInteger("0") != 0) tokens.fail(op, "what makes a demand void is a comparison with 0");
    }
    reader.host()->addDemand(std::move(demand));
  }
}

std::string outputAliasesText(TextWriter& writer, const Fusion& program, const std::string& margin) {
  std::map<int64_t, std::string> lines;
  for (const auto& [output, alias] : program.outputAliases()) {
    lines[writer.names().tensor(*output)] =
        fmt::format("{} -> {}{}", writer.tensor(*output), writer.val(alias.target), alias.is_hidden ? " hidden" : "");
  }
  return section("OutputAliases", byNumber(lines), margin);
}

void readOutputAliases(TextReader& reader) {
  TokenStream& tokens = reader.tokens();
  while (!tokens.accept("}")) {
    const Token& at = tokens.peek();
    TensorView* output = reader.tensor();
    if (!reader.program().isOutput(output))
      tokens.fail(at, fmt::format("{} is no output of the program", nameOf(*output)));
    tokens.expect("->");
    TensorView* target = reader.tensor();
    const bool is_hidden = tokens.accept("hidden");
    tokens.placed(at, [&] { reader.program().aliasOutput(output, target, is_hidden); });
  }
}

std::string scalarsText(const TextWriter& writer, const std::string& margin) {
  std::vector<std::string> lines;
  for (const Scalar* symbol : writer.names().symbols()) {
    const std::string name = writer.names().symbol(*symbol);
    if (symbol->dtype() != symbolTypeFromName(name))
      lines.push_back(fmt::format("{}: {}", name, dumpName(symbol->dtype())));
  }
  return section("Scalars", lines, margin);
}

void readScalarTypes(TextReader& reader) {
  TokenStream& tokens = reader.tokens();
  std::set<std::string_view> seen;
  while (!tokens.accept("}")) {
    const Token& name = tokens.peek();
    if (name.kind != TokenKind::Identifier || !isProgramSymbolName(name.text))
      tokens.failExpected("the name of a scalar, or '}'");
    if (!seen.insert(name.text).second) tokens.fail(name, fmt::format("{} has a type already", describeToken(name)));
    tokens.next();
    tokens.expect(":");
    reader.setSymbolType(name.text, reader.dataType());
  }
}

}  // namespace tokamak
