// Random schedules: commands with random arguments on random fusions. A legal one leaves the fusion legal and its text
// readable; an illegal one is a Schedule error that changes nothing.
#include <algorithm>
#include <map>
#include <random>

#include "define/functions.h"
#include "define/structured.h"
#include "ir/ops/math/load_store_op.h"
#include "program_of.h"
#include "schedule/cache.h"
#include "schedule/memory.h"
#include "schedule/propagate.h"
#include "schedule/rfactor.h"
#include "schedule/transform_like.h"
#include "schedule/transforms.h"
#include "unit/schedule/schedule_case.h"
#include "unit/symbolic/random_scalars.h"

namespace tokamak {
namespace {

class RandomSchedule {
 public:
  explicit RandomSchedule(uint64_t seed) : random_(seed) { define(); }

  const Fusion& fusion() const { return fusion_; }

  /// A random command; its name.
  std::string command() {
    static constexpr const char* kNames[] = {
        "split",          "merge",          "reorder",          "swizzle",         "parallelize", "inline_at",
        "inline_most",    "rfactor",        "cache_before",     "cache_after",     "cache_fork",  "set_memory_type",
        "set_allocation", "transform_like", "parallelize_like", "circular_buffer", "propagate"};
    return kNames[below(std::size(kNames))];
  }

  void run(const std::string& name) {
    TensorView* t = mostlyFitting(name);
    if (name == "split") return split(t, anyAxis(*t), below(10), below(2) == 0 ? SplitSide::Inner : SplitSide::Outer);
    if (name == "merge") return merge(t, anyAxis(*t));
    if (name == "reorder") return reorder(t, anyOrder(*t));
    if (name == "swizzle")
      return swizzle(t, anyAxis(*t), anyAxis(*t), below(2) == 0 ? SwizzleType::Xor : SwizzleType::CyclicShift);
    if (name == "parallelize") return parallelize(t, anyAxis(*t), static_cast<ParallelType>(below(17)));
    if (name == "inline_at") return inline_at(t, static_cast<int64_t>(below(5)) - 1);
    if (name == "inline_most") return inline_most(std::vector{t});
    if (name == "rfactor") return static_cast<void>(rfactor(t, anyAxes(*t)));
    if (name == "cache_before") return static_cast<void>(cache_before(t));
    if (name == "cache_after") return static_cast<void>(cache_after(t));
    if (name == "cache_fork") return static_cast<void>(cache_fork(t));
    if (name == "set_memory_type") return set_memory_type(t, static_cast<MemoryType>(below(3)));
    if (name == "set_allocation") return set_allocation(t, anyOrder(*t));
    if (name == "transform_like")
      return transform_like(t, below(2) == 0 ? std::vector<TensorView*>{} : std::vector{anyTensor()});
    if (name == "parallelize_like") return parallelize_like(t);
    if (name == "circular_buffer")
      return circular_buffer(t, static_cast<int64_t>(below(4)), static_cast<int64_t>(below(4)));
    propagate(t);
  }

 private:
  // Two inputs, elementwise ops, broadcasts and reductions on them.
  void define() {
    Scalar* rows = fusion_.symbol("i0");
    TensorView* in = inputOf(fusion_, DataType::F32, {rows, below(2) == 0 ? 8 : 12});
    TensorView* row = inputOf(fusion_, DataType::F32, {in->logical()[1]->extent()});
    std::vector<TensorView*> made = {in, unsqueeze(exp(row), 0)};
    for (size_t i = 0; i < 3 + below(4); ++i) {
      TensorView* a = made[below(made.size())];
      TensorView* b = made[below(made.size())];
      switch (below(5)) {
        case 0: made.push_back(exp(a)); break;
        case 1: made.push_back(set(a)); break;
        case 2: made.push_back(unsqueeze(sum(a, {1}), 1)); break;
        case 3: made.push_back(unsqueeze(max(a, {0}), 0)); break;
        default: made.push_back(add(a, b)); break;
      }
    }
    TensorView* last = add(made.back(), in);
    fusion_.addOutput(last);
    if (below(2) == 0) fusion_.addOutput(sum(last, {0, 1}));
    if (below(3) == 0) fusion_.addOutput(made.back()->definition() != nullptr ? made.back() : exp(in));
  }

  size_t below(size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random_); }

  TensorView* anyTensor() {
    const std::vector<TensorView*> tensors = fusion_.allTensors();
    return tensors[below(tensors.size())];
  }
  // Few tensors are reductions in several loops or copies.
  TensorView* mostlyFitting(const std::string& name) {
    TensorView* found = anyTensor();
    for (int tries = 0; tries < 30; ++tries) {
      const auto reductions = std::ranges::count_if(found->loop(), &IterDomain::isReduction);
      const bool is_copy = found->definition() != nullptr && found->definition()->is<LoadStoreOp>();
      const bool fits = name == "rfactor"           ? reductions > 1
                        : name == "split"           ? reductions > 0 || tries > 1
                        : name == "circular_buffer" ? is_copy
                                                    : true;
      if (fits) break;
      found = anyTensor();
    }
    return found;
  }
  // Now and then one that is none.
  int64_t anyAxis(const TensorView& tensor) {
    return static_cast<int64_t>(below(static_cast<size_t>(tensor.axisCount()) * 2 + 2)) - tensor.axisCount() - 1;
  }
  std::vector<int64_t> anyAxes(const TensorView& tensor) {
    std::vector<int64_t> axes;
    for (int64_t i = 0; i < tensor.axisCount(); ++i) {
      if (tensor.axis(i)->isReduction() ? below(2) == 0 : below(20) == 0) axes.push_back(i);
    }
    return axes;
  }
  std::vector<int64_t> anyOrder(const TensorView& tensor) {
    std::vector<int64_t> order(static_cast<size_t>(tensor.axisCount()));
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
    std::shuffle(order.begin(), order.end(), random_);
    if (!order.empty() && below(4) == 0) order[0] = anyAxis(tensor);
    return order;
  }

  std::mt19937_64 random_;
  Fusion fusion_;
};

struct Tally {
  int64_t legal = 0;
  int64_t refused = 0;
};

TEST(ScheduleRandom, LegalCommandsKeepTheFusionLegalAndIllegalOnesChangeNothing) {
  std::map<std::string, Tally> tallies;
  for (int64_t seed = 0; seed < test::caseCount(15'000) / 75; ++seed) {
    RandomSchedule schedule(static_cast<uint64_t>(seed));
    ASSERT_NO_THROW(verify(schedule.fusion(), Stage::Definition));
    for (int step = 0; step < 30; ++step) {
      const std::string name = schedule.command();
      const std::string before = printFusion(schedule.fusion());
      const auto copy = cloneFusion(schedule.fusion());
      try {
        schedule.run(name);
        ++tallies[name].legal;
      } catch (const Error& error) {
        ++tallies[name].refused;
        ASSERT_EQ(error.code(), ErrorCode::Schedule) << error.what();
        ASSERT_TRUE(error.message().starts_with(name)) << name << ": " << error.message();
        ASSERT_EQ(printFusion(schedule.fusion()), before) << error.what();
        ASSERT_EQ(firstDifference(schedule.fusion(), *copy), "") << error.what();
        continue;
      }
      checkedText(schedule.fusion());
      ASSERT_FALSE(HasFailure()) << "seed " << seed << ", step " << step << ": " << name << "\n" << before;
    }
  }
  int64_t refused = 0;
  for (const auto& [name, tally] : tallies) {
    EXPECT_GT(tally.legal, 2) << name;
    refused += tally.refused;
  }
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace tokamak
