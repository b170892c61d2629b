// Mutants of programs over ranks: one view takes another part, computed of the rank or in the place of one that is.
// Those that the proof lets pass give what the program gives.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "compile/program_on_ranks.h"
#include "compile/rank_proof.h"
#include "host/ir/text/host_parser.h"
#include "host/ir/text/host_printer.h"
#include "host_run/program_text.h"
#include "host_run/run_bench.h"

namespace tokamak {
namespace {

constexpr int64_t kMutantRanks = 8;

// Parts of four that a view may take instead.
constexpr std::string_view kOtherParts[] = {"rank",
                                            "StreamIdx",
                                            "( ( StreamIdx + rank ) % 4 )",
                                            "( ( ( StreamIdx + rank ) + 1 ) % 4 )",
                                            "( ( ( StreamIdx + rank ) + 3 ) % 4 )",
                                            "( ( rank + 1 ) % 4 )",
                                            "( ( ( 4 + rank ) - StreamIdx ) % 4 )"};

std::string textOfFile(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  std::string whole = std::regex_replace(text.str(), std::regex(R"(mesh\(ranks\))"), "mesh(0, 1, 2, 3)");
  whole = std::regex_replace(whole, std::regex(R"(\branks\b)"), "4");
  return std::regex_replace(whole, std::regex("factor=chunks"), "factor=4");
}

// The line with another part; empty for lines that are no views, or whose parts this cannot tell.
std::string withPart(const std::string& line, std::string_view part) {
  if (const size_t index = line.find(", index = "); index != std::string::npos)
    return fmt::format("{}, index = {} )", line.substr(0, index), part);
  const size_t start = line.find(", start = ");
  if (line.find("HirAliasSlice(") == std::string::npos || start == std::string::npos) return "";
  static const std::regex chunk(R"( \* (\d+) \), stop = )");
  std::smatch found;
  const std::string rows = std::regex_search(line, found, chunk) ? found[1].str() : "1";
  return fmt::format("{}, start = ( {} * {} ), stop = ( ( {} + 1 ) * {} ) )", line.substr(0, start), part, rows, part,
                     rows);
}

struct MutantCounts {
  int64_t made = 0;
  int64_t proved = 0;
  int64_t of_parts = 0;  // refused for parts that differ
};

class RankMutants : public testing::Test {
 protected:
  // Empty for the same numbers; else how they differ, or why there are none.
  std::string differenceOf(const Fusion& fusion, const std::string& program) {
    try {
      ProgramOnRanks runs(parseHostProgram(program, "mutant.host_ir"),
                          {.ranks = kMutantRanks,
                           .run = {.number_of_streams = 2, .mode = Mode::Direct},
                           .device = {.threads = 1, .poisons_memory = true},
                           .runs_proved = RunsProved::No});
      const std::vector<RunValue> inputs = bench_.inputsOf(fusion);
      const std::vector<oracle::Input> expected = oracleInputsOf(inputs);
      return differenceFromOracle(fusion, expected, runs.run(inputs, {}, bench_.device, bench_.stream));
    } catch (const Error& error) {
      return error.message();
    }
  }

  // Empty for a program that is proved at these sizes.
  static std::string firstFinding(const std::string& program, const Sizes& sizes) {
    try {
      const auto parsed = parseHostProgram(program, "mutant.host_ir");
      ScalarBindings bindings;
      for (const Scalar* symbol : parsed->allSymbols())
        if (const auto size = sizes.find(symbol->name()); size != sizes.end()) bindings[symbol] = size->second;
      const RankProof proof = proveRanks(*parsed, bindings, {.ranks = kMutantRanks});
      return proof.findings.empty() ? "" : std::string(rankFindingName(proof.findings[0].kind));
    } catch (const Error&) {
      return "refused";
    }
  }

  MutantCounts tryAll(const Fusion& fusion, const std::string& program, const Sizes& sizes) {
    MutantCounts counts;
    std::vector<std::string> lines;
    for (const std::string_view line : linesOf(program)) lines.emplace_back(line);
    for (std::string& line : lines) {
      const std::string original = line;
      for (const std::string_view part : kOtherParts) {
        const std::string mutant = withPart(original, part);
        const bool is_of_rank = original.find("rank") != std::string::npos || part.find("rank") != std::string::npos;
        if (mutant.empty() || mutant == original || !is_of_rank) continue;
        line = mutant;
        const std::string text = joined(lines, "\n") + "\n";
        const std::string finding = firstFinding(text, sizes);
        ++counts.made;
        if (finding == "part") ++counts.of_parts;
        if (!finding.empty()) continue;
        ++counts.proved;
        EXPECT_EQ(differenceOf(fusion, text), "") << original << "\nbecame\n" << mutant;
      }
      line = original;
    }
    return counts;
  }

  RunBench bench_;
};

TEST_F(RankMutants, AreRefusedWhereTheirNumbersDiffer) {
  const std::filesystem::path texts = std::filesystem::path(TOKAMAK_TEST_DIR) / "text" / "ranks";
  const std::filesystem::path examples =
      std::filesystem::path(TOKAMAK_TEST_DIR).parent_path() / "examples" / "distributed";
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(texts))
    if (entry.path().filename().string().starts_with("stream_") && entry.path().extension() == ".fusion")
      files.push_back(entry.path());
  for (const auto& entry : std::filesystem::directory_iterator(examples))
    if (entry.path().extension() == ".fusion") files.push_back(entry.path());
  std::ranges::sort(files);
  constexpr std::pair<StreamTransfers, std::string_view> kForms[] = {{StreamTransfers::None, "none"},
                                                                     {StreamTransfers::Direct, "direct"},
                                                                     {StreamTransfers::Permute, "permute"},
                                                                     {StreamTransfers::Ring, "ring"}};
  MutantCounts all;
  std::set<std::string> seen;
  for (const std::filesystem::path& file : files) {
    const auto fusion = fusionOf(textOfFile(file));
    Sizes sizes;
    for (const auto& [symbol, size] : fusion->defaultSizes()) sizes[symbol->name()] = size;
    for (const auto& [transfers, form] : kForms) {
      SCOPED_TRACE(fmt::format("{} by {}", file.filename().string(), form));
      const auto lowered = lowerToRanks(*fusion, {.stream_transfers = transfers});
      const std::string program = printHostProgram(*lowered);
      if (program.find("HirAlias") == std::string::npos || !seen.insert(program).second) continue;
      EXPECT_EQ(firstFinding(program, sizes), "");
      const MutantCounts counts = tryAll(*fusion, program, sizes);
      all.made += counts.made;
      all.proved += counts.proved;
      all.of_parts += counts.of_parts;
    }
  }
  std::cout << all.made << " mutants, " << all.proved << " of them proved, " << all.of_parts << " of other parts\n";
  EXPECT_GE(all.of_parts, 100);
}

}  // namespace
}  // namespace tokamak
