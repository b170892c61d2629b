#include "coverage.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "ir/fields.h"

namespace tokamak::generator {

namespace {

bool isIn(const Expr& expr, Neighbour neighbour) {
  switch (neighbour) {
    case Neighbour::Any: return true;
    case Neighbour::Reduced:
      return expr.kind() == OpKind::ReductionOp || expr.kind() == OpKind::MatmulOp || expr.kind() == OpKind::LinearOp;
    case Neighbour::Broadcast: return expr.kind() == OpKind::BroadcastOp || expr.kind() == OpKind::ExpandOp;
    case Neighbour::Sliced:
      return expr.kind() == OpKind::SliceOp || expr.kind() == OpKind::SelectOp || expr.kind() == OpKind::PadOp ||
             expr.kind() == OpKind::CatOp || expr.kind() == OpKind::TakeAlongAxisOp;
  }
  return false;
}

bool hasNeighbour(const Expr& expr, Neighbour neighbour) {
  const auto gives = [&](const Val* operand) {
    return operand->definition() != nullptr && isIn(*operand->definition(), neighbour);
  };
  const auto reads = [&](const Expr* user) { return isIn(*user, neighbour); };
  return std::ranges::any_of(expr.inputs(), gives) || std::ranges::any_of(expr.output(0)->uses(), reads);
}

constexpr std::array kNeighbours = {Neighbour::Any, Neighbour::Reduced, Neighbour::Broadcast, Neighbour::Sliced};

}  // namespace

void Coverage::add(const Fusion& fusion) {
  for (const Expr* expr : fusion.exprs()) {
    const auto tensors = tensorsOf(expr->inputs());
    const DataType dtype = tensors.empty() ? expr->output(0)->dtype() : tensors.back()->dtype();
    for (const Neighbour neighbour : kNeighbours) {
      if (neighbour == Neighbour::Any || hasNeighbour(*expr, neighbour))
        ++cells_[{std::string(callName(*expr)), dtype, neighbour}];
    }
  }
}

int64_t Coverage::count(const Cell& cell) const {
  const auto found = cells_.find(cell);
  return found == cells_.end() ? 0 : found->second;
}

std::string Coverage::report() const {
  std::map<std::string, std::set<DataType>> types;
  for (const auto& [cell, unused] : cells_) types[cell.op].insert(cell.dtype);
  std::string text =
      fmt::format("{:<22}{:>6}{:>16}{:>16}{:>16}{:>16}\n", "op", "types", "all", "reduced", "broadcast", "sliced");
  for (const auto& [op, seen] : types) {
    text += fmt::format("{:<22}{:>6}", op, seen.size());
    for (const Neighbour neighbour : kNeighbours) {
      int64_t total = 0;
      int64_t least = INT64_MAX;
      for (const DataType dtype : seen) {
        const int64_t here = count({op, dtype, neighbour});
        total += here;
        least = std::min(least, here);
      }
      text += fmt::format("{:>16}", fmt::format("{} (>= {})", total, least));
    }
    text += "\n";
  }
  return text;
}

}  // namespace tokamak::generator
