#include "kernel/verify_clusters.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernel/index_assumptions.h"
#include "kernel/kernel_walk.h"
#include "symbolic/interval_analysis.h"

namespace tokamak::kir {

namespace {

using Report = std::function<void(std::string)>;
using Half = ClusterBarrier::Half;

// Whether threads have arrived without having waited after these statements. `have_arrived`: the same before them.
bool haveArrived(const Statements& statements, bool have_arrived, const Report& report) {
  const auto inside = [&](const Statements& body, std::string_view what) {
    if (haveArrived(body, have_arrived, report) != have_arrived)
      report(fmt::format("{} has one half of a barrier of the cluster more than of the other", what));
  };
  for (const StatementRef& each : statements) {
    if (const auto* loop = std::get_if<Loop>(&each->node)) inside(loop->body, "a loop");
    if (const auto* guard = std::get_if<If>(&each->node)) inside(guard->body, "a guard");
    const auto* barrier = std::get_if<ClusterBarrier>(&each->node);
    if (barrier == nullptr) continue;
    if (have_arrived == (barrier->half == Half::Arrive))
      report(have_arrived ? "threads arrive at a barrier of the cluster again before they have waited"
                          : "threads wait at a barrier of the cluster at which they have not arrived");
    have_arrived = barrier->half == Half::Arrive;
  }
  return have_arrived;
}

bool isInGridReduce(const Scope& scope) {
  return std::ranges::any_of(scope.around,
                             [](const Statement* around) { return std::holds_alternative<GridReduce>(around->node); });
}

}  // namespace

void checkClusterTogether(const Kernel& kernel, const Report& report) {
  walkKernel(kernel, [&](const Statement& statement, const Scope& scope) {
    // (One block of a cluster may be the last one of its group, another one not.)
    const bool is_together = scope.is_cluster_uniform && !isInGridReduce(scope);
    if (std::holds_alternative<ClusterBarrier>(statement.node)) {
      if (kernel.dimension(ParallelType::CIDx) == nullptr)
        report("there is a barrier of a cluster, but there are no clusters");
      else if (!is_together)
        report("a barrier of a cluster stands where some threads may not come");
    }
    const auto* reduce = std::get_if<BlockReduce>(&statement.node);
    if (reduce != nullptr && !is_together && std::ranges::count(reduce->dimensions, ParallelType::CIDx) > 0)
      report(fmt::format("{} is combined across a cluster where some threads may not come", nameOf(*reduce->tensor)));
  });
}

void checkClusterBarriers(const Kernel& kernel, const Report& report) {
  if (haveArrived(kernel.body, /*have_arrived=*/false, report))
    report("threads leave without having waited at a barrier of the cluster");
}

void checkClusterStores(const Kernel& kernel, const Report& report) {
  IntervalAnalysis analysis;
  assumeIndices(kernel, analysis);
  visitStatements(kernel.body, [&](const Statement& statement) {
    const auto* store = std::get_if<Store>(&statement.node);
    if (store == nullptr || store->block == nullptr) return;
    const std::string name = nameOf(*store->tensor);
    if (store->tensor->memoryType() != MemoryType::Shared)
      report(fmt::format("{} is written into another block, but not shared", name));
    const Interval blocks = analysis.of(*store->block);
    if (blocks.lower < 0 || blocks.upper >= kernel.clusterBlocks())
      report(fmt::format("{} is written into block {} of a cluster of {}", name, toString(*store->block),
                         kernel.clusterBlocks()));
  });
}

}  // namespace tokamak::kir
