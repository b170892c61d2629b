// Operands whose extents have names of their own: a program that is dealt out in stream loops takes the sizes that the
// program without marks takes, and no others, also after it was printed and read back.
#include <cctype>
#include <cstdlib>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "host/ir/host_equal.h"
#include "host/ir/text/host_parser.h"
#include "host/ir/text/host_printer.h"
#include "host/sanitized_share.h"
#include "host_run/program_text.h"
#include "host_run/run_bench.h"
#include "host_run/streams/stream_forms.h"
#include "host_run/streams/stream_table.h"

namespace tokamak {
namespace {

using testing::HasSubstr;

const std::map<char, int64_t> kSizesOfLetters = {{'a', 2}, {'b', 3}, {'c', 4}, {'d', 2}, {'k', 5}, {'m', 4}, {'n', 3}};

// A form whose tensors share no symbol: what T0 calls k is k1 in T1.
struct ApartForm {
  OpForm form;
  std::map<std::string, int64_t> sizes;  // of all symbols
  std::vector<std::string> renamed;      // "k1"
};

bool isLetterAlone(const std::string& text, size_t i) {
  const auto isNamePart = [&](size_t at) {
    return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_');
  };
  return std::islower(static_cast<unsigned char>(text[i])) != 0 && !isNamePart(i - 1) && !isNamePart(i + 1);
}

ApartForm apart(const OpForm& form) {
  ApartForm made{.form = form, .sizes = {}, .renamed = {}};
  made.form.signature.clear();
  std::map<char, int> owner;  // the first tensor with the letter
  int tensor = -1;
  for (size_t i = 0; i < form.signature.size(); ++i) {
    const char c = form.signature[i];
    made.form.signature += c;
    if (c == '[') ++tensor;
    if (i == 0 || !isLetterAlone(form.signature, i)) continue;
    const int first = owner.try_emplace(c, tensor).first->second;
    std::string name(1, c);
    if (first != tensor) {
      name += std::to_string(tensor);
      made.form.signature += std::to_string(tensor);
      if (!made.sizes.contains(name)) made.renamed.push_back(name);
    }
    made.sizes[name] = kSizesOfLetters.at(c);
  }
  return made;
}

std::string textOf(const ApartForm& apart, const std::map<std::string, int64_t>& sizes, const std::string& schedule) {
  std::vector<std::string> given;
  for (const auto& [name, size] : sizes) given.push_back(fmt::format("{} = {}", name, size));
  return textOf(apart.form, {}, Extents::Symbols, "") + fmt::format("sizes {{ {} }}\n", joined(given)) +
         (schedule.empty() ? "" : "schedule { " + schedule + " }\n");
}

// What is said of the inputs, or nothing where the program takes them.
std::optional<Error> refusal(RunBench& bench, std::unique_ptr<HostIrContainer> program,
                             const std::vector<RunValue>& inputs, Mode mode) {
  HostIrEvaluator evaluator(std::move(program), bench.device, {.number_of_streams = 2, .mode = mode});
  try {
    for (const Tensor& output : evaluator.runWithInput(bound(evaluator.program(), inputs))) output.waitReady();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

std::unique_ptr<HostIrContainer> readBack(const HostIrContainer& program) {
  std::unique_ptr<HostIrContainer> again = parseHostProgram(printHostProgram(program), "again.host_ir");
  EXPECT_EQ(firstDifference(program, *again), "");
  return again;
}

struct Tally {
  int64_t taken = 0;
  int64_t refused = 0;
  std::set<std::string> refusing;  // forms
};

void compare(RunBench& bench, const ApartForm& apart, const std::map<std::string, int64_t>& sizes,
             const StreamMark& mark, const HostLoweringOptions& lowering, Mode mode, Tally& tally) {
  const std::unique_ptr<Fusion> plain = fusionOf(textOf(apart, sizes, ""));
  const int64_t rank = plain->outputs()[0]->axisCount();
  const std::string text = textOf(apart, sizes, scheduleOf(mark, rank));
  SCOPED_TRACE(text);
  std::unique_ptr<HostIrContainer> streamed;
  try {
    streamed = lowerToHostProgram(*fusionOf(text), lowering);
  } catch (const Error& error) {  // of the mark
    EXPECT_TRUE(error.code() == ErrorCode::Schedule || isRefusal(error)) << error.what();
    return;
  }
  const std::vector<RunValue> inputs = bench.inputsOf(*plain);
  const auto wanted = refusal(bench, lowerToHostProgram(*plain, lowering), inputs, mode);
  const auto again = refusal(bench, readBack(*streamed), inputs, mode);
  const auto got = refusal(bench, std::move(streamed), inputs, mode);
  // One batch for all of the other operand's, under another name: slices along the batches have no others.
  const bool is_batch_of_one = !wanted && got && got->message().starts_with("matmul: ") &&
                               got->message().find(" is 1 and ") != std::string::npos;
  if (is_batch_of_one) return;
  ASSERT_EQ(wanted.has_value(), got.has_value())
      << (wanted ? wanted->what() : "taken") << "\nstreamed: " << (got ? got->what() : "taken");
  ASSERT_EQ(wanted.has_value(), again.has_value()) << "read back: " << (again ? again->what() : "taken");
  ++(wanted ? tally.refused : tally.taken);
  if (!wanted) return;
  tally.refusing.insert(apart.form.name);
  EXPECT_EQ(wanted->code(), ErrorCode::Bind) << wanted->what();
  for (const Error& error : {*got, *again}) {
    // A slice that reads past an operand's end is found by the loop's own slices.
    const bool reads_past = wanted->message().find("read") != std::string::npos;
    const bool names_op =
        error.message().find("must be ") != std::string::npos || error.message().find("elsewhere") != std::string::npos;
    EXPECT_TRUE(reads_past || error.code() == ErrorCode::Bind) << error.what();
    EXPECT_TRUE(names_op || reads_past) << error.what() << "\nwithout the mark: " << wanted->what();
  }
}

// One comparison of so many; TOKAMAK_STREAM_FORMS=all takes all.
size_t strideOf(Grouping grouping) {
  const char* wanted = std::getenv("TOKAMAK_STREAM_FORMS");
  if (wanted != nullptr && std::string_view(wanted) == "all") return 1;
  return static_cast<size_t>(kShare) * (grouping == Grouping::Fused ? 809 : 251);
}

class ExtentDemands : public testing::TestWithParam<Grouping> {};

TEST_P(ExtentDemands, AreThoseOfTheProgramWithoutMarks) {
  RunBench bench;
  Tally tally;
  size_t next = 0;
  const size_t stride = strideOf(GetParam());
  const HostLoweringOptions lowering{.grouping = GetParam()};
  for (const OpForm& form : opForms()) {
    const ApartForm made = apart(form);
    int64_t rank = 0;
    try {
      rank = fusionOf(textOf(made, made.sizes, ""))->outputs()[0]->axisCount();
    } catch (const Error&) {
      continue;  // an attribute tells that the extents are one
    }
    for (const std::string& symbol : made.renamed) {
      for (const StreamMark& mark : streamMarks(rank)) {
        for (const int64_t more : {0, 1, -1}) {
          if (++next % stride != 0) continue;
          std::map<std::string, int64_t> sizes = made.sizes;
          sizes[symbol] += more;
          compare(bench, made, sizes, mark, lowering, next % 2 == 0 ? Mode::Plan : Mode::Direct, tally);
        }
      }
    }
  }
  std::cout << tally.taken << " taken, " << tally.refused << " refused of " << tally.refusing.size() << " forms\n";
  EXPECT_GT(tally.taken, 0);
  EXPECT_GT(tally.refused, 0);
}

INSTANTIATE_TEST_SUITE_P(Groupings, ExtentDemands,
                         testing::Values(Grouping::Single, Grouping::Segments, Grouping::Fused),
                         [](const auto& instance) {
                           return std::string(instance.param == Grouping::Single     ? "single"
                                              : instance.param == Grouping::Segments ? "segments"
                                                                                     : "kernels");
                         });

// What is said, and that nothing has run then.
TEST(ExtentDemandMessages, NameOpExtentsAndInputs) {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case cases[] = {
      {"fusion f(T0: f32[a], T1: f32[b]) -> T2 { T2 = add(T0, T1) } sizes { a = 7, b = 8 } "
       "schedule { parallelize(T2, axis=0, type=Stream) }",
       "add: b is 8 and a is 7; they must be equal (b: axis 0 of T1, a: axis 0 of T0)"},
      {"fusion f(T0: f32[m, k], T1: f32[l, n]) -> T2 { T2 = matmul(T0, T1) } sizes { m = 2, k = 3, l = 4, n = 2 } "
       "schedule { parallelize(T2, axis=1, type=Stream) }",
       "matmul: k is 3 and l is 4; they must be equal (k: axis 1 of T0, l: axis 0 of T1)"},
      {"fusion f(T0: f32[4], T1: f32[b]) -> T2 { T2 = add(T0, T1) } sizes { b = 3 } "
       "schedule { parallelize(T2, axis=0, type=Stream) }",
       "add: b is 3 and 4 is 4; they must be equal (b: axis 0 of T1)"},
  };
  for (const Case& each : cases) {
    RunBench bench;
    const std::unique_ptr<Fusion> fusion = fusionOf(each.text);
    for (const Mode mode : kModes) {
      const auto error =
          refusal(bench, lowerToHostProgram(*fusion, {.grouping = Grouping::Single}), bench.inputsOf(*fusion), mode);
      ASSERT_TRUE(error.has_value()) << each.text;
      EXPECT_EQ(error->code(), ErrorCode::Bind);
      EXPECT_EQ(error->message(), each.message);
    }
  }
}

// Of no elements a reshape pairs axes of any sizes; a text says so, too.
TEST(ExtentDemandMessages, AreReadAndPrinted) {
  const HostText parts{.tensors = {"T0_g_float[iS0{i0}]", "T1_g_float[iS1{i2}]", "T2_g_float[iS2{i0}]"},
                       .signature = "(@T0, @T1) -> (@T2)",
                       .body = "  @T2\n     = -@T0;\n",
                       .sections = "Demands:{\n  view: ( i0 * 2 ) == i2 or i0 == 0\n}\n"};
  const std::unique_ptr<HostIrContainer> program = hostProgramOf(parts);
  EXPECT_THAT(printHostProgram(*program), HasSubstr("Demands:{\n  view: ( i0 * 2 ) == i2 or i0 == 0\n}\n"));
  RunBench bench;
  const auto said = [&](int64_t n, int64_t m) {
    const std::vector<RunValue> inputs = {bench.random(DataType::F32, {n}, 1), bench.random(DataType::F32, {m}, 2)};
    const auto error = refusal(bench, readBack(*program), inputs, Mode::Plan);
    return error ? error->message() : "taken";
  };
  EXPECT_EQ(said(3, 6), "taken");
  EXPECT_EQ(said(0, 5), "taken");
  EXPECT_EQ(said(3, 5), "view: ( i0 * 2 ) is 6 and i2 is 5; they must be equal (i2: axis 0 of T1)");
}

}  // namespace
}  // namespace tokamak
