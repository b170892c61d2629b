// Every op form x axis and pair of axes x form of a mark: the streamed program gives what the program without marks
// gives, or the mark is refused with op, axis and reason (R35). docs/stream_table.md says what is streamed.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "host/sanitized_share.h"
#include "host_run/program_text.h"
#include "host_run/run_bench.h"
#include "host_run/streams/stream_forms.h"
#include "host_run/streams/stream_table.h"

namespace tokamak {
namespace {

const std::map<char, int64_t> kOdd = {{'a', 2}, {'b', 3}, {'c', 4}, {'d', 2}, {'k', 5}, {'m', 4}, {'n', 3}};
const std::map<char, int64_t> kOnes = {{'a', 1}, {'b', 1}, {'c', 1}, {'d', 1}, {'k', 1}, {'m', 1}, {'n', 1}};
const std::map<char, int64_t> kEqual = {{'a', 3}, {'b', 3}, {'c', 3}, {'d', 3}, {'k', 3}, {'m', 3}, {'n', 3}};
const std::map<char, int64_t> kEmpty = {{'a', 2}, {'b', 0}, {'c', 3}, {'d', 2}, {'k', 2}, {'m', 0}, {'n', 3}};

// All but the plain way's marks on outputs are a part, another one each, by primes, so that every mark is met at some
// form; TOKAMAK_STREAM_FORMS=all takes all.
bool takesAll() {
  const char* wanted = std::getenv("TOKAMAK_STREAM_FORMS");
  return wanted != nullptr && std::string_view(wanted) == "all";
}

// One mark of how many is looked at where a way takes one of `stride`. What each form gives is the release build's to
// judge; sanitizers look at a few of each.
size_t stepOf(size_t stride) {
  if (takesAll()) return 1;
  return kShare == 1 ? stride : std::max(static_cast<size_t>(kShare) * stride, size_t{389});
}

/// A way to run programs.
struct Way {
  std::string name;
  std::map<char, int64_t> sizes;
  Extents extents = Extents::Symbols;
  Grouping grouping = Grouping::Single;
  Mode mode = Mode::Plan;
  KernelRunner runner = KernelRunner::Compiled;
  StreamSync sync = StreamSync::Hoisted;
  size_t stride = 5;        ///< one mark of so many
  size_t input_stride = 7;  ///< of marks on inputs
};

std::ostream& operator<<(std::ostream& out, const Way& way) { return out << way.name; }

const Way kWays[] = {
    {.name = "planned", .sizes = kOdd, .stride = 1, .input_stride = 5},
    {.name = "planned_numbers", .sizes = kOdd, .extents = Extents::Numbers},
    {.name = "direct", .sizes = kEqual, .mode = Mode::Direct},
    {.name = "in_loop_numbers", .sizes = kEqual, .extents = Extents::Numbers, .sync = StreamSync::InLoop},
    {.name = "of_single_elements", .sizes = kOnes},
    {.name = "of_single_elements_numbers", .sizes = kOnes, .extents = Extents::Numbers},
    {.name = "of_no_elements", .sizes = kEmpty},
    {.name = "segments", .sizes = kOdd, .grouping = Grouping::Segments},
    {.name = "kernels",
     .sizes = kOdd,
     .grouping = Grouping::Fused,
     .runner = KernelRunner::Interpreted,
     .stride = 17,
     .input_stride = 37},
    {.name = "compiled_kernels", .sizes = kOdd, .grouping = Grouping::Fused, .stride = 193, .input_stride = 193},
};

class StreamForms : public testing::TestWithParam<Way> {
 protected:
  // Why the mark is refused, or nothing where the program ran; what is wrong becomes a failure.
  std::optional<std::string> run(RunBench& bench, const Fusion& plain, const Fusion& marked,
                                 const std::vector<RunValue>& inputs) {
    const Way& way = GetParam();
    HostLoweringOptions lowering{.grouping = way.grouping};
    lowering.stream_sync = way.sync;
    std::optional<MultiDeviceExecutor> executor;
    try {
      executor.emplace(marked, bench.device,
                       MultiDeviceExecutorParams{lowering, {.number_of_streams = 3, .mode = way.mode}});
    } catch (const Error& error) {
      EXPECT_TRUE(isRefusal(error)) << errorCodeName(error.code()) << ": " << error.message();
      return error.message();
    }
    try {
      const std::vector<Tensor> outputs = executor->runWithInput(inputs);
      EXPECT_EQ(differenceFromOracle(plain, oracleInputsOf(inputs), outputs), "");
    } catch (const Error& error) {
      ADD_FAILURE() << errorCodeName(error.code()) << ": " << error.message();
    }
    return std::nullopt;
  }
};

TEST_P(StreamForms, GiveWhatTheProgramWithoutMarksGivesOrAreRefused) {
  const Way& way = GetParam();
  RunBench bench({.threads = 2, .poisons_memory = true, .runner = way.runner});
  int64_t streamed = 0;
  int64_t refused = 0;
  const size_t stride = stepOf(way.stride);
  size_t next = way.name.size();
  for (const OpForm& form : opForms()) {
    const auto plain = fusionOf(textOf(form, way.sizes, way.extents, ""));
    const std::vector<RunValue> inputs = bench.inputsOf(*plain);
    const int64_t rank = plain->outputs()[0]->axisCount();
    for (const StreamMark& mark : streamMarks(rank)) {
      if (++next % stride != 0) continue;
      const std::string text = textOf(form, way.sizes, way.extents, scheduleOf(mark, rank));
      SCOPED_TRACE(text);
      std::unique_ptr<Fusion> marked;
      try {
        marked = fusionOf(text);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::Schedule) << error.message();
        ++refused;
        continue;
      }
      ++(run(bench, *plain, *marked, inputs) ? refused : streamed);
    }
  }
  std::cout << streamed << " streamed, " << refused << " refused\n";
  EXPECT_GT(streamed, 0);
  // Few marks say little of their share.
  if (streamed + refused >= 100) {
    EXPECT_GT(streamed, refused);
  }
}

// The same marks on an input: they go to what reads it, or are refused.
TEST_P(StreamForms, OfInputsGiveWhatTheProgramWithoutMarksGivesOrAreRefused) {
  const Way& way = GetParam();
  RunBench bench({.threads = 2, .poisons_memory = true, .runner = way.runner});
  int64_t streamed = 0;
  const size_t stride = stepOf(way.input_stride);
  size_t next = way.name.size();
  for (const OpForm& form : opForms()) {
    const auto plain = fusionOf(textOf(form, way.sizes, way.extents, ""));
    const std::vector<RunValue> inputs = bench.inputsOf(*plain);
    for (const TensorView* input : tensorsOf(plain->inputs())) {
      const int64_t rank = input->axisCount();
      for (const StreamMark& mark : streamMarks(rank)) {
        if (++next % stride != 0) continue;
        const std::string schedule = scheduleOf(mark, rank, "T" + std::to_string(input->label()));
        const std::string text = textOf(form, way.sizes, way.extents, schedule);
        SCOPED_TRACE(text);
        streamed += run(bench, *plain, *fusionOf(text), inputs) ? 0 : 1;
      }
    }
  }
  std::cout << streamed << " streamed\n";
  // Of few marks on axes of size 1, which are broadcast ones, none may be streamed.
  if (kShare == 1) {
    EXPECT_GT(streamed, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, StreamForms, testing::ValuesIn(kWays),
                         [](const auto& instance) { return instance.param.name; });

// scripts/stream_table has it written.
TEST(StreamTable, IsTheCommittedOne) {
  const std::string table = streamTable();
  if (const char* path = std::getenv("TOKAMAK_STREAM_TABLE")) {
    std::ofstream(path) << table;
    return;
  }
  std::ifstream file(TOKAMAK_TEST_DIR "/../docs/stream_table.md");
  std::stringstream committed;
  committed << file.rdbuf();
  EXPECT_EQ(table, committed.str()) << "run scripts/stream_table and review the difference";
}

}  // namespace
}  // namespace tokamak
