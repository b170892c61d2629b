// The proof over ranks: programs of one text, classes of ranks, what is said of mistakes, and how it grows.
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compile/rank_proof.h"
#include "dist/unconnected_communicator.h"
#include "error_of.h"
#include "host/check/rank_checker.h"
#include "host/ir/text/host_parser.h"

namespace tokamak {
namespace {

using By = RankProofOptions::By;

RankProof proofOf(const std::string& text, int64_t ranks, By by = By::Classes) {
  const auto program = parseHostProgram(text, "test.host_ir");
  ScalarBindings bindings;
  for (const auto& [symbol, size] : program->defaultSizes()) bindings[symbol] = size;
  for (Scalar* symbol : program->allSymbols())
    if (symbol->name() == "n") bindings[symbol] = int64_t{9};
  return proveRanks(*program, bindings, {.ranks = ranks, .by = by});
}

std::string findingsOf(const RankProof& proof) {
  std::string text;
  for (const RankFinding& finding : proof.findings)
    text += fmt::format("{}: {}\n", rankFindingName(finding.kind), finding.message);
  return text;
}

std::string ranksUpTo(int64_t ranks) {
  std::string text;
  for (int64_t rank = 0; rank < ranks; ++rank) text += fmt::format("{}{}", rank == 0 ? "" : " ", rank);
  return text;
}

// The parts of a tensor's text.
std::string tensor(std::string_view name, std::string_view axes, int64_t ranks) {
  return fmt::format("{}_g_float[{}] (DeviceMesh{{{}}})", name, axes, ranksUpTo(ranks));
}

std::string allocate(const std::string& tensor, int64_t size) {
  return fmt::format("  {} = ALLOCATE(buffer={}, mem_type=global, size={}, zero_init=false, resets_to_zero=false)\n",
                     tensor, tensor, size);
}

// All ranks pass rows around a ring, one step after the other: in the end each has all rows. A row is used while it is
// sent on.
std::string ringAllgather(int64_t d, int64_t columns = 4) {
  const std::string start = tensor("T0", fmt::format("iS0{{{}}}, iS1{{{}}}", d, columns), d);
  const std::string all = tensor("T1", fmt::format("iS2{{{}}}, iS3{{{}}}", d, columns), d);
  const std::string out = tensor("T2", fmt::format("iS4{{{}}}, iS5{{{}}}", d, columns), d);
  const auto row = [&](std::string_view name, int64_t axis) {
    return tensor(name, fmt::format("iS{}{{{}}}", axis, columns), d);
  };
  std::string text = fmt::format("%HostIrContainer {{ ({}) -> ({}) :\n", start, out);
  text += allocate(all, d * columns) + allocate(out, d * columns);
  for (const std::string& result : {all, out}) text += fmt::format("  {}\n     = -{};\n", result, start);
  const auto select = [&](const std::string& part, const std::string& of, int64_t axis, const std::string& step) {
    text += fmt::format(
        "      {}\n         = HirAliasSelect( {}, axis = iS{}{{{}}}, index = ( ( ( rank + {} ) - {} ) % {} "
        ") )\n",
        part, of, axis, d, d, step, d);
  };
  text += fmt::format("  FOR i in iS2{{{}}}:\n    IF ( ( i + 1 ) < {} ):\n", d, d);
  select(row("T3", 6), all, 2, "i");
  select(row("T4", 7), all, 2, "( i + 1 )");
  select(row("T5", 8), out, 4, "i");
  text += fmt::format("      P2PCommunication 0 (type=send, buffer={}, peer=( ( rank + 1 ) % {} ), backend=Local)\n",
                      row("T3", 6), d);
  text += fmt::format("      P2PCommunication 1 (type=recv, buffer={}, peer=( ( rank + {} ) % {} ), backend=Local)\n",
                      row("T4", 7), d - 1, d);
  text += fmt::format("      {}\n         = -{};\n", row("T5", 8), row("T3", 6));
  return text + "      Wait Communication 1\n      Wait Communication 0\n} // %HostIrContainer\n";
}

// A pipelined multi-layer perceptron: chunks of rows are gathered while those before go through two layers.
std::string pipelinedLayers(int64_t d, int64_t chunks) {
  const int64_t k = 8;
  const auto axes = [&](std::string text) {
    for (const auto& [name, value] : {std::pair("#d", d), std::pair("#c", chunks), std::pair("#k", k)})
      for (size_t at = text.find(name); at != std::string::npos; at = text.find(name))
        text.replace(at, 2, std::to_string(value));
    return text;
  };
  const auto named = [&](std::string_view name, const std::string& of) { return tensor(name, axes(of), d); };
  const std::string x = named("T0", "iS0{#c}, ideviceIdx.x1{#d}, iS2{2}, iS3{#k}");
  const std::string w = named("T1", "iS4{#k}, iS5{#k}");
  const std::string b = named("T2", "iS6{#k}");
  const std::string y = named("T3", "iStreamIdx7{#c}, iS8{#d}, iS9{2}, iS10{#k}, rS11{#k}");
  const std::string all = named("T4", "iS12{#c}, iS13{#d}, iS14{2}, iS15{#k}");
  const std::string own = named("T5", "ideviceIdx.x16{#d}, iS17{2}, iS18{#k}");
  const std::string gathered = named("T6", "iS19{#d}, iS20{2}, iS21{#k}");
  const std::string rows = named("T7", "iS22{#d}, iS23{2}, iS24{#k}, rS25{#k}");
  const std::string hidden = named("T8", "iS26{#d}, iS27{2}, iS28{#k}, rS29{#k}");
  const std::string between = named("T9", "iS30{#c}, iS31{#d}, iS32{2}, iS33{#k}, rS34{#k}");
  std::string text =
      fmt::format("%HostIrContainer {{ ({}, {}, {}) -> ({}) :\n  GetCurrentStream into Stream 0\n", x, w, b, y);
  for (const std::string& whole : {all, between, y}) text += allocate(whole, chunks * d * 2 * k);
  text += axes("  FOR StreamIdx in iS0{#c}:\n");
  text += "    SetCurrentStream to Stream ( StreamIdx % numberOfStreams )\n    Synchronize Stream 0\n";
  const auto select = [&](const std::string& part, const std::string& of, const std::string& axis) {
    text += fmt::format("    {}\n       = HirAliasSelect( {}, axis = {}, index = StreamIdx )\n", part, of, axes(axis));
  };
  select(own, x, "iS0{#c}");
  select(gathered, all, "iS12{#c}");
  text += fmt::format("    Communication 0 (type=Allgather, team=({}), input={}, output={}, backend=NCCL)\n",
                      ranksUpTo(d), own, gathered);
  text += "    Wait Communication 0\n";
  select(hidden, between, "iS30{#c}");
  select(rows, y, "iStreamIdx7{#c}");
  for (const auto& [out, in] : {std::pair(hidden, gathered), std::pair(rows, hidden)})
    text += fmt::format("    {}\n       = linear({},\n                {}      ,\n          {}      )\n", out, in, w, b);
  text += "    SetCurrentStream to Stream 0\n    Synchronize Stream ( StreamIdx % numberOfStreams )\n";
  return text + "} // %HostIrContainer\n";
}

// Two rows of a mesh, each with a reduction of its own, and a permutation along the columns.
std::string onTwoDimensions(int64_t rows, int64_t columns) {
  const int64_t d = rows * columns;
  std::string ranks;
  for (int64_t row = 0; row < rows; ++row) {
    ranks += row == 0 ? "{" : " {";
    for (int64_t column = 0; column < columns; ++column)
      ranks += fmt::format("{}{}", column == 0 ? "" : " ", row * columns + column);
    ranks += "}";
  }
  const std::string mesh = fmt::format(" (DeviceMesh{{{}}})", ranks);
  const std::string parts = fmt::format("T3_g_float[ideviceIdx.x3{{{}}}, iS4{{4}}]", columns) + mesh;
  const std::string t0 = fmt::format("T0_g_float[rS5{{{}}}, iS0{{4}}]", columns) + mesh + " (Partial{sum DIDx})";
  const std::string t1 = "T1_g_float[iS1{4}]" + mesh;
  const std::string t2 = "T2_g_float[iS2{4}]" + mesh;
  std::string team;
  for (int64_t column = 0; column < columns; ++column) team += fmt::format("{}{}", column == 0 ? "" : " ", column);
  std::string text = fmt::format("%HostIrContainer {{ ({}) -> ({}) :\n", parts, t2);
  text += allocate(t0, 4) + allocate(t1, 4) + allocate(t2, 4);
  text +=
      fmt::format("  {}\n     = reduction( {}, op = add, initial value = float(0), allreduce = false )\n", t0, parts);
  text +=
      fmt::format("  Communication 0 (type=Allreduce, team=({}), input={}, output={}, backend=Local)\n", team, t0, t1);
  text += "  Wait Communication 0\n";
  text += fmt::format(
      "  CollectivePermute 1 (team=({}), send_peer=( ( rank + {} ) % {} ), recv_peer=( ( rank + {} ) % {} "
      "), input={}, output={}, backend=Local)\n",
      ranksUpTo(d), columns, d, d - columns, d, t1, t2);
  return text + "  Wait Communication 1\n} // %HostIrContainer\n";
}

std::string textOfFile(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// --- programs without faults ---

TEST(RankProof, ProvesWhatTheTestsOfRanksRun) {
  const std::filesystem::path folder = std::filesystem::path(TOKAMAK_TEST_DIR) / "text/ranks";
  int64_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".host_ir") continue;
    const std::string text = textOfFile(entry.path());
    const size_t given = text.find("--ranks ");
    const int64_t ranks = std::stoll(text.substr(given + 8));
    for (const By by : {By::Classes, By::EachRank}) {
      const RankProof proof = proofOf(text, ranks, by);
      EXPECT_EQ(findingsOf(proof), "") << entry.path();
      EXPECT_GT(proof.communications, 0) << entry.path();
    }
    ++files;
  }
  EXPECT_GE(files, 8);
}

TEST(RankProof, LooksAtOneRankOfARing) {
  for (const int64_t d : {2, 3, 8, 16}) {
    const RankProof proof = proofOf(ringAllgather(d), d);
    EXPECT_EQ(findingsOf(proof), "") << d;
    EXPECT_EQ(proof.classes, 1) << d;
    const RankProof each = proofOf(ringAllgather(d), d, By::EachRank);
    EXPECT_EQ(findingsOf(each), "") << d;
    EXPECT_EQ(each.classes, d);
    EXPECT_EQ(each.communications, proof.communications);
  }
}

TEST(RankProof, LooksAtOneRankOfAPipeline) {
  const RankProof proof = proofOf(pipelinedLayers(16, 6), 16);
  EXPECT_EQ(findingsOf(proof), "");
  EXPECT_EQ(proof.classes, 1);
  EXPECT_EQ(proof.communications, 96);
  EXPECT_EQ(findingsOf(proofOf(pipelinedLayers(16, 6), 16, By::EachRank)), "");
}

TEST(RankProof, FindsTheTeamsOfTwoDimensions) {
  const RankProof proof = proofOf(onTwoDimensions(3, 4), 12);
  EXPECT_EQ(findingsOf(proof), "");
  EXPECT_EQ(proof.classes, 1);
  EXPECT_EQ(findingsOf(proofOf(onTwoDimensions(3, 4), 12, By::EachRank)), "");
  EXPECT_EQ(proofOf(onTwoDimensions(3, 4), 13).classes, 2);  // one has nothing to do
}

// A chain, where each rank but the first waits for the one before: classes alone would wait in a circle.
std::string chain(int64_t d) {
  const std::string own = tensor("T0", "iS0{4}", d);
  const std::string next = tensor("T1", "iS1{4}", d);
  std::string text = fmt::format("%HostIrContainer {{ ({}) -> ({}) :\n", own, next) + allocate(next, 4);
  text += fmt::format("  {}\n     = -{};\n", next, own);
  text += "  IF ( rank > 0 ):\n";
  text += fmt::format("    P2PCommunication 0 (type=recv, buffer={}, peer=( rank - 1 ), backend=Local)\n", next);
  text += "    Wait Communication 0\n";
  text += fmt::format("  IF ( rank < {} ):\n", d - 1);
  text += fmt::format("    P2PCommunication 1 (type=send, buffer={}, peer=( rank + 1 ), backend=Local)\n", next);
  text += "    Wait Communication 1\n";
  return text + "} // %HostIrContainer\n";
}

TEST(RankProof, LooksAtEachRankWhereClassesWaitInACircle) {
  const RankProof proof = proofOf(chain(8), 8);
  EXPECT_EQ(findingsOf(proof), "");
  EXPECT_EQ(proof.classes, 3);
  EXPECT_EQ(findingsOf(proofOf(chain(8), 8, By::EachRank)), "");
}

// Who sends last is told in a loop's last iterations alone.
std::string lastIteration(int64_t d) {
  const std::string own = tensor("T0", "iS0{4}", d);
  const std::string next = tensor("T1", "iS1{4}", d);
  std::string text = fmt::format("%HostIrContainer {{ ({}) -> ({}) :\n", own, next) + allocate(next, 4);
  text += fmt::format("  {}\n     = -{};\n  FOR i in iS0{{4}}:\n    IF ( i == 3 ):\n", next, own);
  text += fmt::format("      Communication 0 (type=Broadcast, team=({}), root=1, input={}, output={}, backend=Local)\n",
                      ranksUpTo(d), own, next);
  return text + "      Wait Communication 0\n} // %HostIrContainer\n";
}

TEST(RankProof, LooksAtTheRootOfALaterIteration) {
  const RankProof proof = proofOf(lastIteration(8), 8);
  EXPECT_EQ(findingsOf(proof), "");
  EXPECT_EQ(proof.classes, 2);
  EXPECT_EQ(findingsOf(proofOf(lastIteration(8), 8, By::EachRank)), "");
}

// Iteration i sends what the rank has that `root` names.
std::string rootsInALoop(int64_t d, const std::string& root) {
  const std::string own = tensor("T0", "iS0{4}", d);
  const std::string next = tensor("T1", "iS1{4}", d);
  std::string text = fmt::format("%HostIrContainer {{ ({}) -> ({}) :\n", own, next) + allocate(next, 4);
  text += fmt::format("  FOR i from 0 to {}:\n", d);
  text += fmt::format("    Communication 0 (type=Broadcast, team=({}), root={}, input={}, output={}, backend=Local)\n",
                      ranksUpTo(d), root, own, next);
  return text + "    Wait Communication 0\n} // %HostIrContainer\n";
}

TEST(RankProof, LooksAtTheRootOfEachIteration) {
  const RankProof proof = proofOf(rootsInALoop(8, "i"), 8);
  EXPECT_EQ(findingsOf(proof), "");
  EXPECT_EQ(proof.classes, 8);
  EXPECT_EQ(findingsOf(proofOf(rootsInALoop(8, "i"), 8, By::EachRank)), "");
  for (const std::string differing : {"( ( i + ( rank / 7 ) ) % 8 )", "( ( i + rank ) % 8 )"}) {
    for (const By by : {By::Classes, By::EachRank}) {
      const std::string findings = findingsOf(proofOf(rootsInALoop(8, differing), 8, by));
      EXPECT_NE(findings.find("the roots differ"), std::string::npos) << differing << findings;
    }
  }
}

TEST(RankProof, RefusesLoopsOfTooManyIterations) {
  const auto program = parseHostProgram(ringAllgather(8), "test.host_ir");
  const auto proof = [&] { proveRanks(*program, {}, {.ranks = 8, .recording = {.most_iterations = 4}}); };
  EXPECT_EQ(errorOf(proof).code(), ErrorCode::Bind);
}

TEST(RankFrame, ComesFromEachRankToEachOther) {
  const std::vector<int64_t> devices = {5, 3, 0, 1, 7, 2};
  const std::vector<std::vector<int64_t>> shapes = {{6}, {2, 3}, {3, 2}, {1, 6}, {3, 1, 2}};
  for (const std::vector<int64_t>& shape : shapes) {
    const RankFrame frame(devices, shape, 8);
    for (const int64_t from : devices) {
      for (const int64_t to : devices) EXPECT_EQ(frame.at(from, frame.offset(from, to)), to);
    }
    EXPECT_EQ(frame.offset(5, 4), -1);
    EXPECT_EQ(frame.offset(9, 5), -1);
  }
  const RankFrame rows(devices, shapes[1], 8);
  EXPECT_EQ(rows.offset(5, 3), rows.offset(0, 5));  // around the row
  EXPECT_EQ(rows.offset(5, 1), rows.offset(1, 5));  // around the column
}

// --- mistakes ---

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

void expectFinding(const std::string& text, int64_t ranks, RankFinding::Kind kind, const std::string& part) {
  for (const By by : {By::Classes, By::EachRank}) {
    const RankProof proof = proofOf(text, ranks, by);
    ASSERT_FALSE(proof.findings.empty());
    EXPECT_EQ(rankFindingName(proof.findings[0].kind), rankFindingName(kind)) << findingsOf(proof);
    EXPECT_NE(findingsOf(proof).find(part), std::string::npos) << findingsOf(proof);
  }
}

TEST(RankProofFindings, NameARaceOfOneRank) {
  // Each rank uses the row that comes.
  const std::string text = ringAllgather(4);
  const std::string wrong = replaced(text, "= -T3_g_float[iS6{4}]", "= -T4_g_float[iS7{4}]");
  expectFinding(wrong, 4, RankFinding::Kind::Race, "race on T1");
}

TEST(RankProofFindings, NameARunThatIsRefused) {
  expectFinding(replaced(ringAllgather(4), "      Wait Communication 0\n", ""), 4, RankFinding::Kind::Refused,
                "nobody has waited for that");
  expectFinding(replaced(ringAllgather(4), "peer=( ( rank + 1 ) % 4 )", "peer=rank"), 4, RankFinding::Kind::Refused,
                "has no stream to send rank 0");
}

TEST(RankProofFindings, NameMissingTransfers) {
  expectFinding(replaced(chain(4), "rank < 3", "rank < 2"), 4, RankFinding::Kind::Missing,
                "(Recv of 4 f32 from rank 2) on rank 3 is transfer 0 from rank 2 to rank 3, and rank 2 sends to that "
                "rank nothing");
  expectFinding(replaced(chain(4), "rank > 0", "rank > 1"), 4, RankFinding::Kind::Missing,
                "and rank 1 receives from that rank nothing");
}

// Each rank waits until it has sent before it receives.
TEST(RankProofFindings, NameACircleOfTheRing) {
  std::string text = replaced(ringAllgather(4), "      Wait Communication 1\n      Wait Communication 0\n",
                              "      Wait Communication 1\n");
  text = replaced(text, "      P2PCommunication 1", "      Wait Communication 0\n      P2PCommunication 1");
  expectFinding(text, 4, RankFinding::Kind::Deadlock,
                "wait for one another: the end of `P2PCommunication 0 (type=send");
}

// Two ranks that receive before they send.
TEST(RankProofFindings, NameACircle) {
  const std::string text =
      replaced(replaced(replaced(replaced(chain(2), "rank > 0", "rank >= 0"), "rank < 1", "rank >= 0"), "( rank - 1 )",
                        "( 1 - rank )"),
               "( rank + 1 )", "( 1 - rank )");
  expectFinding(text, 2, RankFinding::Kind::Deadlock,
                "ranks 0 and 1 wait for one another: the end of `P2PCommunication 0 (type=recv");
}

// Rank 0 does what `mine` says, the others what `theirs` says.
std::string twoWays(const std::string& mine, const std::string& theirs) {
  const std::string a = tensor("T0", "iS0{4}", 2);
  const std::string b = tensor("T1", "iS1{4}", 2);
  const std::string c = tensor("T2", "iS2{4}", 2);
  const std::string parts = tensor("T8", "ideviceIdx.x30{2}, iS31{4}", 2);
  const std::string terms = tensor("T9", "rS32{2}, iS33{4}", 2) + " (Partial{sum DIDx})";
  const auto filled = [&](std::string text) {
    for (const auto& [name, full] : {std::pair("@T0", a), std::pair("@T1", b), std::pair("@T2", c),
                                     std::pair("@T8", parts), std::pair("@T9", terms)})
      for (size_t at = text.find(name); at != std::string::npos; at = text.find(name)) text.replace(at, 3, full);
    return text;
  };
  return fmt::format("%HostIrContainer {{ ({}, {}) -> ({}, {}) :\n", a, parts, b, c) + allocate(b, 4) + allocate(c, 4) +
         allocate(terms, 4) +
         filled(
             "  @T1\n     = -@T0;\n  @T2\n     = -@T0;\n  @T9\n     = reduction( @T8, op = add, initial value = "
             "float(0), allreduce = false )\n  IF ( rank == 0 ):\n") +
         filled(mine) + "  ELSE:\n" + filled(theirs) + "} // %HostIrContainer\n";
}

const std::string kSum = "    Communication 0 (type=Allreduce, team=(0 1), input=@T9, output=@T1, backend=Local)\n";
const std::string kCast =
    "    Communication 1 (type=Broadcast, team=(0 1), root=0, input=@T0, output=@T2, backend=Local)\n";
const std::string kWaits = "    Wait Communication 0\n    Wait Communication 1\n";

TEST(RankProofFindings, NameCollectivesThatDiffer) {
  expectFinding(twoWays(kSum + kCast + kWaits, kCast + kSum + kWaits), 2, RankFinding::Kind::Mismatch,
                "communication 0 of team (0 1) is `Communication 0 (type=Allreduce");
  expectFinding(twoWays(kSum + kCast + kWaits, kSum + replaced(kCast, "root=0", "root=1") + kWaits), 2,
                RankFinding::Kind::Mismatch, "the roots differ");
  expectFinding(twoWays(kSum + kCast + kWaits, kSum + "    Wait Communication 0\n"), 2, RankFinding::Kind::Missing,
                "is communication 1 of team (0 1), and rank 1 posts only 1, the last one by `Communication");
  expectFinding(twoWays(kSum + "    Wait Communication 0\n", "    @T1\n       = -@T0;\n"), 2,
                RankFinding::Kind::Missing, "is communication 0 of team (0 1), and rank 1 of that team posts none");
  expectFinding(twoWays("    StartCoalescing\n" + kSum + kCast + "    EndCoalescing 2\n    Wait Communication 2\n",
                        kSum + kCast + kWaits),
                2, RankFinding::Kind::Mismatch, "it is number 0 of a group of 2 there, and number 0 of 1 here");
}

TEST(RankProofFindings, NamePermutationsThatDoNotMeet) {
  const std::string permute =
      "    CollectivePermute 0 (team=(0 1), send_peer=1, recv_peer=1, input=@T0, output=@T1, backend=Local)\n    Wait "
      "Communication 0\n";
  const std::string own = replaced(replaced(permute, "send_peer=1", "send_peer=0"), "recv_peer=1", "recv_peer=0");
  EXPECT_EQ(findingsOf(proofOf(twoWays(permute, own), 2)), "");
  expectFinding(twoWays(permute, permute), 2, RankFinding::Kind::Mismatch,
                "rank 0 sends to rank 1, and rank 1 receives from rank 1");
}

// Three ranks exchange parts of other sizes with each other; ranks 0 and 1 are a class.
TEST(RankProofFindings, NameExchangesThatDoNotFit) {
  const auto job = [](int64_t expected_of_last) {
    RankJob made = {.ranks = 3, .teams = {{0, 1, 2}}, .team_maps = {{0, 0, 0}}};
    const auto add = [&](std::vector<int64_t> ranks, int64_t sent, std::vector<int64_t> received) {
      auto works = std::make_shared<PostedWorks>();
      const CommunicationRequest request = {
          .kind = CommunicationKind::AllToAll, .counts = {sent, sent, sent}, .received = std::move(received)};
      works->works.push_back({.requests = {{.request = request, .team = 0, .statement = 0}}, .point = 0});
      works->points.push_back({.work = 0});
      const int64_t recorded = ranks[0];
      made.classes.push_back({.ranks = std::move(ranks),
                              .recorded = recorded,
                              .works = works,
                              .statements = std::make_shared<std::vector<std::string>>(1, "AllToAll")});
    };
    add({0, 1}, 4, {4, 4, expected_of_last});
    add({2}, 2, {4, 4, 2});
    return made;
  };
  EXPECT_TRUE(checkRanks(job(2)).empty());
  const std::vector<RankFinding> findings = checkRanks(job(4));
  ASSERT_FALSE(findings.empty());
  EXPECT_NE(findings[0].message.find("rank 2 sends 2 elements to rank 0, which expects 4"), std::string::npos)
      << findings[0].message;
}

TEST(RankProofFindings, NameTransfersThatDiffer) {
  const std::string send = "    P2PCommunication 0 (type=send, buffer=@T0, peer=1, backend=Local)\n";
  const std::string recv = "    P2PCommunication 0 (type=recv, buffer=@T1, peer=0, backend=Local)\n";
  const std::string half = "T3_l_float[iS9{2}] (DeviceMesh{0 1})";
  const std::string shorter = "    " + half + "\n       = HirAliasSlice( @T1, axis = iS1{4}, start = 0, stop = 2 )\n" +
                              replaced(recv, "@T1", half);
  const std::string wait = "    Wait Communication 0\n";
  expectFinding(twoWays(send + wait, shorter + wait), 2, RankFinding::Kind::Mismatch,
                "rank 0 sends 4 elements to rank 1, which expects 2");
  const std::string again = replaced(send, "Communication 0", "Communication 1");
  expectFinding(twoWays(send + again + kWaits, recv + wait), 2, RankFinding::Kind::Missing,
                "is transfer 1 from rank 0 to rank 1, and rank 1 has only 1 of them");
}

TEST(RankProofFindings, NameTransfersThatNothingOrders) {
  const std::string send = "    P2PCommunication 0 (type=send, buffer=@T0, peer=1, backend=Local)\n";
  const std::string again =
      "    StartCoalescing\n    P2PCommunication 1 (type=send, buffer=@T0, peer=1, backend=Local)\n    EndCoalescing "
      "2\n";
  const std::string recv = "    P2PCommunication 0 (type=recv, buffer=@T1, peer=0, backend=Local)\n";
  const std::string recv_again = "    P2PCommunication 1 (type=recv, buffer=@T2, peer=0, backend=Local)\n";
  const std::string waits = "    Wait Communication 0\n    Wait Communication 2\n";
  expectFinding(twoWays(send + again + waits, recv + recv_again + kWaits), 2, RankFinding::Kind::Unordered,
                "on different streams, and nothing orders them");
  EXPECT_EQ(findingsOf(proofOf(twoWays(send + "    Wait Communication 0\n" + again + "    Wait Communication 2\n",
                                       recv + recv_again + kWaits),
                               2)),
            "");
}

TEST(RankProofFindings, ShortenListsOfManyRanks) {
  const std::string text = pipelinedLayers(16, 2);
  const std::string wrong =
      replaced(text, "    Wait Communication 0\n", "    IF ( rank == 3 ):\n      Wait Communication 0\n");
  EXPECT_NE(findingsOf(proofOf(wrong, 16)).find("nobody has waited for that"), std::string::npos)
      << findingsOf(proofOf(wrong, 16));
  std::vector<int64_t> many(16);
  for (size_t i = 0; i < many.size(); ++i) many[i] = static_cast<int64_t>(i);
  EXPECT_EQ(teamInWords(many), "(0 1 2 3 4 5 6 7 ... 15)");
  CommunicationRequest request = {.kind = CommunicationKind::Allgather};
  request.counts.assign(16, 4);
  EXPECT_EQ(requestInWords(request), "Allgather of 4 + ... + 4 f32");
}

TEST(RankProofErrors, NameRanksAndPrograms) {
  EXPECT_EQ(errorOf([] { proofOf(chain(2), 0); }).message(), "0 ranks were asked for; 1 to 65536 are legal");
  EXPECT_NE(errorOf([] { proofOf(chain(4), 2); }).message().find("its mesh names rank 2"), std::string::npos);
  EXPECT_EQ(errorOf([] { UnconnectedCommunicator(2, 2); }).message(), "rank 2 of a job of 2 rank(s); ranks are 0 to 1");
  UnconnectedCommunicator alone(1, 2);
  const std::vector<int64_t> both = {0, 1};
  EXPECT_EQ(errorOf([&] { alone.exchange("sizes", both, {}); }).message(),
            "exchange \"sizes\": rank 1 is not connected to others; it is there to check programs");
  EXPECT_EQ(alone.alive(both), both);
  EXPECT_EQ(alone.team(both), alone.team(both));
}

// --- growth ---

double secondsOf(const std::function<void()>& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Time by posted communications grows no faster than they do, from `few` to `many` ranks.
TEST(RankProofGrowth, FollowsThePostedCommunications) {
  struct Growth {
    const char* name;
    std::function<std::string(int64_t)> text;
  };
  const Growth kinds[] = {{"ring", [](int64_t d) { return ringAllgather(d); }},
                          {"pipeline", [](int64_t d) { return pipelinedLayers(d, 16); }}};
  for (const Growth& kind : kinds) {
    double last = 0;
    double last_posted = 0;
    for (const int64_t d : {8, 64, 512, 1024}) {
      const std::string text = kind.text(d);
      RankProof proof;
      const double seconds = secondsOf([&] { proof = proofOf(text, d); });
      EXPECT_EQ(findingsOf(proof), "");
      EXPECT_EQ(proof.classes, 1);
      const auto posted = static_cast<double>(proof.communications);
      std::printf("%s, %lld ranks: %.3f s, %.0f communications\n", kind.name, static_cast<long long>(d), seconds,
                  posted);
      EXPECT_LT(seconds, 10) << d;
      // (Below a tenth of a second what does not grow is most of it.)
      if (last > 0.1) {
        EXPECT_LT(std::log(seconds / last) / std::log(posted / last_posted), 1.3) << d;
      }
      last = seconds;
      last_posted = posted;
    }
  }
}

}  // namespace
}  // namespace tokamak
