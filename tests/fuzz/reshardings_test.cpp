// Random programs with random marks of devices: make-reshardings makes each op local, and the ranks compute what one
// device does. Each op is done by each rank by itself, by its local form and the oracle; what a resharding moves is put
// together from what the ranks have, and cut anew.
#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "analysis/bind_shape.h"
#include "analysis/device_mesh.h"
#include "analysis/sharding.h"
#include "analysis/shards.h"
#include "generator/draw_data.h"
#include "generator/draw_marks.h"
#include "generator/draw_program.h"
#include "generator/environment.h"
#include "generator/random.h"
#include "graph/fusion_passes.h"
#include "graph/make_reshardings.h"
#include "host/local/local_ops.h"
#include "ir/clone.h"
#include "ir/equal.h"
#include "ir/ops/math/load_store_op.h"
#include "ir/text/fusion_parser.h"
#include "ir/text/fusion_printer.h"
#include "ir/verifier.h"
#include "oracle/evaluate.h"
#include "schedule/commands.h"

namespace tokamak {
namespace {

using namespace generator;
using oracle::OracleTensor;

// --- ranks by brute force ---

// What each rank has, by its number.
using Parts = std::map<int64_t, OracleTensor>;

class Ranks {
 public:
  Ranks(const Fusion& fusion, const ScalarBindings& bindings) : fusion_(fusion), bindings_(bindings) {}

  void give(const TensorView& input, const OracleTensor& whole) { parts_[&input] = cut(input, whole); }

  // What is not local is a resharding.
  void run() {
    for (const Expr* expr : fusion_.exprs()) {
      if (isResharding(*expr))
        parts_[asTensor(expr->output(0))] = cut(*asTensor(expr->output(0)), whole(*asTensor(expr->input(0))));
      else
        runLocally(*expr);
    }
  }

  static bool isResharding(const Expr& expr) {
    const auto* set = expr.as<LoadStoreOp>();
    return set != nullptr && !(shardingOf(*set->in) == shardingOf(*set->out));
  }

  // The tensor put together, which all ranks that have the same part agree on.
  OracleTensor whole(const TensorView& tensor) {
    const std::vector<int64_t> sizes = sizesOf(tensor, bindings_);
    OracleTensor result = oracle::zeros(tensor.dtype(), sizes);
    const Sharding sharding = shardingOf(tensor);
    const auto terms = std::ranges::find(sharding.uses, MeshUse::Form::Partial, &MeshUse::form);
    std::vector<bool> is_first(result.elements.size(), true);
    // Of ranks with the same, one counts.
    const auto isCounted = [&](int64_t rank) {
      const std::vector<int64_t> coordinates = *coordinatesOf(tensor.mesh(), rank);
      bool is_counted = true;
      for (size_t d = 0; d < sharding.uses.size(); ++d)
        is_counted = is_counted && !(sharding.uses[d].isWhole() && coordinates[d] > 0);
      return is_counted;
    };
    for (const auto& [rank, own] : parts_.at(&tensor)) {
      if (!isCounted(rank)) continue;
      forEachOf(tensor, rank, sizes, [&](size_t at, size_t in_own) {
        oracle::Element& element = result.elements[at];
        const oracle::Element& given = own.elements[in_own];
        element = is_first[at] ? given : combined(terms->reduction, tensor.dtype(), element, given);
        is_first[at] = false;
      });
    }
    EXPECT_EQ(std::ranges::count(is_first, true), 0) << "nobody has some of " << nameOf(tensor);
    if (terms != sharding.uses.end()) return result;
    for (const auto& [rank, own] : parts_.at(&tensor)) {
      bool is_same = true;
      forEachOf(tensor, rank, sizes, [&](size_t at, size_t in_own) {
        is_same = is_same && isNear(result.elements[at], own.elements[in_own]);
      });
      EXPECT_TRUE(is_same) << "rank " << rank << " has another part of " << nameOf(tensor);
    }
    return result;
  }

  static bool isNear(const oracle::Element& a, const oracle::Element& b) {
    if (std::isinf(a.bound) || std::isinf(b.bound)) return true;  // nothing is promised
    if (std::isnan(a.number) || std::isnan(b.number)) return std::isnan(a.number) && std::isnan(b.number);
    const double bound = std::max({1e-9 * (1 + std::fabs(a.number)), a.bound, b.bound});
    return a.integer == b.integer && (a.number == b.number || std::fabs(a.number - b.number) <= bound);
  }

