#include "host/ir/text/host_forms.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/require.h"
#include "host/ir/text/communication_forms.h"
#include "host/ir/text/math_forms.h"
#include "ir/ops/host/allocate.h"
#include "ir/ops/host/deallocate.h"
#include "ir/ops/host/for_loop.h"
#include "ir/ops/host/get_current_stream.h"
#include "ir/ops/host/if_then_else.h"
#include "ir/ops/host/launch_kernel.h"
#include "ir/ops/host/post_on_stream.h"
#include "ir/ops/host/set_current_stream.h"
#include "ir/ops/host/synchronize.h"

namespace tokamak {

namespace {

// --- ALLOCATE, DEALLOCATE ---

void printAllocate(BlockPrinter& printer, const Expr& expr, size_t level) {
  const auto& op = *expr.as<Allocate>();
  TextWriter& writer = printer.writer();
  const std::string& buffer = writer.tensor(*op.buffer);
  printer.line(level, fmt::format("{} = ALLOCATE(buffer={}, mem_type={}, size={}, zero_init={}, resets_to_zero={})",
                                  buffer, buffer, memoryWord(op.buffer->memoryKind()), writer.scalar(op.size),
                                  op.zero_init, op.resets_to_zero));
}

MemoryKind readMemoryWord(TokenStream& tokens) {
  for (const MemoryKind kind : kAllMemoryKinds) {
    if (tokens.accept(memoryWord(kind))) return kind;
  }
  tokens.failExpected("global, pinned or host");
}

Expr* readAllocate(TextReader& reader, TensorView* out, const Token& start) {
  TokenStream& tokens = reader.tokens();
  tokens.expect("ALLOCATE");
  tokens.expect("(");
  reader.expectName("buffer");
  const Token& at = tokens.peek();
  if (reader.tensor() != out) tokens.fail(at, "the buffer of an ALLOCATE is the tensor before '='");
  tokens.expect(",");
  reader.expectName("mem_type");
  const Token& word = tokens.peek();
  reader.setMemory(out, readMemoryWord(tokens), word);
  tokens.expect(",");
  reader.expectName("size");
  Allocate op{.buffer = out, .size = reader.scalarOrNone()};
  tokens.expect(",");
  reader.expectName("zero_init");
  op.zero_init = reader.flag();
  tokens.expect(",");
  reader.expectName("resets_to_zero");
  op.resets_to_zero = reader.flag();
  tokens.expect(")");
  if (!reader.program().isHostProgram()) tokens.fail(start, "a fusion has no ALLOCATE; only host programs have");
  return reader.program().appendOp(op);
}

void printDeallocate(BlockPrinter& printer, const Expr& expr, size_t level) {
  printer.line(level, fmt::format("DEALLOCATE(buffer={})", printer.writer().tensor(*expr.as<Deallocate>()->buffer)));
}

Expr* readDeallocate(BlockReader& block, const Token&, size_t) {
  block.tokens().expect("(");
  block.reader().expectName("buffer");
  TensorView* buffer = block.reader().tensor();
  block.tokens().expect(")");
  return block.reader().program().appendOp(Deallocate{.buffer = buffer});
}

// --- FOR, IF ---

bool isDefaultRange(const ForLoop& op) {
  return op.axis != nullptr && (op.start == nullptr || op.start->isConstantInt(0)) &&
         (op.stop == nullptr || op.stop == op.axis->extent()) && (op.step == nullptr || op.step->isConstantInt(1));
}

std::string rangeText(TextWriter& writer, const ForLoop& op) {
  const Scalar* stop = op.stop == nullptr && op.axis != nullptr ? op.axis->extent() : op.stop;
  TK_REQUIRE(stop != nullptr, HostProgram, "FOR: the loop over {} has neither an axis nor a stop", toString(*op.index));
  std::string text =
      fmt::format(" from {} to {}", op.start == nullptr ? "0" : writer.scalar(op.start), writer.scalar(stop));
  if (op.step != nullptr && !op.step->isConstantInt(1)) text += fmt::format(" step {}", writer.scalar(op.step));
  return text;
}

void printFor(BlockPrinter& printer, const Expr& expr, size_t level) {
  const auto& op = *expr.as<ForLoop>();
  TextWriter& writer = printer.writer();
  TK_REQUIRE(op.index != nullptr && op.index->isSymbol(), HostProgram, "FOR: the index of a loop must be a symbol");
  std::string text = fmt::format("FOR {}{}", writer.names().loopBegin(*op.index), writer.scalar(op.index));
  if (op.axis != nullptr) text += fmt::format(" in {}", writer.axis(op.axis));
  if (!isDefaultRange(op)) text += rangeText(writer, op);
  printer.line(level, text + ":");
  printer.block(op.body, level + 1);
  printer.mark(writer.names().loopEnd(*op.index));
}

Scalar* readIndex(BlockReader& block) {
  const Token& token = block.tokens().peek();
  Scalar* index = block.reader().scalar("the index of the loop");
  if (!index->isSymbol()) block.tokens().fail(token, "the index of a loop is a symbol such as StreamIdx or i10");
  if (block.isLoopIndex(index)) {
    block.tokens().fail(token, fmt::format("{} is the index of an enclosing loop; choose another name", token.text));
  }
  if (index == block.reader().host()->numberOfStreams()) {
    block.tokens().fail(token, "numberOfStreams is no index: its value is the number of worker streams");
  }
  return index;
}

Expr* readFor(BlockReader& block, const Token&, size_t indent) {
  TokenStream& tokens = block.tokens();
  TextReader& reader = block.reader();
  ForLoop op;
  op.index = readIndex(block);
  if (tokens.accept("in")) op.axis = reader.axis();
  const bool has_range = tokens.at("from");
  if (!has_range && op.axis == nullptr) tokens.failExpected("'in' and an axis, or 'from'");
  op.start = reader.program().constant(0);
  op.stop = op.axis != nullptr ? op.axis->extent() : nullptr;
  op.step = reader.program().constant(1);
  if (tokens.accept("from")) {
    op.start = reader.scalar("the start of the loop");
    if (!tokens.at("to")) tokens.failExpected("'to'");
    tokens.next();
    op.stop = reader.scalar("the stop of the loop");
    if (tokens.accept("step")) op.step = reader.scalar("the step of the loop");
  }
  if (!tokens.at(":")) tokens.failExpected(has_range ? "'step' or ':'" : "'from' or ':'");
  tokens.next();
  op.body = block.body(indent, op.index);
  return reader.program().appendOp(std::move(op));
}

void printIf(BlockPrinter& printer, const Expr& expr, size_t level) {
  const auto& op = *expr.as<IfThenElse>();
  printer.line(level, fmt::format("IF {}:", printer.writer().scalar(op.predicate)));
  printer.block(op.then_body, level + 1);
  if (op.else_body.exprs.empty()) return;
  printer.line(level, "ELSE:");
  printer.block(op.else_body, level + 1);
}

Expr* readIf(BlockReader& block, const Token&, size_t indent) {
  TokenStream& tokens = block.tokens();
  IfThenElse op;
  op.predicate = block.reader().scalarOrNone();
  tokens.expect(":");
  op.then_body = block.body(indent);
  if (tokens.at("ELSE") && columnOf(tokens, tokens.peek()) == indent) {
    tokens.next();
    tokens.expect(":");
    op.else_body = block.body(indent);
  }
  return block.reader().program().appendOp(std::move(op));
}

// --- streams ---

void printGetStream(BlockPrinter& printer, const Expr& expr, size_t level) {
  printer.line(level,
               fmt::format("GetCurrentStream into {}", printer.writer().stream(*expr.as<GetCurrentStream>()->stream)));
}

Expr* readGetStream(BlockReader& block, const Token&, size_t) {
  block.tokens().expect("into");
  return block.reader().program().appendOp(GetCurrentStream{.stream = block.reader().stream()});
}

void printSetStream(BlockPrinter& printer, const Expr& expr, size_t level) {
  printer.line(level,
               fmt::format("SetCurrentStream to {}", printer.writer().stream(*expr.as<SetCurrentStream>()->stream)));
}

Expr* readSetStream(BlockReader& block, const Token&, size_t) {
  block.tokens().expect("to");
  return block.reader().program().appendOp(SetCurrentStream{.stream = block.reader().stream()});
}

void printSynchronize(BlockPrinter& printer, const Expr& expr, size_t level) {
  printer.line(level, fmt::format("Synchronize {}", printer.writer().stream(*expr.as<Synchronize>()->stream)));
}

Expr* readSynchronize(BlockReader& block, const Token&, size_t) {
  return block.reader().program().appendOp(Synchronize{.stream = block.reader().stream()});
}

// --- PostOnStream, LaunchKernel ---

template <class List>
std::string closedList(TextWriter& writer, const List& vals) {
  std::string text = "{";
  for (const Val* val : vals) text += writer.val(val) + ", ";
  return text + "}";
}

std::vector<Val*> readClosedList(TextReader& reader, std::string_view name) {
  TokenStream& tokens = reader.tokens();
  if (!tokens.at(name)) tokens.failExpected(fmt::format("'{}:'", name));
  tokens.next();
  tokens.expect(":");
  tokens.expect("{");
  std::vector<Val*> vals;
  while (!tokens.accept("}")) {
    vals.push_back(reader.val());
    if (!tokens.at("}")) tokens.expect(",");
  }
  return vals;
}

std::vector<TensorView*> readOutputs(TextReader& reader) {
  const Token& at = reader.tokens().peek();
  const std::vector<Val*> vals = readClosedList(reader, "Outputs");
  std::vector<TensorView*> outputs = tensorsOf(vals);
  if (outputs.size() != vals.size()) reader.tokens().fail(at, "all outputs must be tensors");
  return outputs;
}

void printPost(BlockPrinter& printer, const Expr& expr, size_t level) {
  const auto& op = *expr.as<PostOnStream>();
  TextWriter& writer = printer.writer();
  printer.line(level, fmt::format("PostOnStream ({}, Inputs:{}, Outputs:{})", writer.value(op.segment),
                                  closedList(writer, op.ins), closedList(writer, op.outs)));
}

Expr* readPost(BlockReader& block, const Token&, size_t) {
  TokenStream& tokens = block.tokens();
  PostOnStream op;
  tokens.expect("(");
  if (!tokens.accept("none")) op.segment = block.reader().segment();
  tokens.expect(",");
  op.ins = readClosedList(block.reader(), "Inputs");
  tokens.expect(",");
  op.outs = readOutputs(block.reader());
  tokens.expect(")");
  return block.reader().program().appendOp(std::move(op));
}

void printLaunch(BlockPrinter& printer, const Expr& expr, size_t level) {
  const auto& op = *expr.as<LaunchKernel>();
  TextWriter& writer = printer.writer();
  printer.line(level, fmt::format("LaunchKernel(Kernel{}, grid={}, block={}, Inputs: {}, Outputs: {})", op.kernel,
                                  writer.value(op.grid), writer.value(op.block), closedList(writer, op.ins),
                                  closedList(writer, op.outs)));
}

Expr* readLaunch(BlockReader& block, const Token&, size_t) {
  TokenStream& tokens = block.tokens();
  TextReader& reader = block.reader();
  LaunchKernel op;
  tokens.expect("(");
  const auto number = numberAfter("Kernel", tokens.peek());
  if (!number) tokens.failExpected("a kernel such as Kernel0");
  op.kernel = *number;
  tokens.next();
  const auto extents = [&](std::string_view name) {
    tokens.expect(",");
    reader.expectName(name);
    return reader.braced([&] { return reader.scalarOrNone(); });
  };
  op.grid = extents("grid");
  op.block = extents("block");
  tokens.expect(",");
  op.ins = readClosedList(reader, "Inputs");
  tokens.expect(",");
  op.outs = readOutputs(reader);
  tokens.expect(")");
  return reader.program().appendOp(std::move(op));
}

constexpr HostForm kHostForms[] = {
    {OpKind::Allocate, "ALLOCATE", printAllocate, nullptr},  // read as an assignment
    {OpKind::Deallocate, "DEALLOCATE", printDeallocate, readDeallocate},
    {OpKind::ForLoop, "FOR", printFor, readFor},
    {OpKind::IfThenElse, "IF", printIf, readIf},
    {OpKind::GetCurrentStream, "GetCurrentStream", printGetStream, readGetStream},
    {OpKind::SetCurrentStream, "SetCurrentStream", printSetStream, readSetStream},
    {OpKind::Synchronize, "Synchronize", printSynchronize, readSynchronize},
    {OpKind::PostOnStream, "PostOnStream", printPost, readPost},
    {OpKind::LaunchKernel, "LaunchKernel", printLaunch, readLaunch},
};

const HostForm* findForm(OpKind kind) {
  for (const std::span<const HostForm> forms : {std::span<const HostForm>(kHostForms), communicationForms()}) {
    const auto found = std::ranges::find(forms, kind, &HostForm::kind);
    if (found != forms.end()) return &*found;
  }
  return nullptr;
}

const HostForm* findForm(const Token& word) {
  for (const std::span<const HostForm> forms : {std::span<const HostForm>(kHostForms), communicationForms()}) {
    const auto found =
        std::ranges::find_if(forms, [&](const HostForm& f) { return f.read != nullptr && word.is(f.word); });
    if (found != forms.end()) return &*found;
  }
  return nullptr;
}

}  // namespace

std::string_view memoryWord(MemoryKind kind) { return kind == MemoryKind::Device ? "global" : memoryKindName(kind); }

void BlockPrinter::line(size_t level, std::string_view text) {
  *out_ += indent(level);
  *out_ += text;
  *out_ += '\n';
}

void BlockPrinter::block(const Block& block, size_t level) {
  for (const Expr* expr : block.exprs) statement(*expr, level);
}

void BlockPrinter::statement(const Expr& expr, size_t level) {
  if (const HostForm* form = findForm(expr.kind())) return form->print(*this, expr, level);
  const std::string results = joined(textsOf(expr.outputs(), [this](const Val* out) { return writer_->val(out); }));
  const std::string call = callText(*writer_, expr, indent(level));
  if (results.empty()) return line(level, call);
  if (callPlace(expr) == CallPlace::SameLine) return line(level, fmt::format("{} = {}", results, call));
  line(level, results);
  line(level, fmt::format("   = {}", call));
}

bool BlockReader::isLoopIndex(const Scalar* symbol) const {
  return std::ranges::find(indices_, symbol) != indices_.end();
}

Block BlockReader::body(size_t indent, Scalar* index) {
  const Token& at = tokens().peek();
  if (++depth_ > kMaxNesting)
    tokens().fail(at, fmt::format("nested too deeply; expected at most {} levels", kMaxNesting));
  if (index != nullptr) indices_.push_back(index);
  const bool has_statements = at.starts_line && columnOf(tokens(), at) > indent && !at.is("}");
  if (!has_statements && !at.starts_line && !tokens().atEnd())
    tokens().fail(at, "the body of a statement starts on a new line");
  Block body;
  if (has_statements) body = block(indent + 2);
  if (index != nullptr) indices_.pop_back();
  --depth_;
  return body;
}

Block BlockReader::block(size_t indent) {
  Block block;
  while (!tokens().atEnd() && !tokens().at("}")) {
    const Token& start = tokens().peek();
    if (!start.starts_line)
      tokens().fail(start, fmt::format("unexpected {} after a statement; expected a new line", describeToken(start)));
    const size_t have = columnOf(tokens(), start);
    if (have < indent) break;
    if (have > indent)
      tokens().fail(start, fmt::format("the statement is indented by {} blanks; expected {}", have, indent));
    block.exprs.push_back(statement(indent));
  }
  return block;
}

Expr* BlockReader::statement(size_t indent) {
  const Token& start = tokens().peek();
  if (startsTensor(start)) return assignment();
  if (const HostForm* form = findForm(start)) {
    if (reader_->host() == nullptr) {
      tokens().fail(start, fmt::format("a fusion has no {}; only host programs have", describeToken(start)));
    }
    tokens().next();
    return form->read(*this, start, indent);
  }
  if (start.is("ELSE")) tokens().fail(start, "unexpected 'ELSE'; expected an IF of the same indentation before it");
  if (start.is("ALLOCATE")) tokens().failExpected("the tensor before '= ALLOCATE'");
  tokens().failExpected("a statement");
}

Expr* BlockReader::assignment() {
  const Token& start = tokens().peek();
  std::vector<Val*> outs;
  do outs.push_back(reader_->tensor());
  while (tokens().accept(","));
  tokens().expect("=");
  if (!tokens().at("ALLOCATE")) return readCall(*reader_, outs, start);
  if (outs.size() != 1) tokens().fail(start, "ALLOCATE gives one tensor its buffer");
  return readAllocate(*reader_, asTensor(outs[0]), start);
}

}  // namespace tokamak
