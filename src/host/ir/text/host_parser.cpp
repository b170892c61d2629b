#include "host/ir/text/host_parser.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "host/ir/text/host_forms.h"
#include "host/ir/text/program_names.h"
#include "host/ir/text/sections.h"
#include "ir/ops/host/launch_kernel.h"
#include "ir/ops/host/post_on_stream.h"
#include "kernel/parse_kernel.h"

namespace tokamak {

namespace {

/// Reads a program and the sections behind it. What the sections say of tensors, scalars and segments is needed to read
/// the statements, so those sections are read first.
class ProgramReader {
 public:
  ProgramReader(TokenStream& tokens, Fusion& program, HostIrContainer* host)
      : tokens_(&tokens), reader_(tokens, program, host) {}

  /// From the '{' that opens the program to the end of its last section.
  void read(size_t column);

 private:
  struct Section {
    size_t begin = 0;  // the token after '{'
    size_t end = 0;    // the token after '}', once read
    size_t offset = 0;
    std::optional<int64_t> segment;  // of HostUnit<number>
    std::optional<int64_t> kernel;   // of Kernel<number>
  };

  void findSections();
  void readSection(std::string_view name);
  void readHeader();
  void readStatements(size_t column);
  void readRemaining();
  void requireSectionsUsed();
  std::shared_ptr<const HostSegment> readSegment(int64_t number);
  std::optional<std::string> atSection() const;

