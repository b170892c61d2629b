// Local programs: what one rank does of a host program over ranks.
#include "host/local/local_program.h"

#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/device_marks.h"
#include "error_of.h"
#include "host/ir/text/host_parser.h"
#include "host/ir/text/host_printer.h"
#include "host/ir/verifier.h"

namespace tokamak {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string goldenOf(const std::string& name) {
  std::ifstream file(std::string(TOKAMAK_TEST_DIR) + "/golden/" + name + ".host_ir");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The text of what the rank does, which is a legal program of one device, and comes back from its text.
std::string localText(const std::string& text, JobRank rank) {
  const auto program = parseHostProgram(text, "test.host_ir");
  verifyHostProgram(*program);
  const auto local = localProgram(*program, rank);
  verifyHostProgram(*local);
  requireOneDevice("test", *local);
  const std::string printed = printHostProgram(*local);
  EXPECT_EQ(printHostProgram(*parseHostProgram(printed, "local.host_ir")), printed);
  return printed;
}

std::string refusal(const std::string& text, JobRank rank = {.number = 0, .ranks = 4}) {
  const auto program = parseHostProgram(text, "test.host_ir");
  verifyHostProgram(*program);
  const Error error = errorOf([&] { localProgram(*program, rank); });
  EXPECT_EQ(error.code(), ErrorCode::HostProgram);
  return error.message();
}

TEST(LocalProgram, AllGatherAndLinearComeOutAsTheGoldens) {
  for (const std::string form : {"one-loop", "two-loops"}) {
    for (const int64_t rank : {0, 3}) {
      const std::string local = localText(goldenOf("ag_linear." + form), {.number = rank, .ranks = 4});
      EXPECT_EQ(local, goldenOf(fmt::format("ag_linear.{}.rank{}", form, rank)));
    }
  }
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// Tensors by what stands for them: "@x" -> "T0_g_float[iS0{n}] (DeviceMesh{0 1})".
using Tensors = std::vector<std::pair<std::string, std::string>>;

std::string programOf(const Tensors& tensors, const std::string& signature, const std::string& body,
                      const std::string& sections = "") {
  std::string text = fmt::format("%HostIrContainer {{ {} :\n{}}} // %HostIrContainer\n{}", signature, body, sections);
  for (const auto& [name, tensor] : tensors) text = replaced(text, name, tensor);
  return text;
}

// --- segments ---

// The sum over the first axis of T0, which is sharded in chunks, of elements divided by its whole extent.
const char* const kMean =
    R"(%HostIrContainer { (T0_g_float[ideviceIdx.x0{4}, iS1{( ceilDiv(n, 4) )}, iS2{8}] (DeviceMesh{0 1 2 3})@WHOLE) -> (T4_g_float[iS11{8}] (DeviceMesh{0 1 2 3})) :
  PostOnStream(HostUnit0, Inputs:{T0_g_float[ideviceIdx.x0{4}, iS1{( ceilDiv(n, 4) )}, iS2{8}] (DeviceMesh{0 1 2 3}), }, Outputs:{T3_g_float[iS3{8}] (DeviceMesh{0 1 2 3}) (Partial{sum DIDx}), })
  Communication 0 (type=Allreduce, team=(0 1 2 3), input=T3_g_float[iS3{8}] (DeviceMesh{0 1 2 3}) (Partial{sum DIDx}), output=T4_g_float[iS11{8}] (DeviceMesh{0 1 2 3}), backend=Local)
  Wait Communication 0
}
Domains:{
  T0:{
    outer split iS9{n} by 4 -> ideviceIdx.x0{4}, iS1{( ceilDiv(n, 4) )}
    logical [iS9{n}, iS2{8}]
  }
}
HostUnit0{
  %Fusion mean { (T0_l_float[ideviceIdx.x0{4}, iS1{( ceilDiv(n, 4) )}, iS2{8}] (DeviceMesh{0 1 2 3})) -> (T2_l_float[rS6{n}, iS7{8}] (DeviceMesh{0 1 2 3}) (Partial{sum DIDx})) :
    T1_l_float[ideviceIdx.x3{4}, iS4{( ceilDiv(n, 4) )}, iS5{8}] (DeviceMesh{0 1 2 3})
       = T0_l_float[ideviceIdx.x0{4}, iS1{( ceilDiv(n, 4) )}, iS2{8}] (DeviceMesh{0 1 2 3})
       / ( f32(n) );
    T2_l_float[rS6{n}, iS7{8}] (DeviceMesh{0 1 2 3}) (Partial{sum DIDx})
       = reduction( T1_l_float[ideviceIdx.x3{4}, iS4{( ceilDiv(n, 4) )}, iS5{8}] (DeviceMesh{0 1 2 3}), op = add, initial value = float(0), allreduce = false )
  } // %Fusion
  Domains:{
    T0:{
      outer split iS9{n} by 4 -> ideviceIdx.x0{4}, iS1{( ceilDiv(n, 4) )}
      logical [iS9{n}, iS2{8}]
    }
    T1:{
      outer split iS10{n} by 4 -> ideviceIdx.x3{4}, iS4{( ceilDiv(n, 4) )}
      logical [iS10{n}, iS5{8}]
    }
  }
}
)";

TEST(LocalProgram, AMeanOverChunksDividesByTheWholeExtent) {
  EXPECT_EQ(localText(replaced(kMean, "@WHOLE", ""), {.number = 1, .ranks = 4}),
            R"(%HostIrContainer { (T0_g_float[iS0{n_part}, iS1{8}]) -> (T4_g_float[iS3{8}]) :
  PostOnStream (HostUnit0, Inputs:{T0_g_float[iS0{n_part}, iS1{8}], ( n_part * 4 ), }, Outputs:{T3_g_float[iS2{8}], })
  Communication 0 (type=Allreduce, team=(0 1 2 3), input=T3_g_float[iS2{8}], output=T4_g_float[iS3{8}], backend=Local)
  Wait Communication 0
} // %HostIrContainer
HostUnit0{
  %Fusion mean { (T0_l_float[iS0{n_part}, iS1{8}], n) -> (T2_l_float[rS4{n_part}, iS5{8}]) :
    T1_l_float[iS2{n_part}, iS3{8}]
       = T0_l_float[iS0{n_part}, iS1{8}]
       / ( f32(n) );
    T2_l_float[rS4{n_part}, iS5{8}]
       = reduction( T1_l_float[iS2{n_part}, iS3{8}], op = add, initial value = float(0), allreduce = false )
  } // %Fusion
}
)");
}

