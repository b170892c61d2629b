// Random chains of ops that show their operand's elements: what strides can tell costs nothing, and everything is what
// the oracle says.
#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "host/sanitized_share.h"
#include "host_run/program_text.h"
#include "host_run/run_bench.h"

namespace tokamak {
namespace {

using Sizes64 = std::vector<int64_t>;

int64_t countOf(const Sizes64& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

// A tensor as the list of the places of its elements in the input, in row-major order: what numpy.shares_memory looks
// at, without strides.
struct Places {
  Sizes64 sizes;
  std::vector<int64_t> of_elements;

  static Places of(const Sizes64& sizes) {
    Places all{sizes, std::vector<int64_t>(static_cast<size_t>(countOf(sizes)))};
    std::iota(all.of_elements.begin(), all.of_elements.end(), int64_t{0});
    return all;
  }

  int64_t at(const Sizes64& index) const {
    int64_t element = 0;
    for (size_t i = 0; i < sizes.size(); ++i) element = element * sizes[i] + index[i];
    return of_elements[static_cast<size_t>(element)];
  }

  // The elements of another tensor, each of which is found here by `from`.
  template <class From>
  Places shown(const Sizes64& new_sizes, const From& from) const {
    Places result{new_sizes, {}};
    Sizes64 index(new_sizes.size(), 0);
    for (int64_t element = 0; element < countOf(new_sizes); ++element) {
      result.of_elements.push_back(at(from(index)));
      for (size_t axis = index.size(); axis-- > 0;) {
        if (++index[axis] < new_sizes[axis]) break;
        index[axis] = 0;
      }
    }
    return result;
  }

  // Whether one stride per axis leads to every element.
  bool hasStrides() const {
    if (of_elements.empty()) return true;
    Sizes64 strides;
    for (size_t axis = 0; axis < sizes.size(); ++axis) {
      Sizes64 second(sizes.size(), 0);
      second[axis] = std::min<int64_t>(1, sizes[axis] - 1);
      strides.push_back(at(second) - of_elements[0]);
    }
    size_t element = 0;
    bool is_strided = true;
    static_cast<void>(shown(sizes, [&](const Sizes64& index) {
      int64_t place = of_elements[0];
      for (size_t axis = 0; axis < index.size(); ++axis) place += index[axis] * strides[axis];
      is_strided = is_strided && place == of_elements[element++];
      return index;
    }));
    return is_strided;
  }
};

// A program of one output at the end of a chain, and what is known of it.
class RandomChain {
 public:
  explicit RandomChain(uint64_t seed) : random_(seed) {
    Sizes64 sizes;
    for (size_t axis = 1 + below(4); axis > 0; --axis) sizes.push_back(pick({2, 3, 4, 6, 8, 12}));
    places_ = Places::of(sizes);
    first_sizes_ = sizes;
    is_broadcast_.assign(sizes.size(), false);
    text_ = fmt::format("fusion f(T0: f32[{}])", joined(sizes));
    for (size_t steps = 1 + below(5); steps > 0; --steps) append();
  }

  std::string text() const { return fmt::format("{} -> T{} {{{} }}", text_, last_, body_); }
  // The chain between what an input, a kernel or a product gives and a product that reads its end, on either side.
  std::string textOfOperand() {
    const Sizes64& sizes = places_.sizes;
    const size_t source = below(3);
    const std::string inputs = text_.substr(std::string("fusion f(T0: ").size());
    const std::string of_input = inputs.substr(0, inputs.size() - 1);  // without the parenthesis
    const int64_t first_k = first_sizes_.back();
    std::string head = source == 0 ? fmt::format("fusion f(T0: {}", of_input) : fmt::format("fusion f(A: {}", of_input);
    std::string body;
    if (source == 1) body = " T0 = exp(A)";
    if (source == 2) {
      head += fmt::format(", B: f32[{}, {}]", first_k, first_k);
      body = first_sizes_.size() == 1 ? " T0 = matmul(B, A)" : " T0 = matmul(A, B)";
    }
    const Sizes64 batches(sizes.begin(), sizes.end() - std::min<std::ptrdiff_t>(std::ssize(sizes), 2));
    const std::string leading = batches.empty() || below(2) == 0 ? "" : joined(batches) + ", ";
    const int64_t k = sizes.back();
    const int64_t rows = sizes.size() < 2 ? k : sizes[sizes.size() - 2];
    switch (below(3)) {
      case 0:
        head += fmt::format(", C: f32[{}{}, 3]", leading, k);
        body += fmt::format("{} P = matmul(T{}, C)", body_, last_);
        break;
      case 1:
        head += fmt::format(", C: f32[{}5, {}]", leading, rows);
        body += fmt::format("{} P = matmul(C, T{})", body_, last_);
        break;
      default: head += fmt::format(", C: f32[5, {}]", k); body += fmt::format("{} P = linear(T{}, C)", body_, last_);
    }
    return fmt::format("{}) -> P {{{} }}", head, body);
  }
  bool isView() const { return is_view_; }
  bool isEmpty() const { return countOf(places_.sizes) == 0; }
  bool isStep() const { return last_ > 0; }
  bool hasAxes() const { return !places_.sizes.empty(); }

 private:
  size_t below(size_t bound) { return static_cast<size_t>(random_() % bound); }
  int64_t pick(std::vector<int64_t> values) { return values[below(values.size())]; }

  template <class From>
  void put(const std::string& op, const Sizes64& sizes, const From& from) {
    places_ = places_.shown(sizes, from);
    body_ += fmt::format(" T{} = {}", last_ + 1, op);
    ++last_;
  }
  std::string operand() const { return fmt::format("T{}", last_); }

  void append() {
    switch (below(8)) {
      case 0: return permute();
      case 1: return slice();
      case 2: return select();
      case 3: return broadcast();
      case 4: return squeezeOrExpand();
      default: return reshape();
    }
  }

  void permute() {
    const Sizes64 old = places_.sizes;
    std::vector<size_t> order(old.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::shuffle(order, random_);
    Sizes64 sizes;
    std::vector<bool> is_broadcast;
    for (const size_t axis : order) {
      sizes.push_back(old[axis]);
      is_broadcast.push_back(is_broadcast_[axis]);
    }
    is_broadcast_ = is_broadcast;
    put(fmt::format("permute({}, order=[{}])", operand(), joined(order)), sizes, [&](const Sizes64& index) {
      Sizes64 from(index.size());
      for (size_t i = 0; i < order.size(); ++i) from[order[i]] = index[i];
      return from;
    });
  }

  void slice() {
    Sizes64 starts, stops, steps, sizes;
    for (size_t axis = 0; axis < places_.sizes.size(); ++axis) {
      const int64_t size = places_.sizes[axis];
      const bool is_whole = is_broadcast_[axis] || size < 2 || below(2) == 0;
      starts.push_back(is_whole ? 0 : static_cast<int64_t>(below(static_cast<size_t>(size) / 2 + 1)));
      const int64_t left = size - starts.back();
      const int64_t part = below(12) == 0 ? 0 : (left + 1) / 2;
      stops.push_back(is_whole || below(2) == 0 ? size : starts.back() + part);
      steps.push_back(is_whole || below(3) != 0 ? 1 : 2);
      sizes.push_back((stops.back() - starts.back() + steps.back() - 1) / steps.back());
    }
    put(fmt::format("slice({}, starts=[{}], stops=[{}], steps=[{}])", operand(), joined(starts), joined(stops),
                    joined(steps)),
        sizes, [&](const Sizes64& index) {
          Sizes64 from(index.size());
          for (size_t i = 0; i < index.size(); ++i) from[i] = starts[i] + index[i] * steps[i];
          return from;
        });
    for (size_t axis = 0; axis < sizes.size(); ++axis) is_broadcast_[axis] = is_broadcast_[axis] || sizes[axis] == 1;
  }

  void select() {
    if (places_.sizes.size() < 2) return;
    const size_t axis = below(places_.sizes.size());
    if (places_.sizes[axis] == 0 || is_broadcast_[axis]) return;
    const auto at = static_cast<int64_t>(below(static_cast<size_t>(places_.sizes[axis])));
    Sizes64 sizes = places_.sizes;
    sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(axis));
    is_broadcast_.erase(is_broadcast_.begin() + static_cast<std::ptrdiff_t>(axis));
    put(fmt::format("select({}, axis={}, index={})", operand(), axis, at), sizes, [&](const Sizes64& index) {
      Sizes64 from = index;
      from.insert(from.begin() + static_cast<std::ptrdiff_t>(axis), at);
      return from;
    });
  }

  void broadcast() {
    const size_t axis = below(places_.sizes.size() + 1);
    Sizes64 sizes = places_.sizes;
    std::vector<std::string> flags(sizes.size() + 1, "false");
    flags[axis] = "true";
    sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(axis), 1);
    is_broadcast_.insert(is_broadcast_.begin() + static_cast<std::ptrdiff_t>(axis), true);
    put(fmt::format("broadcast({}, flags=[{}])", operand(), joined(flags)), sizes, [&](const Sizes64& index) {
      Sizes64 from = index;
      from.erase(from.begin() + static_cast<std::ptrdiff_t>(axis));
      return from;
    });
  }

  void squeezeOrExpand() {
    for (size_t axis = 0; axis < places_.sizes.size(); ++axis) {
      if (!is_broadcast_[axis] || places_.sizes[axis] != 1) continue;
      if (below(2) == 0) return squeeze(axis);
      Sizes64 sizes = places_.sizes;
      sizes[axis] = pick({2, 3});
      put(fmt::format("expand({}, shape=[{}])", operand(), joined(sizes)), sizes, [&](const Sizes64& index) {
        Sizes64 from = index;
        from[axis] = 0;
        return from;
      });
      return;
    }
  }

  void squeeze(size_t axis) {
    Sizes64 sizes = places_.sizes;
    std::vector<std::string> flags(sizes.size(), "false");
    flags[axis] = "true";
    sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(axis));
    is_broadcast_.erase(is_broadcast_.begin() + static_cast<std::ptrdiff_t>(axis));
    put(fmt::format("squeeze({}, flags=[{}])", operand(), joined(flags)), sizes, [&](const Sizes64& index) {
      Sizes64 from = index;
      from.insert(from.begin() + static_cast<std::ptrdiff_t>(axis), 0);
      return from;
    });
  }

