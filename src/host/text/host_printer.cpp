#include "host/text/host_printer.h"

#include <fmt/format.h>

#include "host/host_ir_container.h"
#include "host/text/host_forms.h"
#include "host/text/sections.h"
#include "ir/ops/host/post_on_stream.h"
#include "ir/text/lexer.h"

namespace tokamak {

namespace {

std::string titleOf(const Fusion& program) {
  if (program.isHostProgram()) return "%HostIrContainer";
  const std::string& name = program.name();
  return fmt::format("%Fusion {}", isSymbolName(name) ? name : quoted(name));
}

// A unit is a program of its own, with names of its own.
void printProgram(const Fusion& program, const std::string& margin, std::string& out);

void printUnit(const HostUnit& unit, size_t number, const std::string& margin, std::string& out) {
  out += fmt::format("{}HostUnit{}{{\n", margin, number);
  if (unit.fusion != nullptr) printProgram(*unit.fusion, margin + "  ", out);
  out += margin + "}\n";
}

void printProgram(const Fusion& program, const std::string& margin, std::string& out) {
  const Block statements = statementsOf(program);
  ProgramNames names(program, statements);
  TextWriter writer(names);
  const auto text = [&](const Val* val) { return writer.val(val); };
  const std::string inputs = joined(textsOf(program.inputs(), text));
  const std::string outputs = joined(textsOf(program.outputs(), text));
  const std::string title = titleOf(program);
  out += fmt::format("{}{} {{ ({}) -> ({}) :\n", margin, title, inputs, outputs);
  BlockPrinter(writer, out, margin).block(statements, 1);
  out += fmt::format("{}}} // {}\n", margin, title.substr(0, title.find(' ')));
  if (program.isHostProgram()) out += aliasesText(writer, static_cast<const HostIrContainer&>(program), margin);
  out += outputAliasesText(writer, program, margin);
  out += domainsText(writer, statements, margin);
  out += scalarsText(writer, margin);
  for (size_t i = 0; i < names.units().size(); ++i) printUnit(*names.units()[i], i, margin, out);
}

}  // namespace

std::string printHostProgram(const HostIrContainer& program) {
  std::string out;
  printProgram(program, "", out);
  return out;
}

}  // namespace tokamak