TEST(LocalProgram, AWholeExtentIsTakenFromTheInputThatTellsIt) {
  const std::string whole = replaced(kMean, "@WHOLE", ", T8_g_float[iS20{n}] (DeviceMesh{0 1 2 3})");
  EXPECT_THAT(localText(whole, {.number = 3, .ranks = 4}),
              HasSubstr("T0_g_float[iS0{( n - ( min(n, ( ( ceilDiv(n, 4) ) * 3 )) ) )}, iS1{8}], n, }"));
  EXPECT_THAT(localText(replaced(kMean, "@WHOLE", ", n"), {.number = 0, .ranks = 4}),
              HasSubstr("T0_g_float[iS0{( ceilDiv(n, 4) )}, iS1{8}], n, }"));
  // Rank 5 has T8 alone, which is not on the mesh of the segment.
  const std::string elsewhere = replaced(kMean, "@WHOLE", ", T8_g_float[iS20{n}] (DeviceMesh{5})");
  EXPECT_EQ(localText(elsewhere, {.number = 5, .ranks = 6}),
            "%HostIrContainer { (T8_g_float[iS0{n}]) -> () :\n} // %HostIrContainer\n");
}

TEST(LocalProgram, DefaultSizesAreThoseOfTheRank) {
  const auto program = parseHostProgram(replaced(kMean, "@WHOLE", ""), "test.host_ir");
  const Scalar* n = asTensor(program->inputs()[0])->logical()[0]->extent();
  program->defaultSizes()[const_cast<Scalar*>(n)] = 10;
  const auto sizesOf = [&](int64_t rank) {
    std::vector<int64_t> sizes;
    const auto local = localProgram(*program, {.number = rank, .ranks = 4});
    for (const auto& [symbol, value] : local->defaultSizes()) {
      EXPECT_EQ(symbol->name(), "n_part");
      sizes.push_back(value);
    }
    return sizes;
  };
  EXPECT_THAT(sizesOf(0), testing::ElementsAre(3));
  EXPECT_THAT(sizesOf(3), testing::ElementsAre(1));
}

TEST(LocalProgram, CommunicationsAreOfTheEngineThatCarriesThem) {
  const Tensors tensors = {{"@X", "T0_g_float[ideviceIdx.x0{2}, iS1{4}] (DeviceMesh{0 1})"},
                           {"@Y", "T1_g_float[iS2{8}] (DeviceMesh{0 1})"},
                           {"@FROM", "T2_g_float[iS3{4}] (DeviceMesh{0 1})"},
                           {"@TO", "T3_g_float[iS4{4}] (DeviceMesh{0 1})"},
                           {"@SENT", "T4_g_float[iS5{4}] (DeviceMesh{0})"}};
  const std::string text = programOf(
      tensors, "(@X, @FROM, @SENT) -> (@Y, @TO)",
      "  Communication 0 (type=Allgather, team=(0 1), input=@X, output=@Y, backend=NCCL)\n"
      "  CollectivePermute 1 (team=(0 1), send_peer=( ( 1 + rank ) % 2 ), recv_peer=( ( 1 + rank ) % 2 ), input=@FROM, "
      "output=@TO, backend=NCCL)\n"
      "  P2PCommunication 2 (type=send, buffer=@SENT, peer=1, backend=NCCL)\n"
      "  Wait Communication 0\n  Wait Communication 1\n  Wait Communication 2\n",
      "");
  const auto countOf = [](const std::string& printed, const std::string& part) {
    int64_t count = 0;
    for (size_t at = printed.find(part); at != std::string::npos; at = printed.find(part, at + 1)) ++count;
    return count;
  };
  const JobRank rank = {.number = 0, .ranks = 2};
  EXPECT_EQ(countOf(localText(text, rank), "backend=NCCL)"), 3);
  JobRank with_engine = rank;
  with_engine.backend = CommunicatorBackend::CUDA;
  EXPECT_EQ(countOf(localText(text, with_engine), "backend=CUDA)"), 3);
}

TEST(LocalProgram, APartThatNoInputHasIsGivenToTheSegment) {
  // A column of ones, of which each rank has a chunk.
  const Tensors tensors = {{"@ONES", "T1_g_float[ideviceIdx.x0{2}, iS1{( ceilDiv(n, 2) )}] (DeviceMesh{0 1})"},
                           {"@INNER", "T1_l_float[ideviceIdx.x0{2}, iS1{( ceilDiv(n, 2) )}] (DeviceMesh{0 1})"},
                           {"@SPLIT",
                            "Domains:{\n  T1:{\n    outer split iS4{n} by 2 -> ideviceIdx.x0{2}, iS1{( ceilDiv(n, 2) "
                            ")}\n    logical [iS4{n}]\n  }\n}\n"}};
  const std::string text =
      programOf(tensors, "(n) -> (@ONES)", "  PostOnStream(HostUnit0, Inputs:{n, }, Outputs:{@ONES, })\n",
                "@SPLIT"
                "HostUnit0{\n%Fusion ones { (n) -> (@INNER) :\n  @INNER\n = full({n}, float(1));\n}\n@SPLIT}\n");
  EXPECT_EQ(localText(text, {.number = 1, .ranks = 2}),
            R"(%HostIrContainer { (n) -> (T1_g_float[iS0{( n - ( ceilDiv(n, 2) ) )}]) :
  PostOnStream (HostUnit0, Inputs:{n, ( n - ( ceilDiv(n, 2) ) ), }, Outputs:{T1_g_float[iS0{( n - ( ceilDiv(n, 2) ) )}], })
} // %HostIrContainer
HostUnit0{
  %Fusion ones { (n, n_part) -> (T1_l_float[iS0{n_part}]) :
    T1_l_float[iS0{n_part}]
       = full({n_part}, float(1));
  } // %Fusion
}
)");
}