  // Merges neighbours at random and splits what comes out at random.
  void reshape() {
    Sizes64 sizes;
    for (const int64_t size : places_.sizes) {
      const bool is_merged = !sizes.empty() && below(3) == 0;
      if (is_merged)
        sizes.back() *= size;
      else
        sizes.push_back(size);
    }
    for (size_t axis = 0; axis < sizes.size(); ++axis) {
      const int64_t inner = pick({1, 2, 3, 4});
      if (below(2) != 0 || sizes[axis] % inner != 0 || sizes.size() > 5) continue;
      sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(axis), sizes[axis] / inner);
      sizes[++axis] = inner;
    }
    body_ += fmt::format(" T{} = reshape({}, shape=[{}])", last_ + 1, operand(), joined(sizes));
    ++last_;
    places_.sizes = sizes;
    is_broadcast_.assign(sizes.size(), false);
    for (size_t axis = 0; axis < sizes.size(); ++axis) is_broadcast_[axis] = sizes[axis] == 1;
    is_view_ = is_view_ && places_.hasStrides();
  }

  std::mt19937_64 random_;
  Places places_;
  Sizes64 first_sizes_;
  std::vector<bool> is_broadcast_;  // of size 1, or expanded
  std::string text_;
  std::string body_;
  size_t last_ = 0;
  bool is_view_ = true;
};