 private:
  template <class Visit>
  void forEachOf(const TensorView& tensor, int64_t rank, const std::vector<int64_t>& sizes, const Visit& visit) {
    std::vector<IndexRange> part;
    for (const int64_t size : sizes) part.push_back({.start = 0, .extent = size});
    const Axes shape = shapeOf(tensor);
    for (const Shard& shard : shardsOf(tensor)) {
      const auto axis = static_cast<size_t>(std::ranges::find(shape, shard.logical) - shape.begin());
      part[axis] = shardRange(sizes[axis], evaluateInt(*shard.chunk, bindings_),
                              (*coordinatesOf(tensor.mesh(), rank))[shard.dimension]);
    }
    std::vector<int64_t> index(part.size(), 0);
    const int64_t count = std::accumulate(part.begin(), part.end(), int64_t{1},
                                          [](int64_t n, const IndexRange& range) { return n * range.extent; });
    for (int64_t n = 0; n < count; ++n) {
      size_t at = 0;
      for (size_t i = 0; i < part.size(); ++i)
        at = at * static_cast<size_t>(sizes[i]) + static_cast<size_t>(part[i].start + index[i]);
      visit(at, static_cast<size_t>(n));
      for (size_t i = part.size(); i-- > 0 && ++index[i] == part[i].extent;) index[i] = 0;
    }
  }

  // Where terms are left over a dimension, its first rank has all, and the others what adds nothing.
  Parts cut(const TensorView& tensor, const OracleTensor& whole) {
    Parts parts;
    const Sharding sharding = shardingOf(tensor);
    for (const int64_t rank : tensor.mesh().devices) {
      const std::vector<int64_t> coordinates = *coordinatesOf(tensor.mesh(), rank);
      oracle::Element nothing;
      bool is_nothing = false;
      for (size_t d = 0; d < sharding.uses.size(); ++d) {
        const MeshUse& use = sharding.uses[d];
        const bool is_product = use.reduction == ReductionKind::Prod;
        if (use.form != MeshUse::Form::Partial || coordinates[d] == 0) continue;
        if (!is_product && use.reduction != ReductionKind::Sum) continue;  // of equal terms the largest is each
        is_nothing = true;
        nothing.number = is_product && isFloatingType(whole.dtype) ? 1 : 0;
        nothing.integer = is_product && !isFloatingType(whole.dtype) ? 1 : 0;
      }
      OracleTensor own{.dtype = whole.dtype};
      forEachOf(tensor, rank, whole.sizes,
                [&](size_t at, size_t) { own.elements.push_back(is_nothing ? nothing : whole.elements[at]); });
      Fusion scratch;
      LocalTensors tensors(scratch, rank, PartExtents::Computed);
      for (int64_t axis = 0; axis < whole.rank(); ++axis) {
        const LocalPart* part = tensors.partOf(tensor, axis);
        own.sizes.push_back(part == nullptr ? whole.sizes[static_cast<size_t>(axis)]
                                            : evaluateIn(scratch, *part->range.extent));
      }
      parts[rank] = std::move(own);
    }
    return parts;
  }

  // A scalar of a copy, whose symbols have the names of the program's.
  int64_t evaluateIn(const Fusion& copy, const Scalar& scalar) { return evaluateInt(scalar, bindingsOf(copy)); }
  ScalarBindings bindingsOf(const Fusion& copy) {
    ScalarBindings own;
    for (Scalar* symbol : copy.allSymbols())
      for (const auto& [known, value] : bindings_)
        if (known->name() == symbol->name()) own[symbol] = value;
    return own;
  }

  void runLocally(const Expr& expr) {
    const TensorView& out = *asTensor(expr.output(0));
    for (const int64_t rank : out.mesh().devices) {
      Fusion local;
      LocalTensors tensors(local, rank, PartExtents::Computed);
      EXPECT_TRUE(requireLocal(expr, tensors, WholeReads::Refused).empty());
      std::vector<oracle::Input> inputs;
      for (TensorView* operand : tensorsOf(expr.inputs())) {
        TensorView* own = tensors.tensor(operand);
        if (local.isInput(own)) continue;
        local.addInput(own);
        inputs.emplace_back(parts_.at(operand).at(rank));
      }
      local.append(makeExpr(expr.kind(), localFields(expr, tensors)));
      local.addOutput(tensors.tensor(asTensor(expr.output(0))));
      parts_[&out][rank] =
          oracle::evaluate(local, inputs, {.mode = oracle::Mode::exact(), .bindings = bindingsOf(local)}).outputs[0];
    }
  }

  static oracle::Element combined(ReductionKind kind, DataType dtype, oracle::Element a, const oracle::Element& b) {
    a.bound += b.bound;
    if (isFloatingType(dtype)) {
      const bool is_nan = std::isnan(a.number) || std::isnan(b.number);
      switch (kind) {
        case ReductionKind::Sum: a.number += b.number; break;
        case ReductionKind::Prod: a.number *= b.number; break;
        case ReductionKind::Max: a.number = is_nan ? a.number + b.number : std::max(a.number, b.number); break;
        case ReductionKind::Min: a.number = is_nan ? a.number + b.number : std::min(a.number, b.number); break;
      }
      return a;
    }
    const auto wrap = [](int64_t x, int64_t y, auto&& op) {
      return static_cast<int64_t>(op(static_cast<uint64_t>(x), static_cast<uint64_t>(y)));
    };
    switch (kind) {
      case ReductionKind::Sum: a.integer = wrap(a.integer, b.integer, std::plus()); break;
      case ReductionKind::Prod: a.integer = wrap(a.integer, b.integer, std::multiplies()); break;
      case ReductionKind::Max: a.integer = std::max(a.integer, b.integer); break;
      case ReductionKind::Min: a.integer = std::min(a.integer, b.integer); break;
    }
    if (dtype == DataType::I32) a.integer = static_cast<int32_t>(a.integer);
    return a;
  }