  TokenStream* tokens_;
  TextReader reader_;
  std::map<std::string, Section, std::less<>> sections_;
};

// A word and what follows it up to the token after '{'.
void expectSectionStart(TokenStream& tokens, std::string_view name) {
  tokens.next();
  if (!name.starts_with("HostUnit") && !name.starts_with("Kernel")) tokens.expect(":");
  tokens.expect("{");
}

void skipBraces(TokenStream& tokens) {
  for (int depth = 0; !tokens.atEnd();) {
    if (tokens.at("{")) ++depth;
    if (tokens.at("}") && --depth == 0) break;
    tokens.setPosition(tokens.position() + 1);
  }
  tokens.setPosition(tokens.position() + (tokens.atEnd() ? 0 : 1));
}

std::optional<std::string> ProgramReader::atSection() const {
  const Token& token = tokens_->peek();
  const bool is_section = token.is("Aliases") || token.is("Views") || token.is("Demands") ||
                          token.is("OutputAliases") || token.is("Domains") || token.is("Scalars");
  const bool is_numbered = numberAfter("HostUnit", token) || numberAfter("Kernel", token);
  if (!is_section && !is_numbered) return std::nullopt;
  return std::string(token.text);
}

// Where the sections stand. A text that is malformed on the way is reported when it is read.
void ProgramReader::findSections() {
  const size_t start = tokens_->position();
  skipBraces(*tokens_);
  while (const auto name = atSection()) {
    Section section{.offset = tokens_->peek().offset,
                    .segment = numberAfter("HostUnit", tokens_->peek()),
                    .kernel = numberAfter("Kernel", tokens_->peek())};
    tokens_->setPosition(tokens_->position() + 1);
    if (tokens_->at(":")) tokens_->setPosition(tokens_->position() + 1);
    if (!tokens_->at("{")) break;
    section.begin = tokens_->position() + 1;
    sections_.try_emplace(*name, section);
    skipBraces(*tokens_);
  }
  tokens_->setPosition(start);
}

void ProgramReader::readSection(std::string_view name) {
  const auto found = sections_.find(name);
  if (found == sections_.end()) return;
  Section& section = found->second;
  const size_t start = tokens_->position();
  tokens_->setPosition(section.begin);
  if (name == "Scalars") readScalarTypes(reader_);
  if (name == "Domains") readDomains(reader_);
  if (section.segment) {
    if (reader_.hasSegment(*section.segment))
      tokens_->fail(section.offset, fmt::format("there is a HostUnit{} already", *section.segment));
    reader_.addSegment(*section.segment, readSegment(*section.segment));
  }
  if (section.kernel) {
    if (reader_.host()->kernels().contains(*section.kernel))
      tokens_->fail(section.offset, fmt::format("there is a Kernel{} already", *section.kernel));
    reader_.host()->addKernel(*section.kernel, std::make_shared<const kir::Kernel>(kir::parseKernel(*tokens_)));
    tokens_->expect("}");
  }
  section.end = tokens_->position();
  tokens_->setPosition(start);
}

std::shared_ptr<const HostSegment> ProgramReader::readSegment(int64_t number) {
  auto segment = std::make_shared<HostSegment>();
  segment->number = number;
  if (tokens_->accept("}")) return segment;
  const Token& title = tokens_->expect("%");
  tokens_->expect("Fusion");
  const Token& name = tokens_->peek();
  if (name.kind != TokenKind::String && name.kind != TokenKind::Identifier)
    tokens_->failExpected("the name of the fusion");
  tokens_->next();
  segment->fusion = std::make_unique<Fusion>(name.kind == TokenKind::String ? name.string : std::string(name.text));
  ProgramReader inner(*tokens_, *segment->fusion, nullptr);
  inner.read(columnOf(*tokens_, title));
  tokens_->expect("}");
  return segment;
}

void ProgramReader::readHeader() {
  tokens_->expect("(");
  if (!tokens_->accept(")")) {
    do {
      const Token& at = tokens_->peek();
      Val* input = reader_.val();
      if (reader_.program().isInput(input)) tokens_->fail(at, "this is an input already");
      reader_.program().addInput(input);
    } while (tokens_->accept(","));
    reader_.expectClosing(")");
  }
  tokens_->expect("->");
  tokens_->expect("(");
  if (!tokens_->accept(")")) {
    do reader_.program().addOutput(reader_.tensor());
    while (tokens_->accept(","));
    reader_.expectClosing(")");
  }
  tokens_->expect(":");
}

void ProgramReader::readStatements(size_t column) {
  BlockReader blocks(reader_);
  Block statements = blocks.block(column + 2);
  if (!tokens_->at("}")) {
    const Token& at = tokens_->peek();
    if (tokens_->atEnd()) tokens_->failExpected("a statement or '}'");
    tokens_->fail(
        at, fmt::format("the statement is indented by {} blanks; expected {}", columnOf(*tokens_, at), column + 2));
  }
  tokens_->next();
  if (reader_.host() != nullptr) reader_.host()->setTopLevel(std::move(statements));
}

void ProgramReader::readRemaining() {
  std::set<std::string> seen;
  while (const auto name = atSection()) {
    const Token& at = tokens_->peek();
    if (!seen.insert(*name).second) tokens_->fail(at, fmt::format("there are two sections {}", *name));
    const bool is_host_only = *name == "Aliases" || *name == "Views" || *name == "Demands" ||
                              name->starts_with("HostUnit") || name->starts_with("Kernel");
    if (is_host_only && reader_.host() == nullptr) tokens_->fail(at, fmt::format("a fusion has no section {}", *name));
    expectSectionStart(*tokens_, *name);
    if (*name == "Aliases")
      readAliases(reader_);
    else if (*name == "Views")
      readViews(reader_);
    else if (*name == "Demands")
      readDemands(reader_);
    else if (*name == "OutputAliases")
      readOutputAliases(reader_);
    else
      tokens_->setPosition(sections_[*name].end);
  }
}

// A section that nothing runs would mean nothing.
void ProgramReader::requireSectionsUsed() {
  if (reader_.host() == nullptr) return;
  std::set<int64_t> launched;
  std::set<int64_t> posted;
  forEachStatement(reader_.host()->topLevel(), [&](const Expr& expr) {
    if (const auto* launch = expr.as<LaunchKernel>()) launched.insert(launch->kernel);
    if (const auto* post = expr.as<PostOnStream>(); post != nullptr && post->segment != nullptr)
      posted.insert(post->segment->number);
  });
  for (const auto& [name, section] : sections_) {
    if (section.kernel && !launched.contains(*section.kernel))
      tokens_->fail(section.offset, fmt::format("no statement launches {}; launch it or leave it out", name));
    if (section.segment && !posted.contains(*section.segment))
      tokens_->fail(section.offset, fmt::format("no statement posts {}; post it or leave it out", name));
  }
}

void ProgramReader::read(size_t column) {
  if (!tokens_->at("{")) tokens_->failExpected("'{'");
  findSections();
  readSection("Scalars");
  readSection("Domains");
  for (const auto& [name, section] : sections_) {
    if ((section.segment || section.kernel) && reader_.host() != nullptr) readSection(name);
  }
  tokens_->expect("{");
  readHeader();
  readStatements(column);
  readRemaining();
  for (const auto& [number, entry] : reader_.domains()) {
    if (!entry.is_used) tokens_->fail(entry.offset, fmt::format("T{} is not in the program", number));
  }
  requireSectionsUsed();
}

}  // namespace

std::unique_ptr<HostIrContainer> parseHostProgram(std::string_view text, std::string_view file) {
  TokenStream tokens(text, file);
  auto program = std::make_unique<HostIrContainer>();
  ProgramReader reader(tokens, *program, program.get());
  if (!tokens.at("%") || !tokens.peek(1).is("HostIrContainer")) tokens.failExpected("'%HostIrContainer'");
  const Token& title = tokens.next();
  tokens.next();
  // Most errors know their place; this one is the last resort.
  tokens.placed(title, [&] { reader.read(columnOf(tokens, title)); });
  if (!tokens.atEnd()) {
    tokens.failExpected(
        "Aliases, Views, Demands, OutputAliases, Domains, Scalars, HostUnit<number>, or the end of the text");
  }
  return program;
}

ProgramTextKind kindOfProgramText(std::string_view text) {
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (!text.starts_with("//")) break;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
  if (text.starts_with("%")) return ProgramTextKind::HostProgram;
  return text.starts_with("kernel ") ? ProgramTextKind::Kernel : ProgramTextKind::Fusion;
}

}  // namespace tokamak
