#include "runtime/cpu/element_layout.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <tuple>

#include "base/require.h"
#include "runtime/cpu/element_program.h"

namespace tokamak {

namespace {

std::vector<OperandAccess*> allAccesses(ElementProgram& program) {
  std::vector<OperandAccess*> all = {&program.result};
  for (OperandAccess& access : program.accesses) all.push_back(&access);
  return all;
}

// The dimensions by decreasing stride of the result (reduced ones: of the first load), so that contiguous ones are
// adjacent.
std::vector<size_t> memoryOrder(const ElementProgram& program) {
  std::vector<size_t> order(program.dimensions.size());
  std::iota(order.begin(), order.end(), 0);
  const auto stride = [&](size_t d) {
    if (!program.dimensions[d].is_reduced) return std::abs(program.result.strides[d]);
    int64_t largest = 0;
    for (const OperandAccess& access : program.accesses) largest = std::max(largest, std::abs(access.strides[d]));
    return largest;
  };
  std::ranges::sort(order, {}, [&](size_t d) { return std::tuple(program.dimensions[d].is_reduced, -stride(d), d); });
  return order;
}

void mergeDimensions(ElementProgram& program) {
  const auto accesses = allAccesses(program);
  std::vector<Dimension> kept;
  std::vector<std::vector<int64_t>> strides(accesses.size());
  std::vector<bool> is_pinned;  // mentioned by a line, which needs it as it is
  std::vector<size_t> numbers(program.dimensions.size(), 0);
  size_t kept_results = 0;
  for (const size_t d : memoryOrder(program)) {
    const Dimension& dimension = program.dimensions[d];
    const bool pins = program.lines.mentionsDimension(d);
    if (dimension.extent == 1 && !pins) continue;
    bool merges = !kept.empty() && !pins && !is_pinned.back() && kept.back().is_reduced == dimension.is_reduced;
    for (size_t a = 0; merges && a < accesses.size(); ++a) {
      merges = strides[a].back() == accesses[a]->strides[d] * dimension.extent;
    }
    if (merges) {
      kept.back().extent *= dimension.extent;
      for (size_t a = 0; a < accesses.size(); ++a) strides[a].back() = accesses[a]->strides[d];
      continue;
    }
    numbers[d] = kept.size();
    kept.push_back(dimension);
    is_pinned.push_back(pins);
    kept_results += dimension.is_reduced ? 0 : 1;
    for (size_t a = 0; a < accesses.size(); ++a) strides[a].push_back(accesses[a]->strides[d]);
  }
  if (kept_results == 0) {  // a row of one element
    kept.insert(kept.begin(), Dimension{});
    for (auto& own : strides) own.insert(own.begin(), 0);
    for (size_t& number : numbers) ++number;
    kept_results = 1;
  }
  // An op goes over the axes of one tensor, a product over one more; tensors have at most 16.
  TK_CHECK(kept.size() <= kMaxDimensions, "an operation over {} axes that cannot be merged; at most {} can be run",
           kept.size(), kMaxDimensions);
  for (size_t a = 0; a < accesses.size(); ++a) accesses[a]->strides = std::move(strides[a]);
  program.lines.renumber(numbers);
  program.dimensions = std::move(kept);
  program.result_dimensions = kept_results;
}

bool hasReduce(const ElementProgram& program) {
  return std::ranges::any_of(program.steps, [](const ElementStep& step) { return step.kind == ElementKind::Reduce; });
}

// Approximate costs in nanoseconds: of a row, of a strided element, of an element of a transposed tile.
constexpr double kRowCost = 40;
constexpr double kFarCost = 1.5;
constexpr double kTiledCost = 0.4;

bool isNear(int64_t stride) { return stride == 0 || stride == 1; }

double rowCost(const Dimension& dimension) {
  return kRowCost / static_cast<double>(std::min(dimension.extent, kChunk));
}

// The dimension that a far load is dense along, if it is worth a tile.
int32_t tileFor(const ElementProgram& program, const OperandAccess& access, size_t row) {
  constexpr int64_t worth = 8;
  if (access.is_in_parts || !access.atoms.empty() || !access.gathers.empty() || program.dimensions[row].extent < worth)
    return -1;
  for (size_t d = 0; d < program.result_dimensions; ++d) {
    if (d != row && access.strides[d] == 1 && program.dimensions[d].extent >= worth) return static_cast<int32_t>(d);
  }
  return -1;
}

double costAlong(const ElementProgram& program, size_t row, bool may_tile) {
  double cost = rowCost(program.dimensions[row]);
  if (program.result.strides[row] != 1) cost += kFarCost;
  for (const OperandAccess& access : program.accesses) {
    if (isNear(access.strides[row])) continue;
    cost += may_tile && tileFor(program, access, row) >= 0 ? kTiledCost : kFarCost;
  }
  return cost;
}

size_t cheapestRow(const ElementProgram& program, bool may_tile) {
  size_t best = 0;
  double best_cost = std::numeric_limits<double>::infinity();
  for (size_t d = program.result_dimensions; d-- > 0;) {  // ties: the fastest dimension
    const double cost = costAlong(program, d, may_tile);
    if (cost < best_cost) best_cost = cost, best = d;
  }
  return best;
}

void chooseTile(ElementProgram& program) {
  for (OperandAccess& access : program.accesses) {
    if (isNear(access.strides[program.row])) continue;
    const int32_t tile = tileFor(program, access, program.row);
    if (tile < 0 || (program.tile >= 0 && program.tile != tile)) continue;
    program.tile = tile;
    access.stage = program.stages++;
  }
}

// Inside a reduction the loops run along a reduced dimension or along the result's row, whichever is cheaper per
// element.
void chooseReducedRow(ElementProgram& program) {
  const auto bodyCost = [&](size_t d) {
    double cost = rowCost(program.dimensions[d]);
    for (const OperandAccess& access : program.accesses) cost += isNear(access.strides[d]) ? 0 : kFarCost;
    return cost;
  };
  double best_cost = std::numeric_limits<double>::infinity();
  for (size_t d = 0; d < program.result_dimensions; ++d) {
    if (const double cost = bodyCost(d); cost <= best_cost) best_cost = cost, program.row = d;
  }
  for (size_t d = program.result_dimensions; d < program.dimensions.size(); ++d) {
    if (const double cost = bodyCost(d); cost < best_cost)
      best_cost = cost, program.reduced_row = static_cast<int32_t>(d);
  }
  if (program.reduced_row >= 0) program.row = cheapestRow(program, false);
}

}  // namespace

void chooseLayout(ElementProgram& program) {
  mergeDimensions(program);
  if (hasReduce(program)) return chooseReducedRow(program);
  program.row = cheapestRow(program, true);
  chooseTile(program);
}

}  // namespace tokamak