TEST(LocalProgram, SegmentsNeedTheShardsOfWhatTheyArePostedWith) {
  const std::string inner = "T0_l_float[ideviceIdx.x0{4}, iS1{( ceilDiv(n, 4) )}, iS2{8}] (DeviceMesh";
  const auto with = [&](const std::string& mesh) {
    return replaced(replaced(kMean, "@WHOLE", ""), inner + "{0 1 2 3}", inner + mesh);
  };
  const std::string otherwise =
      "local program: HostUnit0: axis 0 of its T0 is sharded otherwise than that of T0, which is given for it";
  EXPECT_EQ(refusal(with("{3 2 1 0}")), otherwise);
  // Rank 0 would have the same part by both, but the others would not.
  EXPECT_EQ(refusal(with("{0 3 2 1}")), otherwise);
  EXPECT_EQ(refusal(replaced(replaced(kMean, "@WHOLE", ""), "iS7{8}] (DeviceMesh{0 1 2 3}) (Partial{sum DIDx})",
                             "iS7{8}] (DeviceMesh{0 1 2 3})")),
            "local program: HostUnit0: its T2 is partial otherwise than T3, which is given for it; mark both");
  EXPECT_EQ(
      refusal(with("{1 2 3 4}"), {.number = 0, .ranks = 5}),
      "local program: HostUnit0: its T0 is not on rank 0, on which it is posted; give all of its tensors one mesh");
}

// --- communications ---

TEST(LocalProgram, ATeamIsTheRanksOwnRowOfTheMesh) {
  const std::string mesh = " (DeviceMesh{{0 1} {2 3}})";
  const Tensors tensors = {{"@x", "T0_g_float[ideviceIdx.x0{2}, iS1{8}]" + mesh},
                           {"@p", "T2_g_float[rS9{2}, iS4{2}, iS5{8}]" + mesh + " (Partial{sum DIDy})"},
                           {"@k", "T3_g_float[ideviceIdx.y6{2}, iS7{2}, iS8{8}]" + mesh},
                           {"@w", "T4_g_float[iS10{2}, iS11{8}]" + mesh},
                           {"@y", "T1_g_float[iS2{2}, iS3{8}]" + mesh}};
  const auto textOf = [&](const std::string& form, int64_t rank, const std::string& input = "@x") {
    return localText(programOf(tensors, "(@x, @k, @w) -> (@y)",
                               "  @p\n = reduction( @k, op = add, initial value = float(0), allreduce = false )\n"
                               "  @y = ALLOCATE(buffer=@y, mem_type=global, size=16, zero_init=false, "
                               "resets_to_zero=false)\n  Communication 0 (" +
                                   form + ", input=" + input + ", output=@y, backend=MPI)\n  Wait Communication 0\n"),
                     {.number = rank, .ranks = 4});
  };
  EXPECT_THAT(textOf("type=Allgather, team=(0 1)", 1), HasSubstr("team=(0 1), input=T0_g_float[iS0{1}, iS1{8}], "));
  EXPECT_THAT(textOf("type=Allgather, team=(0 1)", 2), HasSubstr("team=(2 3), input=T0_g_float[iS0{1}, iS1{8}], "));
  EXPECT_THAT(textOf("type=Allreduce, team=(0 2)", 3, "@p"), HasSubstr("team=(1 3), input"));
  EXPECT_THAT(textOf("type=Broadcast, team=(0 1), root=1", 2, "@w"), HasSubstr("team=(2 3), root=3, input"));
}

TEST(LocalProgram, ARootOfALoopIsInTheRanksOwnRowOfTheMesh) {
  const auto textOf = [](const std::string& mesh, int64_t rank) {
    const std::string suffix = " (DeviceMesh{" + mesh + "})";
    const Tensors tensors = {{"@x", "T0_g_float[ideviceIdx.x0{2}, iS1{8}]" + suffix},
                             {"@y", "T1_g_float[iS2{2}, iS3{8}]" + suffix},
                             {"@slice", "T2_l_float[iS4{8}]" + suffix}};
    return localText(programOf(tensors, "(@x) -> (@y)",
                               "  @y = ALLOCATE(buffer=@y, mem_type=global, size=16, zero_init=false, "
                               "resets_to_zero=false)\n  FOR i in iS2{2}:\n    @slice\n"
                               "       = HirAliasSelect( @y, axis = iS2{2}, index = i )\n"
                               "    Communication 0 (type=Broadcast, team=(0 1), root=i, input=@x, output=@slice, "
                               "backend=MPI)\n    Wait Communication 0\n"),
                     {.number = rank, .ranks = 4});
  };
  EXPECT_THAT(textOf("{0 1} {2 3}", 1), HasSubstr("team=(0 1), root=i, input=T0_g_float[iS0{1}, iS1{8}], output=T2"));
  EXPECT_THAT(textOf("{0 1} {2 3}", 2), HasSubstr("team=(2 3), root=( i + 2 ), input=T0"));
  EXPECT_THAT(textOf("{0 1} {3 2}", 3),
              HasSubstr("team=(3 2), root=( where(( i == 1 ), 2, ( where(( i == 0 ), 3, i) )) ), "));
}

const Tensors kGathered = {{"@x", "T0_g_float[ideviceIdx.x0{2}, iS1{8}] (DeviceMesh{0 1})"},
                           {"@y", "T1_g_float[iS2{2}, iS3{8}] (DeviceMesh{2})"},
                           {"@z", "T2_g_float[iS4{2}, iS5{8}] (DeviceMesh{2})"}};
const char* const kGather =
    "  @y = ALLOCATE(buffer=@y, mem_type=global, size=16, zero_init=false, resets_to_zero=false)\n"
    "  Communication 7 (type=Gather, team=(0 1 2), root=2, input=@x, output=@y, backend=NCCL)\n"
    "  Wait Communication 7\n  @z\n = exp(@y);\n";

TEST(LocalProgram, ACommunicationLacksTheSideOfWhichTheRankHasNothing) {
  const std::string text = programOf(kGathered, "(@x) -> (@z)", kGather);
  EXPECT_EQ(localText(text, {.number = 1, .ranks = 4}), R"(%HostIrContainer { (T0_g_float[iS0{1}, iS1{8}]) -> () :
  Communication 0 (type=Gather, team=(0 1 2), root=2, axis=0, parts=(1, 1, 0), input=T0_g_float[iS0{1}, iS1{8}], output=none, backend=NCCL)
  Wait Communication 0
} // %HostIrContainer
)");
  EXPECT_EQ(localText(text, {.number = 2, .ranks = 4}), R"(%HostIrContainer { () -> (T2_g_float[iS2{2}, iS3{8}]) :
  T1_g_float[iS0{2}, iS1{8}] = ALLOCATE(buffer=T1_g_float[iS0{2}, iS1{8}], mem_type=global, size=16, zero_init=false, resets_to_zero=false)
  Communication 0 (type=Gather, team=(0 1 2), root=2, axis=0, parts=(1, 1, 0), input=none, output=T1_g_float[iS0{2}, iS1{8}], backend=NCCL)
  Wait Communication 0
  T2_g_float[iS2{2}, iS3{8}]
     = expf(T1_g_float[iS0{2}, iS1{8}]);
} // %HostIrContainer
)");
  EXPECT_EQ(localText(text, {.number = 3, .ranks = 4}), "%HostIrContainer { () -> () :\n} // %HostIrContainer\n");
}

