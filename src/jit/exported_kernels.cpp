#include "jit/exported_kernels.h"

#include <bit>

#include <fmt/format.h>

#include "base/text.h"
#include "ir/text/lexer.h"
#include "toolchain/sha256.h"

namespace tokamak {

namespace {

std::string symbolText(const ExtentChoice& extent, const std::optional<SymbolRange>& range) {
  std::string text = extent.form == ExtentChoice::Form::Any        ? "any"
                     : extent.form == ExtentChoice::Form::Constant ? fmt::format("= {}", extent.value)
                                                                   : fmt::format("* {}", extent.value);
  if (range) text += fmt::format(" in {}..{}", range->least, range->most);
  return text;
}

std::string layoutText(const LayoutChoice& layout) {
  const auto flags = [](std::string_view word, const std::vector<bool>& values) {
    std::string text;
    if (!values.empty()) text += fmt::format(" {}", word);
    for (const bool value : values) text += value ? " 1" : " 0";
    return text;
  };
  std::string text = "  T" + flags("dense", layout.is_dense);
  if (!layout.order.empty()) text += fmt::format(" order {}", joined(layout.order, " "));
  return text + flags("stored", layout.is_stored) + "\n";
}

std::string launchText(const ExportedLaunch& launch) {
  std::string text =
      fmt::format("launch \"{}\" code {} align {} {{\n", launch.program, launch.code, launch.shape.alignment);
  std::vector<std::string> symbols;
  for (size_t i = 0; i < launch.shape.extents.size(); ++i)
    symbols.push_back(symbolText(launch.shape.extents[i], launch.ranges[i]));
  if (!symbols.empty()) text += fmt::format("  {}\n", joined(symbols));
  for (const LayoutChoice& layout : launch.shape.layouts) text += layoutText(layout);
  std::vector<std::string> sources;
  for (const std::optional<SymbolSource>& source : launch.symbols)
    sources.push_back(!source                ? "none"
                      : source->divisor == 1 ? fmt::format("{}", source->from)
                                             : fmt::format("{} / {}", source->from, source->divisor));
  if (!sources.empty()) text += fmt::format("  from {}\n", joined(sources));
  if (!launch.parameters.empty()) text += fmt::format("  parameters {}\n", joined(launch.parameters, " "));
  if (!launch.limits.empty()) text += fmt::format("  limits {}\n", joined(launch.limits, " "));
  return text + "}\n";
}

class LaunchReader {
 public:
  LaunchReader(std::string_view text, std::string_view file) : tokens_(text, file) {}

  std::vector<ExportedLaunch> read() {
    std::vector<ExportedLaunch> launches;
    while (!tokens_.atEnd()) launches.push_back(launch());
    return launches;
  }

 private:
  size_t count(std::string_view what) {
    const Token& token = tokens_.peek();
    const int64_t value = tokens_.expectInteger(what);
    if (value < 0) tokens_.fail(token, fmt::format("{} is {}; it is not negative", what, value));
    return static_cast<size_t>(value);
  }

  bool atInteger() const { return tokens_.peek().kind == TokenKind::Integer || tokens_.at("-"); }

  int64_t positive(std::string_view what) {
    const Token& token = tokens_.peek();
    const int64_t value = tokens_.expectInteger(what);
    if (value < 1) tokens_.fail(token, fmt::format("{} is {}; it is positive", what, value));
    return value;
  }

  ExportedLaunch launch() {
    ExportedLaunch launch;
    tokens_.expect("launch");
    if (tokens_.peek().kind != TokenKind::String) tokens_.failExpected("a program's digest");
    launch.program = tokens_.next().string;
    tokens_.expect("code");
    launch.code = count("the number of a code");
    tokens_.expect("align");
    const Token& alignment = tokens_.peek();
    launch.shape.alignment = positive("an alignment");
    if (!std::has_single_bit(static_cast<uint64_t>(launch.shape.alignment)))
      tokens_.fail(alignment, "an alignment is a power of two");
    tokens_.expect("{");
    while (tokens_.at("any") || tokens_.at("=") || tokens_.at("*")) {
      symbol(launch);
      if (!tokens_.accept(",")) break;
    }
    while (tokens_.accept("T")) launch.shape.layouts.push_back(layout());
    if (tokens_.accept("from")) {
      do launch.symbols.push_back(source());
      while (tokens_.accept(","));
    }
    if (tokens_.accept("parameters")) {
      while (atInteger()) launch.parameters.push_back(count("a parameter"));
    }
    if (tokens_.accept("limits")) {
      while (atInteger()) launch.limits.push_back(tokens_.expectInteger("a limit"));
    }
    tokens_.expect("}");
    return launch;
  }

  void symbol(ExportedLaunch& launch) {
    ExtentChoice extent;
    if (tokens_.accept("=")) {
      extent = {ExtentChoice::Form::Constant, tokens_.expectInteger("a constant")};
    } else if (tokens_.accept("*")) {
      extent = {ExtentChoice::Form::Multiple, positive("a divisor")};
    } else {
      tokens_.expect("any");
    }
    launch.shape.extents.push_back(extent);
    launch.ranges.emplace_back();
    if (!tokens_.accept("in")) return;
    SymbolRange range;
    range.least = tokens_.expectInteger("the least value");
    tokens_.expect(".");
    tokens_.expect(".");
    range.most = tokens_.expectInteger("the largest value");
    launch.ranges.back() = range;
  }

  std::vector<bool> flags() {
    std::vector<bool> values;
    while (atInteger()) values.push_back(count("a flag") != 0);
    return values;
  }

  LayoutChoice layout() {
    LayoutChoice layout;
    if (tokens_.accept("dense")) layout.is_dense = flags();
    if (tokens_.accept("order")) {
      while (atInteger()) layout.order.push_back(count("an axis"));
    }
    if (tokens_.accept("stored")) layout.is_stored = flags();
    return layout;
  }

  std::optional<SymbolSource> source() {
    if (tokens_.accept("none")) return std::nullopt;
    SymbolSource source;
    source.from = count("the number of a symbol");
    if (tokens_.accept("/")) source.divisor = positive("a divisor");
    return source;
  }

  TokenStream tokens_;
};

}  // namespace

std::string digestOfForm(const std::vector<int64_t>& form) {
  constexpr size_t kBytes = 16;
  return hexOf(sha256({reinterpret_cast<const char*>(form.data()), form.size() * sizeof(int64_t)}), kBytes);
}

std::string printLaunches(const std::vector<ExportedLaunch>& launches) {
  std::string text;
  for (const ExportedLaunch& launch : launches) text += launchText(launch);
  return text;
}

std::vector<ExportedLaunch> parseLaunches(std::string_view text, std::string_view file) {
  return LaunchReader(text, file).read();
}

}  // namespace tokamak
