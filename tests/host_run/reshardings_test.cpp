// Reshardings: a random change of meshes, shards and partials between two local ops, lowered, proved and run on ranks.
#include <algorithm>
#include <iostream>
#include <map>
#include <numeric>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "analysis/resharding_steps.h"
#include "base/text.h"
#include "compile/program_on_ranks.h"
#include "host/ir/text/host_parser.h"
#include "host/ir/text/host_printer.h"
#include "host/ir/verifier.h"
#include "host/sanitized_share.h"
#include "host_run/program_text.h"
#include "host_run/run_bench.h"
#include "ir/ops/host/for_loop.h"
#include "ir/ops/math/load_store_op.h"

namespace tokamak {
namespace {

constexpr int64_t kMostRanks = 8;
constexpr int64_t kCases = 1600 / kShare;

// What a tensor's axes, which have these sizes, are on.
struct Placed {
  DeviceMesh mesh;
  std::vector<int64_t> axis_of;  // per dimension of the mesh: the axis that is dealt out, or -1
  std::vector<int64_t> chunk;    // of it: 0 where it is cut into as many parts as there are devices
  std::vector<bool> is_partial;
};

std::string_view markOf(const DeviceMesh& mesh, size_t dimension) {
  return dimension + 1 == mesh.shape.size() ? "DIDx" : "DIDy";
}

std::string meshText(const DeviceMesh& mesh) {
  if (mesh.shape.size() == 1) return fmt::format("mesh({})", joined(mesh.devices));
  std::vector<std::string> rows;
  const auto width = static_cast<size_t>(mesh.shape[1]);
  for (size_t i = 0; i < mesh.devices.size(); i += width)
    rows.push_back(fmt::format("({})", joined(std::span(mesh.devices).subspan(i, width))));
  return fmt::format("mesh({})", joined(rows));
}

class Drawer {
 public:
  explicit Drawer(uint64_t seed) : random_(seed) {}

  int64_t number(int64_t from, int64_t to) { return std::uniform_int_distribution<int64_t>(from, to)(random_); }
  bool chance(int64_t percent) { return number(1, 100) <= percent; }

  DeviceMesh mesh() {
    std::vector<int64_t> ranks(kMostRanks);
    std::iota(ranks.begin(), ranks.end(), 0);
    if (chance(60)) std::ranges::shuffle(ranks, random_);
    DeviceMesh mesh{.shape = {number(1, kMostRanks)}, .devices = {}};
    if (chance(40)) mesh.shape = {number(1, 4), number(1, 2)};
    if (chance(10) && mesh.shape.size() == 2) std::swap(mesh.shape[0], mesh.shape[1]);
    const int64_t count = std::accumulate(mesh.shape.begin(), mesh.shape.end(), int64_t{1}, std::multiplies());
    mesh.devices.assign(ranks.begin(), ranks.begin() + count);
    return mesh;
  }

  DeviceMesh otherMesh(const DeviceMesh& mesh) {
    if (chance(45)) return mesh;
    DeviceMesh other = this->mesh();
    if (!chance(50)) return other;
    other.shape = mesh.shape;  // of the same shape, on other ranks
    std::vector<int64_t> ranks(kMostRanks);
    std::iota(ranks.begin(), ranks.end(), 0);
    std::ranges::shuffle(ranks, random_);
    other.devices.assign(ranks.begin(), ranks.begin() + std::ssize(mesh.devices));
    return other;
  }

  enum class Terms : uint8_t { None, Maybe };
  Placed place(const DeviceMesh& mesh, const std::vector<int64_t>& sizes, Terms terms) {
    Placed placed{.mesh = mesh, .axis_of = {}, .chunk = {}, .is_partial = {}};
    std::vector<int64_t> free;  // (an axis of one index has no parts)
    for (size_t i = 0; i < sizes.size(); ++i)
      if (sizes[i] > 1) free.push_back(static_cast<int64_t>(i));
    std::ranges::shuffle(free, random_);
    for (const int64_t devices : mesh.shape) {
      placed.is_partial.push_back(terms == Terms::Maybe && chance(50));
      const bool is_dealt = !placed.is_partial.back() && !free.empty() && chance(65);
      placed.axis_of.push_back(is_dealt ? free.back() : -1);
      placed.chunk.push_back(is_dealt ? chunkOf(sizes[static_cast<size_t>(free.back())], devices) : 0);
      if (is_dealt) free.pop_back();
    }
    return placed;
  }

 private:
  // Sometimes a factor that also gives as many parts: 9 by 6 are 6 and 3.
  int64_t chunkOf(int64_t size, int64_t devices) {
    const int64_t chunk = number(1, size);
    return chance(40) && (size + chunk - 1) / chunk == devices ? chunk : 0;
  }

