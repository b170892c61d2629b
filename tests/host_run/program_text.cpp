#include "host_run/program_text.h"

#include <cctype>
#include <map>

#include "base/require.h"
#include "host/ir/text/host_parser.h"
#include "program_of.h"

namespace tokamak {

namespace {

std::string withTensors(std::string_view text, const std::map<std::string, std::string, std::less<>>& tensors) {
  std::string whole;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '@') {
      whole += text[i];
      continue;
    }
    size_t end = i + 2;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    const auto tensor = tensors.find(text.substr(i + 1, end - i - 1));
    TK_REQUIRE(tensor != tensors.end(), Usage, "the test's text mentions {}, which is not among its tensors",
               text.substr(i, end - i));
    whole += tensor->second;
    i = end - 1;
  }
  return whole;
}

}  // namespace

std::unique_ptr<Fusion> fusionOf(std::string_view text) { return fusionFrom(text); }

std::string textOf(const HostText& parts) {
  std::map<std::string, std::string, std::less<>> tensors;
  for (const std::string& text : parts.tensors) tensors[text.substr(0, text.find('_'))] = text;
  const std::string text = "%HostIrContainer { " + parts.signature + " :\n" + parts.body + "}\n" + parts.sections;
  return withTensors(text, tensors);
}

std::unique_ptr<HostIrContainer> hostProgramOf(const HostText& parts) {
  return parseHostProgram(textOf(parts), "test.host_ir");
}

std::unique_ptr<HostIrContainer> finishedProgramOf(const HostText& parts, StreamSync sync) {
  auto program = hostProgramOf(parts);
  HostLoweringOptions options{.grouping = Grouping::Single};
  options.stream_sync = sync;
  finishHostProgram(*program, options);
  return program;
}

std::string topLevelOf(const HostIrContainer& program) {
  std::string names;
  for (const Expr* expr : program.topLevel().exprs) names += (names.empty() ? "" : " ") + std::string(expr->name());
  return names;
}

}  // namespace tokamak
