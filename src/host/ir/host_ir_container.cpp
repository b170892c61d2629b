#include "host/ir/host_ir_container.h"

#include <algorithm>
#include <set>

#include "base/immortal.h"
#include "base/require.h"
#include "ir/ops/host/launch_kernel.h"
#include "ir/ops/host/post_on_stream.h"

namespace tokamak {

HostIrContainer::HostIrContainer(std::string name)
    : Fusion(std::move(name)), default_stream_(stream()), number_of_streams_(symbol("numberOfStreams")) {}

void HostIrContainer::markAlias(TensorView* original, TensorView* alias) {
  TK_REQUIRE(&original->fusion() == this && &alias->fusion() == this, HostProgram,
             "markAlias: {} and {} must belong to the container", toString(*original), toString(*alias));
  TK_REQUIRE(!aliases_.contains(alias), HostProgram, "markAlias: {} already is an alias of {}", nameOf(*alias),
             nameOf(*aliases_[alias]));
  for (TensorView* step = original; step != nullptr;) {
    TK_REQUIRE(step != alias, HostProgram,
               "markAlias: {} as an alias of {} closes a cycle; an alias must end at a buffer", nameOf(*alias),
               nameOf(*original));
    const auto next = aliases_.find(step);
    step = next == aliases_.end() ? nullptr : next->second;
  }
  aliases_[alias] = original;
}

void HostIrContainer::markView(TensorView* source, TensorView* view) {
  TK_REQUIRE(&source->fusion() == this && &view->fusion() == this, HostProgram,
             "markView: {} and {} must belong to the container", toString(*source), toString(*view));
  TK_REQUIRE(!views_.contains(view), HostProgram, "markView: {} already is a view of {}", nameOf(*view),
             nameOf(*views_[view]));
  views_[view] = source;
}

TensorView* HostIrContainer::resolveAlias(TensorView* tensor) const {
  for (auto next = aliases_.find(tensor); next != aliases_.end(); next = aliases_.find(tensor)) tensor = next->second;
  return tensor;
}

void HostIrContainer::addDemand(ExtentDemand demand) {
  const bool is_known = std::ranges::any_of(demands_, [&](const ExtentDemand& known) {
    return known.first == demand.first && known.second == demand.second && known.op == demand.op &&
           known.unless_zero == demand.unless_zero;
  });
  if (!is_known) demands_.push_back(std::move(demand));
}

void HostIrContainer::addKernel(int64_t number, std::shared_ptr<const kir::Kernel> kernel) {
  TK_REQUIRE(kernels_.emplace(number, std::move(kernel)).second, HostProgram, "there is a Kernel{} already", number);
}

bool computesResults(const Expr& statement) {
  return statement.list() == OpList::Math || statement.is<PostOnStream>() || statement.is<LaunchKernel>() ||
         statement.info().is_communication;
}

static bool hasBody(const Expr& expr) {
  static const auto& kinds = *immortal([] {
    std::set<OpKind> found;
    for (const OpKind kind : allOpKinds()) {
      if (std::ranges::any_of(defaultFields(kind), [](const Field& field) { return field.role == FieldRole::Body; }))
        found.insert(kind);
    }
    return found;
  }());
  return kinds.contains(expr.kind());
}

void forEachStatement(const Block& block, const std::function<void(const Expr&)>& visit) {
  for (const Expr* expr : block.exprs) {
    visit(*expr);
    if (!hasBody(*expr)) continue;
    for (const Field& field : fieldsOf(*expr)) {
      if (const auto* body = std::get_if<Block>(&field.value)) forEachStatement(*body, visit);
    }
  }
}

}  // namespace tokamak
