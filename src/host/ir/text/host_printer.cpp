#include "host/ir/text/host_printer.h"

#include <algorithm>

#include <fmt/format.h>

#include "host/ir/host_ir_container.h"
#include "host/ir/text/host_forms.h"
#include "host/ir/text/sections.h"
#include "ir/ops/host/post_on_stream.h"
#include "ir/text/lexer.h"
#include "kernel/kernel.h"

namespace tokamak {

namespace {

std::string titleOf(const Fusion& program) {
  if (program.isHostProgram()) return "%HostIrContainer";
  const std::string& name = program.name();
  return fmt::format("%Fusion {}", isProgramSymbolName(name) ? name : inQuotes(name));
}

void printSegment(const HostSegment& segment, size_t number, const std::string& margin, std::string& out) {
  out += fmt::format("{}HostUnit{}{{\n", margin, number);
  if (segment.fusion != nullptr) {
    // A segment is a program of its own, with names of its own.
    const Block statements = statementsOf(*segment.fusion);
    ProgramNames names(*segment.fusion, statements);
    out += programText(*segment.fusion, names, margin + "  ");
  }
  out += margin + "}\n";
}

void printKernels(const HostIrContainer& program, std::string& out) {
  for (const auto& [number, kernel] : program.kernels()) {
    out += fmt::format("Kernel{}{{\n", number);
    const std::string text = kir::printKernel(*kernel);
    for (size_t begin = 0, end = 0; begin < text.size(); begin = end) {
      end = std::min(text.find('\n', begin), text.size() - 1) + 1;
      out += "  " + text.substr(begin, end - begin);
    }
    out += "}\n";
  }
}

std::string markedText(const Fusion& program, TextWriter& writer, const std::string& margin) {
  const auto text = [&](const Val* val) { return writer.val(val); };
  const Block statements = statementsOf(program);
  const std::string title = titleOf(program);
  std::string out = fmt::format("{}{} {{ ({}) -> ({}) :\n", margin, title, joined(textsOf(program.inputs(), text)),
                                joined(textsOf(program.outputs(), text)));
  BlockPrinter(writer, out, margin).block(statements, 1);
  out += fmt::format("{}}} // {}\n", margin, title.substr(0, title.find(' ')));
  if (program.isHostProgram()) {
    const auto& host_program = static_cast<const HostIrContainer&>(program);
    out += aliasesText(writer, host_program, margin);
    out += viewsText(writer, host_program, margin);
    out += demandsText(writer, host_program, margin);
  }
  out += outputAliasesText(writer, program, margin);
  out += domainsText(writer, statements, margin);
  return out;
}

}  // namespace

std::string programText(const Fusion& program, ProgramNames& names, const std::string& margin) {
  TextWriter marking(names);
  std::string out = names.withNames(markedText(program, marking, margin));
  out += scalarsText(TextWriter(names), margin);
  for (size_t i = 0; i < names.segments().size(); ++i) printSegment(*names.segments()[i], i, margin, out);
  if (program.isHostProgram()) printKernels(static_cast<const HostIrContainer&>(program), out);
  return out;
}

std::string printHostProgram(const HostIrContainer& program) {
  ProgramNames names(program, program.topLevel());
  return programText(program, names, "");
}

}  // namespace tokamak
