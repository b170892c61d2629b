// Random programs over all op forms with random Stream marks: an op form at random sizes, ops behind it, marks on any
// of them, run in a random way. TOKAMAK_STREAM_PROGRAMS says how many, TOKAMAK_STREAM_SEED the first seed;
// scripts/stream_programs writes the tally of a long run.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "host/ir/text/host_printer.h"
#include "host/sanitized_share.h"
#include "host_run/program_text.h"
#include "host_run/run_bench.h"
#include "host_run/streams/stream_forms.h"
#include "host_run/streams/stream_table.h"

namespace tokamak {
namespace {

uint64_t numberFrom(const char* name, uint64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::stoull(text);
}

struct Tally {
  int64_t programs = 0;
  int64_t streamed = 0;
  int64_t refused_marks = 0;
  std::vector<uint64_t> wrong;   // seeds of programs whose results differ
  std::vector<uint64_t> failed;  // of those that end with an error
};

class Drawing {
 public:
  template <class List>
  const auto& pick(const List& list) {
    return *(std::begin(list) + below(static_cast<int64_t>(std::size(list))));
  }

  explicit Drawing(uint64_t seed) : random_(seed) {
    form_ = &pick(opForms());
    constexpr int64_t kSizes[] = {1, 2, 2, 3, 3, 4, 5, 7};
    for (const char symbol : {'a', 'b', 'c', 'd', 'k', 'm', 'n'}) sizes_[symbol] = chance(3) ? 0 : pick(kSizes);
    extents_ = chance(50) ? Extents::Symbols : Extents::Numbers;
    addRank("T9");
    const int64_t behind = below(4);
    for (int64_t i = 0; i < behind; ++i) addOp();
  }

  bool chance(int64_t percent) { return below(100) < percent; }
  int64_t below(int64_t bound) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(bound)); }

  std::string text(const std::string& schedule) const { return textOf(form(), sizes_, extents_, schedule); }

  // Marks one after the other, as long as the program can be read and lowered with them.
  template <class Accepts>
  std::string drawSchedule(const Accepts& accepts, Tally& tally) {
    std::string schedule;
    for (const auto& [tensor, rank] : ranks_) {
      if (rank == 0 || !chance(60)) continue;
      std::vector<StreamMark> marks = streamMarks(rank);
      const std::string longer = schedule + " " + scheduleOf(pick(marks), rank, tensor);
      if (accepts(text(longer)))
        schedule = longer;
      else
        ++tally.refused_marks;
    }
    return schedule;
  }

 private:
  OpForm form() const {
    OpForm form = *form_;
    form.behind = behind_;
    if (!behind_.empty()) form.also_given = last_;
    return form;
  }

  void addRank(const std::string& tensor) {
    const auto fusion = fusionOf(text(""));
    for (const TensorView* one : fusion->allTensors()) {
      if ("T" + std::to_string(one->label()) == tensor) ranks_.emplace_back(tensor, one->axisCount());
      if ("T" + std::to_string(one->label()) == tensor) visible_ = static_cast<int64_t>(shapeOf(*one).size());
    }
  }

  void addOp() {
    const auto [in, rank] = ranks_.back();
    const std::string out = "T" + std::to_string(20 + ranks_.size());
    const std::string op = drawOp(in);
    behind_ += fmt::format("\n  {} = {}", out, op);
    last_ = out;
    addRank(out);
  }

  std::string drawOp(const std::string& in) {
    if (visible_ == 0) return fmt::format("add({}, {})", in, in);
    const int64_t axis = below(visible_);
    std::vector<int64_t> order;
    for (int64_t i = 0; i < visible_; ++i) order.push_back((i + 1) % visible_);
    switch (below(7)) {
      case 0: return fmt::format("relu({})", in);
      case 1: return fmt::format("permute({}, order=[{}])", in, joined(order));
      case 2: return fmt::format("sum({}, axes=[{}])", in, axis);
      case 3: return fmt::format("mul({}, max({}, axes=[{}], keepdim=true))", in, in, axis);
      case 4: return fmt::format("cat([{}, {}], axis={})", in, in, axis);
      case 5: return fmt::format("unsqueeze({}, axis={})", in, axis);
      default: return fmt::format("add({}, {})", in, in);
    }
  }

  std::mt19937_64 random_;
  const OpForm* form_ = nullptr;
  std::map<char, int64_t> sizes_;
  Extents extents_ = Extents::Symbols;
  std::string behind_;
  std::string last_;
  std::vector<std::pair<std::string, int64_t>> ranks_;
  int64_t visible_ = 0;
};