TEST(RandomView, CostsNothingWhereStridesTellIt) {
  RunBench bench({.threads = 1, .poisons_memory = true, .runner = KernelRunner::Interpreted});
  int views = 0;
  int copies = 0;
  for (uint64_t seed = 0; seed < 600 / kShare; ++seed) {
    const RandomChain chain(seed);
    if (!chain.isStep()) continue;
    SCOPED_TRACE(chain.text());
    const auto fusion = fusionOf(chain.text());
    MultiDeviceExecutor executor(*fusion, bench.device, {});
    const std::vector<RunValue> inputs = bench.inputsOf(*fusion);
    const std::vector<Tensor> outputs = executor.runWithInput(inputs);
    EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(inputs), outputs), "");
    const PlanSummary& cost = executor.planFor(inputs).summary();
    // What one movement undoes of another may be a view all the same.
    const bool is_view = outputs[0].buffer() == std::get<Tensor>(inputs[0]).buffer();
    if (chain.isView() || chain.isEmpty()) {
      EXPECT_EQ(cost.steps, 0);
      EXPECT_EQ(cost.peakBytes(), 0);
      EXPECT_TRUE(is_view || chain.isEmpty());
    }
    (is_view ? views : copies) += 1;
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(views, 200 / kShare);
  EXPECT_GE(copies, 40 / kShare);
}