TEST(LocalProgram, AGroupIsPostedByThoseWhoTakePartInIt) {
  const Tensors tensors = {{"@x", "T0_g_float[iS0{8}] (DeviceMesh{0})"}, {"@y", "T1_g_float[iS1{8}] (DeviceMesh{1})"}};
  const std::string text =
      programOf(tensors, "(@x) -> (@y)",
                "  @y = ALLOCATE(buffer=@y, mem_type=global, size=8, zero_init=false, resets_to_zero=false)\n"
                "  StartCoalescing\n"
                "  P2PCommunication 0 (type=send, buffer=@x, peer=1, backend=NCCL)\n"
                "  P2PCommunication 1 (type=recv, buffer=@y, peer=0, backend=NCCL)\n"
                "  EndCoalescing 2\n  Wait Communication 2\n");
  EXPECT_EQ(localText(text, {.number = 0, .ranks = 3}), R"(%HostIrContainer { (T0_g_float[iS0{8}]) -> () :
  StartCoalescing
  P2PCommunication 0 (type=send, buffer=T0_g_float[iS0{8}], peer=1, backend=NCCL)
  EndCoalescing 1
  Wait Communication 1
} // %HostIrContainer
)");
  EXPECT_THAT(localText(text, {.number = 1, .ranks = 3}),
              HasSubstr("  StartCoalescing\n  P2PCommunication 0 (type=recv"));
  EXPECT_EQ(localText(text, {.number = 2, .ranks = 3}), "%HostIrContainer { () -> () :\n} // %HostIrContainer\n");
}

TEST(LocalProgram, APermutationHasTheRanksOwnTeam) {
  const std::string mesh = " (DeviceMesh{{0 1} {2 3}})";
  const Tensors tensors = {{"@x", "T0_g_float[iS0{8}]" + mesh}, {"@y", "T1_g_float[iS1{8}]" + mesh}};
  const std::string text =
      programOf(tensors, "(@x) -> (@y)",
                "  @y = ALLOCATE(buffer=@y, mem_type=global, size=8, zero_init=false, resets_to_zero=false)\n"
                "  CollectivePermute 0 (team=(0 1), send_peer=1, recv_peer=0, input=@x, output=@y, backend=NCCL)\n"
                "  Wait Communication 0\n");
  EXPECT_THAT(localText(text, {.number = 2, .ranks = 5}), HasSubstr("CollectivePermute 0 (team=(2 3), send_peer=1"));
  EXPECT_THAT(localText(text, {.number = 4, .ranks = 5}), Not(HasSubstr("Communication")));
}

// --- ops and views ---

TEST(LocalProgram, ASetOfAWholeTensorIsASetOfASlice) {
  const Tensors tensors = {{"@x", "T0_g_float[iS0{10}, iS1{8}] (DeviceMesh{0 1 2 3})"},
                           {"@y", "T1_g_float[ideviceIdx.x2{4}, iS3{3}, iS4{8}] (DeviceMesh{0 1 2 3})"}};
  const std::string text =
      programOf(tensors, "(@x) -> (@y)", "  @y\n = Set( @x )\n",
                "Domains:{\n  T1:{\n    outer split iS9{10} by 4 -> ideviceIdx.x2{4}, iS3{3}\n    logical [iS9{10}, "
                "iS4{8}]\n  }\n}\n");
  EXPECT_EQ(localText(text, {.number = 3, .ranks = 4}),
            R"(%HostIrContainer { (T0_g_float[iS0{10}, iS1{8}]) -> (T1_g_float[iS2{1}, iS3{8}]) :
  T2_l_float[iS4{1}, iS5{8}]
     = HirAliasSlice( T0_g_float[iS0{10}, iS1{8}], axis = iS0{10}, start = 9, stop = 10 )
  T1_g_float[iS2{1}, iS3{8}]
     = Set( T2_l_float[iS4{1}, iS5{8}] )
} // %HostIrContainer
)");
}

TEST(LocalProgram, WhatAttributesSayOfPartsIsSaidOfThese) {
  const std::string mesh = " (DeviceMesh{0 1})";
  const Tensors tensors = {{"@i", "T0_g_int64_t[ideviceIdx.x0{2}, iS1{4}]" + mesh},
                           {"@f", "T1_g_float[ideviceIdx.x2{2}, iS3{8}]" + mesh}};
  const std::string text = programOf(
      tensors, "() -> (@i, @f)",
      "  @i\n = iota( length = 7, start = 3, step = 2, dtype = int64_t )\n  @f\n = full({2, 8}, float(1));\n",
      "Domains:{\n  T0:{\n    outer split iS9{7} by 2 -> ideviceIdx.x0{2}, iS1{4}\n    logical [iS9{7}]\n  }\n}\n");
  EXPECT_EQ(localText(text, {.number = 1, .ranks = 2}),
            R"(%HostIrContainer { () -> (T0_g_int64_t[iS0{3}], T1_g_float[iS1{1}, iS2{8}]) :
  T0_g_int64_t[iS0{3}]
     = iota( length = 3, start = 11, step = 2, dtype = int64_t )
  T1_g_float[iS1{1}, iS2{8}]
     = full({1, 8}, float(1));
} // %HostIrContainer
)");
}

// --- what stands around statements ---