  const Fusion& fusion_;
  ScalarBindings bindings_;
  std::map<const TensorView*, Parts> parts_;
};

// --- the property ---

struct ShardingTally {
  int64_t reshardings = 0;
  int64_t partials = 0;
  int64_t local_ops = 0;
};

void count(const Fusion& fusion, ShardingTally& tally) {
  for (const Expr* expr : fusion.exprs()) ++(Ranks::isResharding(*expr) ? tally.reshardings : tally.local_ops);
  for (const TensorView* tensor : fusion.allTensors()) tally.partials += tensor->partials().empty() ? 0 : 1;
}

// A resharding changes one dimension, or the mesh.
void expectSteps(const Fusion& fusion) {
  for (const Expr* expr : fusion.exprs()) {
    if (!Ranks::isResharding(*expr)) continue;
    const Sharding from = shardingOf(*asTensor(expr->input(0)));
    const Sharding to = shardingOf(*asTensor(expr->output(0)));
    if (!(from.mesh == to.mesh)) continue;
    int64_t changed = 0;
    for (size_t d = 0; d < from.uses.size(); ++d) changed += from.uses[d] == to.uses[d] ? 0 : 1;
    EXPECT_EQ(changed, 1) << nameOf(*asTensor(expr->output(0)));
  }
}

void expectSameValues(const Fusion& plain, const Fusion& sharded, const std::vector<oracle::Input>& inputs) {
  const oracle::Evaluation want = oracle::evaluate(plain, inputs, {.mode = oracle::Mode::exact(), .bindings = {}});
  ScalarBindings bindings;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (const auto* tensor = std::get_if<OracleTensor>(&inputs[i]))
      bindShape(*asTensor(sharded.inputs()[i]), tensor->sizes, bindings);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (const auto* scalar = std::get_if<ScalarValue>(&inputs[i])) bindings[asScalar(sharded.inputs()[i])] = *scalar;
  Ranks ranks(sharded, bindings);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (const auto* tensor = std::get_if<OracleTensor>(&inputs[i])) ranks.give(*asTensor(sharded.inputs()[i]), *tensor);
  ranks.run();
  for (size_t i = 0; i < want.outputs.size(); ++i) {
    const OracleTensor have = ranks.whole(*sharded.outputs()[i]);
    EXPECT_EQ(have.sizes, want.outputs[i].sizes);
    const auto& wanted = want.outputs[i].elements;
    for (size_t at = 0; at < wanted.size(); ++at) {
      const oracle::Element& own = have.elements[at];
      if (Ranks::isNear(wanted[at], own)) continue;
      ADD_FAILURE() << fmt::format("output {}, element {}: {} or {} instead of {} or {}, bounds {} and {}", i, at,
                                   own.number, own.integer, wanted[at].number, wanted[at].integer, own.bound,
                                   wanted[at].bound);
      break;
    }
  }
}

// TOKAMAK_FUZZ_PROGRAMS raises the number for longer runs; TOKAMAK_FUZZ_SEED is the first seed.
TEST(Reshardings, MakeRandomProgramsLocalAndKeepTheirMeaning) {
  const uint64_t first = fromEnvironment("TOKAMAK_FUZZ_SEED", 1);
  const uint64_t programs = fromEnvironment("TOKAMAK_FUZZ_PROGRAMS", 300);
  ShardingTally tally;
  for (uint64_t seed = first; seed < first + programs; ++seed) {
    const Program program = drawProgram(seed, {.max_ops = 10, .max_elements = 128});
    const auto built = build(program);
    const auto plain = fusionPass("unify-extents").run(*built);
    const std::vector<oracle::Input> inputs = toOracle(drawData(program, seed));
    Random random(seed);
    const auto marked = cloneFusion(*plain);
    drawMarks(*marked, random, 6);
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, printFusion(*marked)));
    try {
      const auto sharded = makeReshardings(*marked);
      SCOPED_TRACE(printFusion(*sharded));
      verify(*sharded, Stage::Scheduled);
      const auto read = parseFusion(printFusion(*sharded), "sharded.fusion", {.scheduler = &scheduleCommands()});
      EXPECT_EQ(firstDifference(*sharded, *read), "");
      EXPECT_EQ(firstDifference(*sharded, *makeReshardings(*sharded)), "") << "done again";
      expectSteps(*sharded);
      expectSameValues(*plain, *sharded, inputs);
      count(*sharded, tally);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    if (HasFailure()) break;
  }
  std::cout << fmt::format("{} reshardings, {} local ops, {} partial tensors\n", tally.reshardings, tally.local_ops,
                           tally.partials);
  EXPECT_GT(tally.partials, 0);
}

}  // namespace
}  // namespace tokamak
