#include "host/ir/text/communication_forms.h"

#include <fmt/format.h>

#include "base/text.h"
#include "ir/ops/host/collective_permute.h"
#include "ir/ops/host/communication.h"
#include "ir/ops/host/end_coalescing.h"
#include "ir/ops/host/p2p_communication.h"
#include "ir/ops/host/start_coalescing.h"
#include "ir/ops/host/wait.h"

namespace tokamak {

namespace {

// An EndCoalescing without a number: no Wait can name it.
constexpr int64_t kNoNumber = -1;

std::string teamText(const std::vector<int64_t>& team) { return fmt::format("({})", joined(team, " ")); }

std::vector<int64_t> readTeam(TextReader& reader) {
  reader.expectName("team");
  reader.tokens().expect("(");
  std::vector<int64_t> team;
  while (!reader.tokens().accept(")")) team.push_back(reader.unsignedInteger("a device number or ')'"));
  return team;
}

template <class Enum>
Enum readEnum(TextReader& reader, std::string_view name, std::string_view what) {
  reader.expectName(name);
  return static_cast<Enum>(reader.enumerator({0, EnumNames<Enum>::names}, what).index);
}

CommunicatorBackend readBackend(TextReader& reader) {
  return readEnum<CommunicatorBackend>(reader, "backend", "a backend");
}

TensorView* readTensor(TextReader& reader, std::string_view name) {
  reader.expectName(name);
  return reader.tensor();
}

TensorView* readTensorOrNone(TextReader& reader, std::string_view name) {
  reader.expectName(name);
  return reader.tokens().accept("none") ? nullptr : reader.tensor();
}

int64_t readNumber(TextReader& reader) { return reader.unsignedInteger("the number of the communication"); }

void printCommunication(BlockPrinter& printer, const Expr& expr, size_t level) {
  const auto& op = *expr.as<Communication>();
  TextWriter& writer = printer.writer();
  std::string details = op.root == nullptr ? "" : fmt::format("root={}, ", writer.scalar(op.root));
  if (op.reduction != ReductionKind::Sum) details += fmt::format("reduction={}, ", enumName(op.reduction));
  if (!op.parts.empty()) {
    std::vector<std::string> parts;
    for (const Scalar* part : op.parts) parts.push_back(writer.scalar(part));
    details += fmt::format("axis={}, parts=({}), ", op.axis, joined(parts));
  }
  printer.line(level, fmt::format("Communication {} (type={}, team={}, {}input={}, output={}, backend={})",
                                  writer.names().communication(op.number), enumName(op.type), teamText(op.team),
                                  details, writer.val(op.in), writer.val(op.out), enumName(op.backend)));
}

// "axis=0, parts=(6, 3), ", or nothing.
void readParts(TextReader& reader, Communication& op) {
  TokenStream& tokens = reader.tokens();
  if (!tokens.at("axis")) return;
  reader.expectName("axis");
  op.axis = reader.unsignedInteger("the number of an axis");
  tokens.expect(",");
  reader.expectName("parts");
  tokens.expect("(");
  do op.parts.push_back(reader.scalarOrNone());
  while (tokens.accept(","));
  tokens.expect(")");
  tokens.expect(",");
}

Expr* readCommunication(BlockReader& block, const Token&, size_t) {
  TextReader& reader = block.reader();
  TokenStream& tokens = block.tokens();
  Communication op;
  op.number = readNumber(reader);
  tokens.expect("(");
  op.type = readEnum<CommunicationType>(reader, "type", "a collective");
  tokens.expect(",");
  op.team = readTeam(reader);
  tokens.expect(",");
  if (tokens.at("root")) {
    reader.expectName("root");
    op.root = reader.scalar();
    tokens.expect(",");
  }
  if (tokens.at("reduction")) {
    op.reduction = readEnum<ReductionKind>(reader, "reduction", "a reduction");
    tokens.expect(",");
  }
  readParts(reader, op);
  op.in = readTensorOrNone(reader, "input");
  tokens.expect(",");
  op.out = readTensorOrNone(reader, "output");
  tokens.expect(",");
  op.backend = readBackend(reader);
  tokens.expect(")");
  return reader.program().appendOp(std::move(op));
}

void printTransfer(BlockPrinter& printer, const Expr& expr, size_t level) {
  const auto& op = *expr.as<P2pCommunication>();
  TextWriter& writer = printer.writer();
  printer.line(level, fmt::format("P2PCommunication {} (type={}, buffer={}, peer={}, backend={})",
                                  writer.names().communication(op.number), enumName(op.type), writer.tensor(*op.buffer),
                                  writer.scalar(op.peer), enumName(op.backend)));
}

Expr* readTransfer(BlockReader& block, const Token&, size_t) {
  TextReader& reader = block.reader();
  TokenStream& tokens = block.tokens();
  P2pCommunication op;
  op.number = readNumber(reader);
  tokens.expect("(");
  op.type = readEnum<P2pType>(reader, "type", "a direction");
  tokens.expect(",");
  op.buffer = readTensor(reader, "buffer");
  tokens.expect(",");
  reader.expectName("peer");
  op.peer = reader.scalarOrNone();
  tokens.expect(",");
  op.backend = readBackend(reader);
  tokens.expect(")");
  return reader.program().appendOp(op);
}

void printPermutation(BlockPrinter& printer, const Expr& expr, size_t level) {
  const auto& op = *expr.as<CollectivePermute>();
  TextWriter& writer = printer.writer();
  printer.line(
      level,
      fmt::format("CollectivePermute {} (team={}, send_peer={}, recv_peer={}, input={}, output={}, backend={})",
                  writer.names().communication(op.number), teamText(op.team), writer.scalar(op.send_peer),
                  writer.scalar(op.recv_peer), writer.tensor(*op.in), writer.tensor(*op.out), enumName(op.backend)));
}

Expr* readPermutation(BlockReader& block, const Token&, size_t) {
  TextReader& reader = block.reader();
  TokenStream& tokens = block.tokens();
  CollectivePermute op;
  op.number = readNumber(reader);
  tokens.expect("(");
  op.team = readTeam(reader);
  tokens.expect(",");
  reader.expectName("send_peer");
  op.send_peer = reader.scalarOrNone();
  tokens.expect(",");
  reader.expectName("recv_peer");
  op.recv_peer = reader.scalarOrNone();
  tokens.expect(",");
  op.in = readTensor(reader, "input");
  tokens.expect(",");
  op.out = readTensor(reader, "output");
  tokens.expect(",");
  op.backend = readBackend(reader);
  tokens.expect(")");
  return reader.program().appendOp(std::move(op));
}

void printWait(BlockPrinter& printer, const Expr& expr, size_t level) {
  const int64_t number = printer.writer().names().communication(expr.as<Wait>()->communication);
  printer.line(level, fmt::format("Wait Communication {}", number));
}

Expr* readWait(BlockReader& block, const Token&, size_t) {
  block.tokens().expect("Communication");
  return block.reader().program().appendOp(Wait{.communication = readNumber(block.reader())});
}

void printStart(BlockPrinter& printer, const Expr&, size_t level) { printer.line(level, "StartCoalescing"); }

Expr* readStart(BlockReader& block, const Token&, size_t) {
  return block.reader().program().appendOp(StartCoalescing{});
}

void printEnd(BlockPrinter& printer, const Expr& expr, size_t level) {
  const ProgramNames& names = printer.writer().names();
  const int64_t number = expr.as<EndCoalescing>()->number;
  const std::string shown = names.isAwaited(number) ? fmt::format(" {}", names.communication(number)) : "";
  printer.line(level, fmt::format("EndCoalescing{}", shown));
}

Expr* readEnd(BlockReader& block, const Token&, size_t) {
  const bool has_number = block.tokens().peek().kind == TokenKind::Integer;
  return block.reader().program().appendOp(
      EndCoalescing{.number = has_number ? readNumber(block.reader()) : kNoNumber});
}

constexpr HostForm kCommunicationForms[] = {
    {OpKind::Communication, "Communication", printCommunication, readCommunication},
    {OpKind::P2pCommunication, "P2PCommunication", printTransfer, readTransfer},
    {OpKind::CollectivePermute, "CollectivePermute", printPermutation, readPermutation},
    {OpKind::Wait, "Wait", printWait, readWait},
    {OpKind::StartCoalescing, "StartCoalescing", printStart, readStart},
    {OpKind::EndCoalescing, "EndCoalescing", printEnd, readEnd},
};

}  // namespace

std::span<const HostForm> communicationForms() { return kCommunicationForms; }

}  // namespace tokamak