TEST(LocalProgram, ConditionsLoopsAndRelationsOfOtherMeshesAreLeftOut) {
  const Tensors tensors = {
      {"@x", "T0_g_float[iS0{n}, iS1{8}] (DeviceMesh{0})"}, {"@y", "T1_g_float[iS2{n}, iS3{8}] (DeviceMesh{0})"},
      {"@z", "T2_g_float[iS4{n}, iS5{8}] (DeviceMesh{0})"}, {"@r", "T3_l_float[iS6{8}] (DeviceMesh{0})"},
      {"@s", "T4_l_float[iS7{8}] (DeviceMesh{0})"},         {"@i", "T6_g_float[iS10{m}] (DeviceMesh{1})"},
      {"@o", "T7_g_float[iS11{m}] (DeviceMesh{1})"}};
  const std::string text =
      programOf(tensors, "(@x, @i, k) -> (@y, @o)",
                R"(  @y = ALLOCATE(buffer=@y, mem_type=global, size=( n * 8 ), zero_init=false, resets_to_zero=false)
  FOR i in iS0{n}:
    SetCurrentStream to Stream ( i % numberOfStreams )
  FOR i in iS0{n}:
    SetCurrentStream to Stream ( i % numberOfStreams )
    @r
       = HirAliasSelect( @x, axis = iS0{n}, index = i )
    @s
       = HirAliasSelect( @y, axis = iS2{n}, index = i )
    IF ( k < 3 ):
      @s
         = expf(@r);
    ELSE:
      @s
         = sinf(@r);
  @o
     = expf(@i);
  IF ( k < 3 ):
    DEALLOCATE(buffer=@z)
)",
                "Aliases:{\n  @z -> @y\n}\nDemands:{\n  add: k == n\n}\n");
  const auto program = parseHostProgram(text, "test.host_ir");
  const auto here = printHostProgram(*localProgram(*program, {.number = 0, .ranks = 2}));
  EXPECT_EQ(replaced(here, " (DeviceMesh{0})", ""), here);
  for (const char* const kept : {"FOR i in iS0{n}:\n    SetCurrentStream", "ELSE:", "DEALLOCATE",
                                 "T2_g_float[iS4{n}, iS5{8}] -> T1_g", "k == n"})
    EXPECT_THAT(here, HasSubstr(kept));
  EXPECT_THAT(here, Not(HasSubstr("T6_g")));
  EXPECT_EQ(printHostProgram(*localProgram(*program, {.number = 1, .ranks = 2})),
            R"(%HostIrContainer { (T6_g_float[iS0{m}], k) -> (T7_g_float[iS1{m}]) :
  T7_g_float[iS1{m}]
     = expf(T6_g_float[iS0{m}]);
} // %HostIrContainer
Demands:{
  add: k == n
}
)");
}

TEST(LocalProgram, ALoopOverAnAxisOfWhichTheRankHasAPartKeepsItsRange) {
  const Tensors tensors = {{"@x", "T0_g_float[ideviceIdx.x0{4}, iS1{8}] (DeviceMesh{0 1 2 3})"},
                           {"@y", "T1_g_float[iStreamIdx2{4}, iS3{8}] (DeviceMesh{0 1 2 3})"},
                           {"@r", "T2_l_float[iS4{8}] (DeviceMesh{0 1 2 3})"}};
  const std::string text =
      programOf(tensors, "(@x) -> (@y)",
                R"(  @y = ALLOCATE(buffer=@y, mem_type=global, size=32, zero_init=false, resets_to_zero=false)
  FOR StreamIdx in ideviceIdx.x0{4}:
    @r
       = HirAliasSelect( @y, axis = iStreamIdx2{4}, index = StreamIdx )
    Communication 0 (type=Allgather, team=(0 1 2 3), input=@x, output=@r, backend=CUDA)
    Wait Communication 0
)");
  const std::string local = localText(text, {.number = 2, .ranks = 4});
  EXPECT_THAT(local, HasSubstr("(T0_g_float[iS0{1}, iS1{8}]) -> (T1_g_float[iStreamIdx2{4}, iS3{8}])"));
  EXPECT_THAT(local, HasSubstr("FOR StreamIdx in iS5{4}:"));
}

TEST(LocalProgram, WhatIsInsideOfAPartKeepsItsLoops) {
  // 20 indices in 4 parts of 5, of which each rank has 2; and in each part rows of 3.
  const Tensors tensors = {{"@x", "T0_g_float[ideviceIdx.x0{2}, iS1{2}, iS2{2}, iS3{3}] (DeviceMesh{0 1})"},
                           {"@y", "T1_g_float[ideviceIdx.x10{2}, iS11{( ceilDiv(n, 2) )}] (DeviceMesh{0 1})"}};
  const std::string text = programOf(tensors, "(@x, @y) -> ()", "",
                                     R"(Domains:{
  T0:{
    outer split iS9{20} by 4 -> iS8{4}, iS7{5}
    outer split iS8{4} by 2 -> ideviceIdx.x0{2}, iS1{2}
    split iS7{5} by 3 -> iS2{2}, iS3{3}
    logical [iS9{20}]
  }
  T1:{
    outer split iS12{n} by 2 -> ideviceIdx.x10{2}, iS11{( ceilDiv(n, 2) )}
    logical [iS12{n}]
    allocation [ideviceIdx.x10{2}, iS11{( ceilDiv(n, 2) )}]
  }
}
)");
  EXPECT_EQ(localText(text, {.number = 1, .ranks = 2}),
            R"(%HostIrContainer { (T0_g_float[iS1{2}, iS3{2}, iS4{3}], T1_g_float[iS5{n_part}]) -> () :
} // %HostIrContainer
Domains:{
  T0:{
    split iS0{10} by 5 -> iS1{2}, iS2{5}
    split iS2{5} by 3 -> iS3{2}, iS4{3}
    logical [iS0{10}]
  }
}
)");
}

// --- refusals ---

TEST(LocalProgram, ARankIsOneOfTheJob) {
  EXPECT_EQ(refusal(programOf({}, "() -> ()", ""), {.number = 4, .ranks = 4}),
            "local program: rank 4 of a job of 4 rank(s)");
  EXPECT_EQ(refusal(programOf({}, "(T0_g_float[iS0{8}] (DeviceMesh{0 7})) -> ()", "")),
            "local program: T0: its mesh names rank 7, and the job has 4 rank(s): 0 to 3");
}

TEST(LocalProgram, ExtentsThatNothingTellsAreRefused) {
  const std::string text =
      programOf({}, "(T0_g_float[ideviceIdx.x0{2}, iS1{( ceilDiv(( n * 2 ), 2) )}] (DeviceMesh{0 1})) -> ()", "",
                "Domains:{\n  T0:{\n    outer split iS2{( n * 2 )} by 2 -> ideviceIdx.x0{2}, "
                "iS1{( ceilDiv(( n * 2 ), 2) )}\n    logical [iS2{( n * 2 )}]\n  }\n}\n");
  EXPECT_EQ(refusal(text),
            "local program: DIDx on axis 0 (iDIDx{2}) of T0: the extent ( n * 2 ) stands in chunks alone, which do not "
            "tell n; make n a scalar input");
}