  std::mt19937_64 random_;
};

// The commands that place a tensor whose loops begin with `first` others.
std::string commands(std::string_view name, const Placed& placed, const std::vector<int64_t>& sizes, int64_t first) {
  std::vector<std::pair<int64_t, size_t>> marks;  // axis, dimension
  for (size_t i = 0; i < placed.axis_of.size(); ++i)
    if (placed.axis_of[i] >= 0) marks.emplace_back(placed.axis_of[i], i);
  std::ranges::sort(marks, std::greater());  // so that a split moves none that is to be marked
  std::string text;
  for (const auto& [axis, dimension] : marks) {
    const int64_t devices = placed.mesh.shape[dimension];
    const int64_t at = axis + first;
    if (placed.chunk[dimension] > 0)
      text += fmt::format("  split({}, axis={}, factor={})\n", name, at, placed.chunk[dimension]);
    else if (sizes[static_cast<size_t>(axis)] != devices)
      text += fmt::format("  split({}, axis={}, factor={}, inner_split=false)\n", name, at, devices);
    text += fmt::format("  parallelize({}, axis={}, type={})\n", name, at, markOf(placed.mesh, dimension));
  }
  return text;
}

struct Drawn {
  std::string text;
  std::vector<int64_t> input_sizes;
  std::vector<int64_t> terms;  // sizes of the axes in front that are summed up
};

struct ElementType {
  std::string_view name;
  DataType dtype;
  std::string_view op;
  std::string_view reduction;  // empty: it has none that gives the same type
};
constexpr ElementType kTypes[] = {{"f32", DataType::F32, "neg", "sum"},
                                  {"bf16", DataType::BF16, "set", ""},
                                  {"i32", DataType::I32, "neg", "min"},
                                  {"f64", DataType::F64, "neg", "max"},
                                  {"bool", DataType::Bool, "logical_not", ""}};

// Sometimes an axis is streamed, of those tensors of which it is not dealt out.
std::string streamCommands(Drawer& drawer, const Placed& from, const Placed& to, const std::vector<int64_t>& sizes,
                           int64_t summed) {
  if (!drawer.chance(50)) return "";
  const int64_t axis = drawer.number(0, std::ssize(sizes) - 1);
  const auto mark = [&](std::string_view name, const Placed& placed, int64_t first) {
    const bool is_dealt = std::ranges::find(placed.axis_of, axis) != placed.axis_of.end();
    return is_dealt ? "" : fmt::format("  parallelize({}, axis={}, type=Stream)\n", name, axis + first);
  };
  return mark("T1", from, summed) + mark("T2", to, 0) + mark("T3", to, 0);
}

// T1 comes of T0 by an op that is local, T2 is T1 on other devices, T3 comes of T2.
Drawn draw(Drawer& drawer, const ElementType& type) {
  Drawn drawn;
  std::vector<int64_t> sizes(static_cast<size_t>(drawer.number(1, 4)));
  for (int64_t& size : sizes) size = drawer.number(1, 9);
  const auto terms = type.reduction.empty() ? Drawer::Terms::None : Drawer::Terms::Maybe;
  const DeviceMesh mesh = drawer.mesh();
  const Placed from = drawer.place(mesh, sizes, terms);
  const Placed to = drawer.place(drawer.otherMesh(mesh), sizes, Drawer::Terms::None);
  // Each dimension of terms is one of an axis in front of T0.
  std::string partials;
  Placed given = from;
  for (size_t i = 0; i < from.is_partial.size(); ++i) {
    if (!from.is_partial[i]) continue;
    partials += fmt::format(" partial({}, {})", type.reduction, markOf(from.mesh, i));
    given.axis_of[i] = std::ssize(drawn.terms);
    drawn.terms.push_back(drawer.number(2, 5));
  }
  const int64_t summed = std::ssize(drawn.terms);
  for (size_t i = 0; i < from.axis_of.size(); ++i)
    if (!from.is_partial[i] && from.axis_of[i] >= 0) given.axis_of[i] = from.axis_of[i] + summed;
  drawn.input_sizes = drawn.terms;
  drawn.input_sizes.insert(drawn.input_sizes.end(), sizes.begin(), sizes.end());
  std::vector<int64_t> axes(drawn.terms.size());
  std::iota(axes.begin(), axes.end(), 0);
  const std::string first =
      summed == 0 ? fmt::format("{}(T0)", type.op) : fmt::format("{}(T0, axes=[{}])", type.reduction, joined(axes));
  const std::string shape = fmt::format("{}[{}]", type.name, joined(sizes));
  drawn.text = fmt::format(
      "fusion f(T0: {}[{}] {}) -> T3 {{\n  T1: {} {}{} = {}\n  T2: {} {} = set(T1)\n  T3: {} {} = {}(T2)\n}}\n"
      "schedule {{\n{}{}{}{}{}}}\n",
      type.name, joined(drawn.input_sizes), meshText(from.mesh), shape, meshText(from.mesh), partials, first, shape,
      meshText(to.mesh), shape, meshText(to.mesh), type.op, streamCommands(drawer, from, to, sizes, summed),
      commands("T0", given, drawn.input_sizes, 0), commands("T1", from, sizes, summed), commands("T2", to, sizes, 0),
      commands("T3", to, sizes, 0));
  return drawn;
}

// What comes out: T1 and T3 take one another back, but for reductions.
std::vector<double> expectedOf(const Drawn& drawn, const ElementType& type, const std::vector<double>& elements) {
  if (drawn.terms.empty()) return elements;
  const int64_t terms = std::accumulate(drawn.terms.begin(), drawn.terms.end(), int64_t{1}, std::multiplies());
  std::vector<double> results(elements.begin(), elements.begin() + std::ssize(elements) / terms);
  for (size_t i = results.size(); i < elements.size(); ++i) {
    double& result = results[i % results.size()];
    result = type.reduction == "sum"   ? result + elements[i]
             : type.reduction == "max" ? std::max(result, elements[i])
                                       : std::min(result, elements[i]);
  }
  for (double& result : results) result = -result;
  return results;
}

bool communicatesInLoops(const HostIrContainer& program) {
  bool is_any = false;
  for (const Expr* expr : program.topLevel().exprs) {
    if (const auto* loop = expr->as<ForLoop>())
      forEachStatement(loop->body, [&](const Expr& inner) { is_any |= inner.info().is_communication; });
  }
  return is_any;
}

TEST(Reshardings, GiveEachRankItsPartOfTheSameTensor) {
  RunBench bench;
  Drawer drawer(20240719);
  std::map<std::string_view, int64_t> reached;
  int64_t failures = 0;
  int64_t streamed = 0;
  for (int64_t i = 0; i < kCases && failures < 5; ++i) {
    const ElementType& type = kTypes[static_cast<size_t>(drawer.number(0, std::ssize(kTypes) - 1))];
    const Drawn drawn = draw(drawer, type);
    SCOPED_TRACE(drawn.text);
    try {
      const auto fusion = fusionOf(drawn.text);
      const Expr& set = *fusion->outputs()[0]->definition()->input(0)->definition();
      const std::string operation = "test";
      const TensorView& from = *asTensor(set.input(0));
      for (const ReshardingStep& step :
           reshardingSteps(operation, shardingOf(from), shardingOf(*asTensor(set.output(0)))))
        ++reached[enumName(step.kind)];
      ProgramOnRanks program(*fusion, {.ranks = kMostRanks,
                                       .lowering = {.grouping = drawer.chance(50) ? Grouping::Fused : Grouping::Single},
                                       .run = {.checks_plans = true},
                                       .device = {.threads = 1, .poisons_memory = true}});
      verifyHostProgram(program.program());
      const std::string printed = printHostProgram(program.program());
      EXPECT_EQ(printHostProgram(*parseHostProgram(printed, "lowered.host_ir")), printed);
      if (communicatesInLoops(program.program())) ++streamed;
      std::vector<double> elements;
      const int64_t count =
          std::accumulate(drawn.input_sizes.begin(), drawn.input_sizes.end(), int64_t{1}, std::multiplies());
      for (int64_t n = 0; n < count; ++n)
        elements.push_back(type.dtype == DataType::Bool ? drawer.number(0, 1) : drawer.number(-5, 5));
      const RunValue input[] = {bench.numbers(type.dtype, drawn.input_sizes, elements)};
      const std::vector<double> given = numbersOf(program.run(input, {}, bench.device, bench.stream)[0]);
      EXPECT_EQ(given, expectedOf(drawn, type, elements));
      if (given != expectedOf(drawn, type, elements)) ++failures;
    } catch (const Error& error) {
      ++failures;
      ADD_FAILURE() << errorCodeName(error.code()) << ": " << error.message();
    }
  }
  for (const std::string_view kind : EnumNames<ReshardingStep::Kind>::names) {
    std::cout << kind << " " << reached[kind] << "\n";
    EXPECT_GE(reached[kind], 50 / kShare) << kind;
  }
  std::cout << "in loops " << streamed << "\n";
  EXPECT_GE(streamed, 100 / kShare);
}

}  // namespace
}  // namespace tokamak