// The fusion whose results are T9 and what stands last; null where a form has no such sizes.
std::optional<Drawing> drawingOf(uint64_t seed) {
  try {
    return Drawing(seed);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Definition) << "seed " << seed << ": " << error.what();
    return std::nullopt;
  }
}

// Leaves free memory in the heap whose addresses rise and fall, so that what is made next lies in another order.
void shuffleFreeMemory(std::mt19937_64& random) {
  std::vector<std::unique_ptr<char[]>> blocks;
  for (size_t size = 16; size <= 512; size += 16)
    for (int i = 0; i < 16; ++i) blocks.push_back(std::make_unique<char[]>(size));
  std::ranges::shuffle(blocks, random);
}

class StreamSeeds {
 public:
  void run(uint64_t seed) {
    std::optional<Drawing> drawing = drawingOf(seed);
    if (!drawing) return;
    HostLoweringOptions lowering;
    const int64_t grouping = drawing->below(100);
    lowering.grouping = grouping < 50 ? Grouping::Single : grouping < 65 ? Grouping::Segments : Grouping::Fused;
    lowering.stream_sync = drawing->chance(70) ? StreamSync::Hoisted : StreamSync::InLoop;
    const Mode mode = drawing->chance(60) ? Mode::Plan : Mode::Direct;
    const int64_t streams = 1 + drawing->below(5);
    const auto accepts = [&](const std::string& text) { return isAccepted(text, lowering); };
    const std::string text = drawing->text(drawing->drawSchedule(accepts, tally));
    SCOPED_TRACE(fmt::format("seed {}, grouping {}\n{}", seed, static_cast<int>(lowering.grouping), text));
    ++tally.programs;
    if (text.find("Stream") != std::string::npos) ++tally.streamed;
    const auto fusion = fusionOf(text);
    expectOneProgram(text, lowering, seed);
    const auto plain = fusionOf(drawing->text(""));
    RunBench& bench = lowering.grouping == Grouping::Fused ? interpreted_ : loops_;
    const std::vector<RunValue> inputs = bench.inputsOf(*plain, {}, seed);
    const std::vector<oracle::Input> reference = oracleInputsOf(inputs);
    try {
      MultiDeviceExecutor executor(*fusion, bench.device, {lowering, {.number_of_streams = streams, .mode = mode}});
      const std::string difference = differenceFromOracle(*plain, reference, executor.runWithInput(inputs));
      if (difference.empty()) return;
      tally.wrong.push_back(seed);
      ADD_FAILURE() << difference;
    } catch (const Error& error) {
      tally.failed.push_back(seed);
      ADD_FAILURE() << errorCodeName(error.code()) << ": " << error.what();
    }
  }

  Tally tally;

 private:
  // Ranks that lower one text compare what they got.
  static void expectOneProgram(const std::string& text, const HostLoweringOptions& lowering, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::string first;
    for (int i = 0; i < 4; ++i) {
      shuffleFreeMemory(random);
      const std::string again = printHostProgram(*lowerToHostProgram(*fusionOf(text), lowering));
      if (first.empty()) first = again;
      ASSERT_EQ(again, first) << "one text gives two programs";
    }
  }

  static bool isAccepted(const std::string& text, const HostLoweringOptions& lowering) {
    try {
      lowerToHostProgram(*fusionOf(text), lowering);
      return true;
    } catch (const Error& error) {
      EXPECT_TRUE(isRefusal(error)) << errorCodeName(error.code()) << ": " << error.what() << "\n" << text;
      return false;
    }
  }

  RunBench loops_;
  RunBench interpreted_{{.threads = 2, .poisons_memory = true, .runner = KernelRunner::Interpreted}};
};

TEST(StreamFormPrograms, GiveTheReferencesResults) {
  const uint64_t count = numberFrom("TOKAMAK_STREAM_PROGRAMS", 400 / kShare);
  const uint64_t first = numberFrom("TOKAMAK_STREAM_SEED", 1);
  StreamSeeds seeds;
  for (uint64_t seed = first; seed < first + count; ++seed) seeds.run(seed);
  const Tally& tally = seeds.tally;
  const std::string text = fmt::format(
      R"({{"first_seed": {}, "seeds": {}, "programs": {}, "streamed": {}, "refused_marks": {}, "wrong": {}, )"
      R"("failed": {}, "wrong_seeds": [{}], "failed_seeds": [{}]}})",
      first, count, tally.programs, tally.streamed, tally.refused_marks, tally.wrong.size(), tally.failed.size(),
      joined(tally.wrong), joined(tally.failed));
  std::cout << text << "\n";
  if (const char* path = std::getenv("TOKAMAK_STREAM_RESULTS")) std::ofstream(path) << text << "\n";
  EXPECT_GT(tally.streamed, tally.programs / 3);
}

}  // namespace
}  // namespace tokamak