TEST(LocalProgram, OpsThatAreNotLocalAreRefused) {
  const std::string mesh = " (DeviceMesh{{0 1} {2 3}})";
  const Tensors tensors = {{"@row", "T0_g_float[ideviceIdx.x0{2}, iS1{8}]" + mesh},
                           {"@other", "T1_g_float[ideviceIdx.y2{2}, iS3{8}]" + mesh},
                           {"@whole", "T2_g_float[iS4{2}, iS5{8}]" + mesh},
                           {"@result", "T3_g_float[ideviceIdx.x6{2}, iS7{8}]" + mesh},
                           {"@all", "T4_g_float[iS8{2}, iS9{8}]" + mesh},
                           {"@k", "T5_g_float[iS10{8}, ideviceIdx.x11{2}]" + mesh},
                           {"@product", "T6_g_float[iS12{8}, iS13{8}, rS14{2}]" + mesh},
                           {"@bias", "T7_g_float[iS15{8}]" + mesh},
                           {"@ex", "T10_g_float[bS20{1 ex 2}, iS21{8}]" + mesh},
                           {"@one", "T9_g_float[bS18{1}, iS19{8}]" + mesh},
                           {"@weight", "T8_g_float[iS16{8}, ideviceIdx.x17{2}]" + mesh}};
  const auto refused = [&](const std::string& body) {
    return refusal(programOf(tensors, "(@row, @other, @whole, @k, @bias, @one, @ex, @weight) -> ()", body));
  };
  EXPECT_EQ(refused("  @result\n = @row\n + @whole;\n"),
            "local program: add of T3: it reads axis 0 of T2, of which a rank has all, where it has a part of the "
            "result; a Communication, or a Set of the whole, comes before it");
  EXPECT_EQ(refused("  @all\n = exp(@row);\n"),
            "local program: exp of T4: it reads axis 0 of T0, of which a rank has a part, where it has all of the "
            "result; a Communication, or a Set of the whole, comes before it");
  EXPECT_EQ(refused("  @all\n = Set( @row )\n"),
            "local program: set of T4: it reads axis 0 of T0, of which a rank has a part, where it has all of the "
            "result; a Communication, or a Set of the whole, comes before it");
  // (Rank 0 has the same part of both.)
  EXPECT_EQ(refused("  @result\n = @row\n + @other;\n"),
            "local program: add of T3: it reads axis 0 of T1, of which a rank has a part, where it has another part of "
            "the result; a Communication, or a Set of the whole, comes before it");
  EXPECT_EQ(refused("  @result\n = flip( @row, axes = {0} )\n"),
            "local program: flip of T3: it is not independent along axis 0, of which a rank has a part; compute it "
            "whole, and take the part by a Set");
  EXPECT_EQ(
      refused("  @all\n = flip( @row, axes = {0} )\n"),
      "local program: flip of T4: it reads axis 0 of T0 in another way than index by index, and a rank has a part "
      "of it; a Communication comes before it");
  EXPECT_EQ(refused("  @product\n = matmul(@k,\n            @whole)\n"),
            "local program: matmul of T6: it reduces axis 0 of T2, of which a rank has all, together with a part of "
            "another operand's; both need the same part");
  EXPECT_EQ(refused("  @product\n = matmul(@k,\n            @other)\n"),
            "local program: matmul of T6: it reduces axis 0 of T1, of which a rank has another part, together with a "
            "part of another operand's; both need the same part");
  EXPECT_EQ(refused("  @product\n = matmul(@k,\n            @ex)\n"),
            "local program: matmul of T6: it reduces axis 0 of T10, of which a rank has all, together with a part of "
            "another operand's; both need the same part");
  EXPECT_EQ(refused("  @product\n = linear(@k,\n            @weight      ,\n          @bias      )\n"),
            "local program: linear of T6: it reads axis 1 of T5 in another way than index by index, and a rank has a "
            "part of it; a Communication comes before it");
}

TEST(LocalProgram, AProductOverAShardedAxisIsAPartialOne) {
  const std::string mesh = " (DeviceMesh{0 1})";
  const Tensors tensors = {{"@a", "T0_g_float[iS0{8}, ideviceIdx.x1{2}]" + mesh},
                           {"@b", "T1_g_float[ideviceIdx.x2{2}, iS3{8}]" + mesh},
                           {"@c", "T2_g_float[iS4{8}, iS5{8}, rS6{2}]" + mesh + " (Partial{sum DIDx})"}};
  EXPECT_THAT(localText(programOf(tensors, "(@a, @b) -> ()", "  @c\n = matmul(@a,\n            @b)\n"),
                        {.number = 1, .ranks = 2}),
              HasSubstr("T2_g_float[iS4{8}, iS5{8}, rS6{1}]\n     = matmul("));
}