// Whether products read what was moved as a view, or where it was computed anew: the numbers are the oracle's.
TEST(RandomView, OfProductsOperandsChangesNoNumber) {
  RunBench bench({.threads = 1, .poisons_memory = true, .runner = KernelRunner::Interpreted, .target = cpuTarget()});
  int views = 0;
  int copies = 0;
  for (uint64_t seed = 0; seed < 600 / kShare; ++seed) {
    RandomChain chain(seed);
    if (!chain.isStep() || !chain.hasAxes()) continue;
    const std::string text = chain.textOfOperand();
    SCOPED_TRACE(text);
    const auto fusion = fusionOf(text);
    MultiDeviceExecutor executor(*fusion, bench.device, {});
    const std::vector<RunValue> inputs = bench.inputsOf(*fusion);
    std::vector<Tensor> outputs;
    ASSERT_NO_THROW(outputs = executor.runWithInput(inputs));
    ASSERT_EQ(differenceFromOracle(*fusion, oracleInputsOf(inputs), outputs), "");
    (executor.program().views().empty() ? copies : views) += 1;
  }
  EXPECT_GT(views, 200 / kShare);
  EXPECT_GT(copies, 100 / kShare);
}

// A computed value, outputs that show it in several shapes and orders, and ops that read these, in random order.
class RandomReaders {
 public:
  explicit RandomReaders(uint64_t seed) : random_(seed) {
    tensors_ = {{"T0", {4, 1, 6}}};
    append(below(2) == 0 ? "mul(T0, 2.0)" : "exp(T0)", {4, 1, 6});
    const size_t first = 1;
    for (size_t ops = 3 + below(8); ops > 0; --ops) append(first + below(tensors_.size() - first));
  }

  std::string text() const {
    std::string outputs;
    for (const Tensor64& tensor : tensors_) {
      if (tensor.is_output) outputs += (outputs.empty() ? "" : ", ") + tensor.name;
    }
    return fmt::format("fusion f(T0: f32[4, 1, 6]) -> ({}) {{\n{}}}", outputs, body_);
  }

 private:
  struct Tensor64 {
    std::string name;
    Sizes64 sizes;
    bool is_output = false;
  };

  size_t below(size_t bound) { return static_cast<size_t>(random_() % bound); }

  void append(const std::string& op, const Sizes64& sizes) {
    const std::string name = fmt::format("T{}", tensors_.size());
    body_ += fmt::format("  {} = {}\n", name, op);
    tensors_.push_back({name, sizes, tensors_.size() > 1 && below(3) != 0});
  }

  void append(size_t operand) {
    const auto [name, sizes, is_output] = tensors_[operand];
    static const std::vector<Sizes64> shapes = {{24}, {4, 6}, {4, 1, 6}, {2, 2, 6}, {4, 3, 2}};
    switch (below(6)) {
      case 0:
        if (sizes.size() < 2) return;
        return append(fmt::format("sum({}, axes=[0])", name), {sizes.begin() + 1, sizes.end()});
      case 1: return append(fmt::format("neg({})", name), sizes);
      case 2: return append(fmt::format("add({}, {})", name, name), sizes);
      case 3: {
        Sizes64 turned(sizes.rbegin(), sizes.rend());
        std::vector<size_t> order(sizes.size());
        for (size_t axis = 0; axis < order.size(); ++axis) order[axis] = order.size() - 1 - axis;
        return append(fmt::format("permute({}, order=[{}])", name, joined(order)), turned);
      }
      default: {
        if (countOf(sizes) != 24) return;
        const Sizes64& shape = shapes[below(shapes.size())];
        return append(fmt::format("reshape({}, shape=[{}])", name, joined(shape)), shape);
      }
    }
  }

  std::mt19937_64 random_;
  std::vector<Tensor64> tensors_;
  std::string body_;
};

TEST(RandomView, OfOneValueMayBeReadOn) {
  RunBench bench({.threads = 1, .poisons_memory = true, .runner = KernelRunner::Interpreted});
  int shared = 0;
  for (uint64_t seed = 0; seed < 800 / kShare; ++seed) {
    const std::string text = RandomReaders(seed).text();
    if (text.find("-> ()") != std::string::npos) continue;
    SCOPED_TRACE(text);
    const auto fusion = fusionOf(text);
    MultiDeviceExecutor executor(*fusion, bench.device, {});
    const std::vector<RunValue> inputs = bench.inputsOf(*fusion);
    std::vector<Tensor> outputs;
    ASSERT_NO_THROW(outputs = executor.runWithInput(inputs));
    ASSERT_EQ(differenceFromOracle(*fusion, oracleInputsOf(inputs), outputs), "");
    std::set<const void*> buffers;
    for (const Tensor& output : outputs) buffers.insert(output.buffer().get());
    shared += buffers.size() < outputs.size() ? 1 : 0;
  }
  EXPECT_GT(shared, 200 / kShare);
}

}  // namespace
}  // namespace tokamak
