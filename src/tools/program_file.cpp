#include "tools/program_file.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <set>

#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"
#include "compile/exported_file.h"
#include "compile/interface_names.h"
#include "define/callables.h"
#include "host/ir/text/host_parser.h"
#include "ir/text/fusion_parser.h"
#include "kernel/parse_kernel.h"
#include "schedule/commands.h"
#include "tools/integer_in.h"

namespace tokamak::tools {

std::string readText(const std::string& path) {
  TK_REQUIRE(!std::filesystem::is_directory(path), Io, "{}: is a directory, not a file", path);
  std::ifstream file(path, std::ios::binary);
  TK_REQUIRE(file.is_open(), Io, "{}: cannot be opened for reading", path);
  std::string text;
  std::array<char, 1 << 16> piece;
  do {  // read() notices failures that inserting the whole buffer into a stream does not tell from an empty file
    file.read(piece.data(), piece.size());
    text.append(piece.data(), static_cast<size_t>(file.gcount()));
  } while (file);
  TK_REQUIRE(!file.bad(), Io, "{}: cannot be read", path);
  return text;
}

namespace {

// Of a program that runs every tensor has a number, for messages and --print. Passes of opt give what they make numbers
// behind those that the text writes.
enum class Unnamed : uint8_t { Numbered, LeftToPrint };

ProgramFile readFile(const std::string& path, Unnamed unnamed, std::optional<int64_t> ranks) {
  ProgramFile file;
  file.path = path;
  file.text = readText(path);
  TK_REQUIRE(!beginsLikeExportedFile(file.text), Usage,
             "{}: it is an exported program; tokamak run takes it, and no other command", path);
  const ProgramTextKind kind = kindOfProgramText(file.text);
  if (kind == ProgramTextKind::HostProgram) {
    file.host_program = parseHostProgram(file.text, path);
  } else if (kind == ProgramTextKind::Kernel) {
    file.kernel = std::make_unique<kir::Kernel>(kir::parseKernel(file.text, path));
  } else {
    file.fusion = parseFusion(file.text, path,
                              {.resolver = &definingResolver(),
                               .scheduler = &scheduleCommands(),
                               .ranks = ranks == 0 ? std::nullopt : ranks,
                               .numbers_unnamed = unnamed == Unnamed::Numbered,
                               .places = &file.places});
  }
  return file;
}

}  // namespace

ProgramFile readProgram(const std::string& path, std::optional<int64_t> ranks) {
  ProgramFile file = readFile(path, Unnamed::Numbered, ranks);
  TK_REQUIRE(file.kernel == nullptr, Usage, "{}: it holds a kernel; only opt takes kernels", path);
  return file;
}

ProgramFile readProgramOrKernel(const std::string& path, std::optional<int64_t> ranks) {
  return readFile(path, Unnamed::LeftToPrint, ranks);
}

std::map<std::string, std::string> readAssignments(const std::string& option, const std::vector<std::string>& texts) {
  std::map<std::string, std::string> values;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    TK_REQUIRE(equals != std::string::npos && equals > 0 && equals + 1 < text.size(), Usage,
               "{} {}: NAME=VALUE is expected", option, text);
    const auto [given, is_new] = values.emplace(text.substr(0, equals), text.substr(equals + 1));
    TK_REQUIRE(is_new, Usage, "{} {}: {} {}={} is given as well; give one of them", option, text, option, given->first,
               given->second);
  }
  return values;
}

std::map<std::string, int64_t> readSizes(const Fusion& program, const std::vector<std::string>& texts) {
  const std::set<std::string> names = symbolNamesIn(program);
  std::map<std::string, int64_t> sizes;
  for (const auto& [name, number] : readAssignments("--size", texts)) {
    const std::string text = fmt::format("{}={}", name, number);
    const auto value = integerIn<int64_t>(number);
    TK_REQUIRE(value.has_value(), Usage, "--size {}: '{}' is not an integer of 64 bits", text, number);
    TK_REQUIRE(*value >= 0, Usage, "--size {}: sizes cannot be negative", text);
    TK_REQUIRE(names.contains(name), Usage, "--size {}: the program has no extent '{}'; it has {}", text, name,
               names.empty() ? "none" : joined(names));
    sizes[name] = *value;
  }
  return sizes;
}

}  // namespace tokamak::tools