// Exponentials of terms are no terms of an exponential.
TEST(LocalProgram, ATermIsMarkedAndReadByCommunicationsAlone) {
  const std::string mesh = " (DeviceMesh{{0 1} {2 3}})";
  const std::string partial = " (Partial{sum DIDx})";
  const Tensors tensors = {{"@x", "T0_g_float[ideviceIdx.x0{2}, iS1{8}]" + mesh},
                           {"@all", "T1_g_float[iS2{2}, iS3{8}]" + mesh},
                           {"@sum", "T2_g_float[rS4{2}, iS5{8}]" + mesh},
                           {"@term", "T3_g_float[rS6{2}, iS7{8}]" + mesh + partial},
                           {"@max", "T4_g_float[rS8{2}, iS9{8}]" + mesh + " (Partial{max DIDx})"},
                           {"@y", "T5_g_float[iS10{8}]" + mesh},
                           {"@copy", "T6_g_float[iS11{8}]" + mesh + partial},
                           {"@line", "T7_g_float[rS12{2}, iS13{8}] (DeviceMesh{0 1 2 3})" + partial},
                           {"@view", "T8_l_float[iS14{4}]" + mesh}};
  const std::string reduced = "\n = reduction( @x, op = add, initial value = float(0), allreduce = false )\n";
  const auto program = [&](const std::string& body) { return programOf(tensors, "(@x, @all) -> ()", body); };
  const auto refused = [&](const std::string& body) { return refusal(program(body)); };
  const auto communication = [](const std::string& form) {
    return "  Communication 0 (" + form + ", backend=Local)\n  Wait Communication 0\n";
  };
  EXPECT_THAT(refused("  @sum" + reduced + "  @y\n = exp(@sum);\n"),
              HasSubstr("sum of T2: a rank reduces its part of axis 0 of the operand, and T2 is not partial(sum, "
                        "DIDx) on that mesh; mark it, and let a Communication read it"));
  EXPECT_THAT(refused("  @max" + reduced), HasSubstr("T4 is not partial(sum, DIDx)"));
  EXPECT_THAT(refused("  @line" + reduced), HasSubstr("T7 is not partial(sum, DIDx) on that mesh"));
  EXPECT_EQ(refused("  @term" + reduced + "  @y\n = exp(@term);\n"),
            "local program: exp of T5: it reads T3, which is partial(sum, DIDx): a rank has a term of it; a "
            "Communication comes before it");
  EXPECT_THAT(refused("  @term" + reduced + "  @y\n = Set( @term )\n"), HasSubstr("set of T5: it reads T3, which is"));
  EXPECT_THAT(refused(replaced("  @term" + reduced, "@x", "@all")),
              HasSubstr("T3 is partial(sum, DIDx), and the op reduces no parts over DIDx: all ranks have the whole "
                        "value"));
  EXPECT_THAT(
      refused("  @term" + reduced + communication("type=Broadcast, team=(0 1), root=0, input=@term, output=@y")),
      HasSubstr("local program: Broadcast: what it gives of T3 is partial(sum, DIDx), and its output T5 is whole"));
  EXPECT_THAT(
      refused(communication("type=Allreduce, team=(0 1), input=@all, output=@sum")),
      HasSubstr("local program: Allreduce: its input T1 is not partial(sum, ..) over the dimension of its team"));
  EXPECT_THAT(
      refused("  @term" + reduced + communication("type=Allreduce, team=(0 2), input=@term, output=@y")),
      HasSubstr("Allreduce: T3 is partial(sum, DIDx) over a row of mesh((0, 1), (2, 3)), and its team (0 2) is none"));
  EXPECT_THAT(
      refused("  @term" + reduced + communication("type=Allreduce, team=(0 1), reduction=max, input=@term, output=@y")),
      HasSubstr("Allreduce: its input T3 is not partial(max, ..)"));
  EXPECT_EQ(
      refused("  @term" + reduced +
              "  @copy\n = Set( @term )\n  @view\n = HirAliasSlice( @copy, axis = iS11{8}, start = 0, stop = 4 )\n"),
      "local program: HirAliasSlice of T8: it is partial otherwise than T6, of which it is a view; mark both");
  const std::string local = localText(program("  @term" + reduced + "  @copy\n = Set( @term )\n" +
                                              communication("type=Allreduce, team=(0 1), input=@copy, output=@y")),
                                      {.number = 1, .ranks = 4});
  EXPECT_THAT(local, HasSubstr("= Set( T3_g_float[rS"));
  EXPECT_THAT(local, Not(HasSubstr("Partial")));
}

TEST(LocalProgram, AReshapeOfPartsIsOneOfTheSameElements) {
  const std::string mesh = " (DeviceMesh{0 1})";
  const auto textWith = [&](const std::string& chunk) {
    const Tensors tensors = {{"@x", "T0_g_float[ideviceIdx.x0{2}, iS1{3}, iS2{4}]" + mesh},
                             {"@y", "T1_g_float[ideviceIdx.x3{2}, iS4{" + chunk + "}]" + mesh}};
    return programOf(tensors, "(@x) -> (@y)", "  @y = view( @x )\n",
                     "Domains:{\n  T0:{\n    outer split iS9{5} by 2 -> ideviceIdx.x0{2}, iS1{3}\n    logical [iS9{5}, "
                     "iS2{4}]\n  }\n  T1:{\n    split iS8{20} by " +
                         chunk + " -> ideviceIdx.x3{2}, iS4{" + chunk + "}\n    logical [iS8{20}]\n  }\n}\n");
  };
  EXPECT_THAT(localText(textWith("12"), {.number = 1, .ranks = 2}),
              HasSubstr("T1_g_float[iS2{8}] = view( T0_g_float[iS0{2}, iS1{4}] )"));
  EXPECT_EQ(refusal(textWith("10")),
            "local program: reshape of T1: it is not independent along axis 0, of which a rank has a part; compute it "
            "whole, and take the part by a Set");
}

TEST(LocalProgram, ViewsAlongShardedAxesAreRefused) {
  const std::string mesh = " (DeviceMesh{0 1})";
  const Tensors tensors = {{"@x", "T0_g_float[ideviceIdx.x0{2}, iS1{8}]" + mesh},
                           {"@row", "T1_l_float[iS2{8}]" + mesh},
                           {"@column", "T2_l_float[iS3{2}]" + mesh},
                           {"@part", "T3_l_float[ideviceIdx.x4{2}, iS5{4}]" + mesh},
                           {"@few", "T4_l_float[iS6{1}, iS7{8}]" + mesh}};
  const auto refused = [&](const std::string& body) { return refusal(programOf(tensors, "(@x) -> ()", body)); };
  EXPECT_EQ(refused("  @row\n = HirAliasSelect( @x, axis = ideviceIdx.x0{2}, index = 0 )\n"),
            "local program: HirAliasSelect of T1: it is along axis 0 of T0, of which a rank has a part; take the view "
            "before, of what a Communication gathers, or of the rank's own part");
  EXPECT_EQ(refused("  @few\n = HirAliasSlice( @x, axis = ideviceIdx.x0{2}, start = 0, stop = 1 )\n"),
            "local program: HirAliasSlice of T4: it is along axis 0 of T0, of which a rank has a part; take the view "
            "before, of what a Communication gathers, or of the rank's own part");
  EXPECT_EQ(refused("  @column\n = HirAliasSelect( @x, axis = iS1{8}, index = 0 )\n"),
            "local program: HirAliasSelect of T2: its axis 0 is sharded otherwise than that of T0");
  EXPECT_THAT(localText(programOf(tensors, "(@x) -> ()",
                                  "  @part\n = HirAliasSlice( @x, axis = iS1{8}, start = 4, stop = 8 )\n"),
                        {.number = 1, .ranks = 2}),
              HasSubstr("T3_l_float[iS2{1}, iS3{4}]\n     = HirAliasSlice( T0_g_float[iS0{1}, iS1{8}], axis = iS1{8}"));
}

TEST(LocalProgram, ViewsOfTheRanksOwnPartAreTheMemoryThatItHas) {
  const std::string mesh = " (DeviceMesh{0 1})";
  const Tensors tensors = {{"@x", "T0_g_float[ideviceIdx.x0{2}, iS1{8}]" + mesh},
                           {"@row", "T1_l_float[iS2{8}]" + mesh},
                           {"@few", "T2_l_float[iS3{1}, iS4{8}]" + mesh}};
  for (const int64_t rank : {0, 1}) {
    const auto textOf = [&](const std::string& body) {
      return localText(programOf(tensors, "(@x) -> ()", body), {.number = rank, .ranks = 2});
    };
    EXPECT_THAT(textOf("  @row\n = HirAliasSelect( @x, axis = ideviceIdx.x0{2}, index = rank )\n"),
                HasSubstr("HirAliasSelect( T0_g_float[iS0{1}, iS1{8}], axis = iS0{1}, index = 0 )"));
    EXPECT_THAT(textOf("  @few\n = HirAliasSlice( @x, axis = ideviceIdx.x0{2}, start = rank, stop = ( rank + 1 ) )\n"),
                HasSubstr("HirAliasSlice( T0_g_float[iS0{1}, iS1{8}], axis = iS0{1}, start = 0, stop = 1 )"));
  }
  // Another rank's part, and more than a part.
  for (const std::string range : {"start = ( 1 - rank ), stop = ( 2 - rank )", "start = rank, stop = ( rank + 2 )"})
    EXPECT_THAT(refusal(programOf(tensors, "(@x) -> ()",
                                  "  @few\n = HirAliasSlice( @x, axis = ideviceIdx.x0{2}, " + range + " )\n"),
                        {.number = 0, .ranks = 2}),
                HasSubstr("it is along axis 0 of T0, of which a rank has a part"));
}

// The view of a term is partial like the tensor, unless its place says that it is the rank's own.
TEST(LocalProgram, ViewsOfTermsAreTheRanksOwnWhereTheirPlaceIs) {
  const std::string mesh = " (DeviceMesh{0 1})";
  const Tensors tensors = {{"@x", "T0_g_float[iS0{4}, ideviceIdx.x1{2}]" + mesh},
                           {"@sum", "T1_g_float[iS2{4}, rS3{2}]" + mesh + " (Partial{sum DIDx})"},
                           {"@term", "T2_l_float[rS4{2}]" + mesh}};
  const auto textOf = [&](const std::string& index) {
    return programOf(tensors, "(@x) -> ()",
                     "  @sum\n = reduction( @x, op = add, initial value = float(0), allreduce = false )\n"
                     "  @term\n = HirAliasSelect( @sum, axis = iS2{4}, index = " +
                         index + " )\n");
  };
  EXPECT_THAT(localText(textOf("( rank + 2 )"), {.number = 1, .ranks = 2}), HasSubstr("index = ( 1 + 2 ) )"));
  EXPECT_THAT(refusal(textOf("3"), {.number = 1, .ranks = 2}), HasSubstr("it is partial otherwise than T1"));
}

TEST(LocalProgram, KernelsThatArePartOfAProgramTakeWholeTensorsOnly) {
  const auto textWith = [](const std::string& input, const std::string& domains) {
    return replaced(R"(%HostIrContainer { (@x) -> (T1_g_float[iS9{10}] (DeviceMesh{0 1})) :
  LaunchKernel(Kernel0, grid={1, 1, 1}, block={1, 1, 1}, Inputs: {@x, }, Outputs: {T1_g_float[iS9{10}] (DeviceMesh{0 1}), })
}
Kernel0{
  kernel scale(T0: f32[n:1], n: i64) -> T1: f32[n:1] {
    for k in 0..n {
      T1[k] = exp(T0[k])
    }
  }
}
)",
                    "@x", input) +
           domains;
  };
  EXPECT_THAT(localText(textWith("T0_g_float[iS0{10}] (DeviceMesh{0 1})", ""), {.number = 1, .ranks = 2}),
              HasSubstr("Inputs: {T0_g_float[iS0{10}], }, Outputs: {T1_g_float[iS1{10}], })"));
  EXPECT_EQ(
      refusal(textWith("T0_g_float[ideviceIdx.x0{2}, iS1{5}] (DeviceMesh{0 1})",
                       "Domains:{\n  T0:{\n    outer split iS2{10} by 2 -> ideviceIdx.x0{2}, iS1{5}\n    logical "
                       "[iS2{10}]\n  }\n}\n")),
      "local program: LaunchKernel: T0 is sharded, and kernels that are part of a program have the sizes that they "
      "are written for; post a segment instead");
}

TEST(LocalProgram, StatementsNeedTensorsOfOneMesh) {
  const Tensors tensors = {{"@x", "T0_g_float[iS0{8}] (DeviceMesh{0})"},
                           {"@y", "T1_g_float[iS1{8}] (DeviceMesh{0 1})"}};
  EXPECT_EQ(refusal(programOf(tensors, "(@x) -> (@y)", "  @y\n = exp(@x);\n"), {.number = 1, .ranks = 2}),
            "local program: exp of T1: T0 is not on rank 1, which has T1; a Communication moves tensors between "
            "meshes");
  EXPECT_EQ(refusal(programOf(tensors, "(@x) -> (@y)",
                              "  Communication 0 (type=Broadcast, team=(0 1 2), root=0, input=@x, "
                              "output=@y, backend=NCCL)\n  Wait Communication 0\n"),
                    {.number = 2, .ranks = 3}),
            "local program: Broadcast: rank 2 is in its team, but has neither its input nor its output");
}

// Rank 0, which could run it, would wait for rank 1.
TEST(LocalProgram, WhatOneRankCannotRunIsRefusedOnAll) {
  const Tensors tensors = {{"@x", "T0_g_float[iS0{8}] (DeviceMesh{0})"},
                           {"@y", "T1_g_float[iS1{8}] (DeviceMesh{0 1})"}};
  const auto program = parseHostProgram(programOf(tensors, "(@x) -> (@y)", "  @y\n = exp(@x);\n"), "test.host_ir");
  EXPECT_NE(localProgram(*program, {.number = 0, .ranks = 2}), nullptr);
  const Error error = errorOf([&] { localProgramInJob(*program, {.number = 0, .ranks = 2}); });
  EXPECT_THAT(error.what(), AllOf(HasSubstr("T0 is not on rank 1, which has T1"), HasSubstr("for rank 1")));
}

}  // namespace
}  // namespace tokamak
