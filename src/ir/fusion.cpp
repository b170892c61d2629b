#include "ir/fusion.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/require.h"
#include "ir/fields.h"

namespace tokamak {

bool ById::operator()(const Val* a, const Val* b) const { return a->id() < b->id(); }

Fusion::Fusion(std::string name) : name_(std::move(name)) {}
Fusion::~Fusion() = default;

IterDomain* Fusion::axis(const AxisSpec& spec) {
  for (const Scalar* extent : {spec.extent, spec.expanded_extent}) {
    const auto size = extent == nullptr ? std::nullopt : extent->constantInt();
    TK_REQUIRE(!size || *size >= 0, Definition, "axis: the extent {} is negative", *size);
  }
  auto axis = std::unique_ptr<IterDomain>(new IterDomain(*this));
  axis->id_ = nextId();
  axis->kind_ = spec.kind;
  axis->extent_ = spec.extent != nullptr ? spec.extent : constant(1);
  axis->expanded_extent_ = spec.expanded_extent;
  axis->is_rfactor_ = spec.is_rfactor;
  axis->parallel_ = spec.parallel;
  axes_.push_back(std::move(axis));
  return axes_.back().get();
}

IterDomain* Fusion::axisLike(const IterDomain& axis) {
  return this->axis({.kind = axis.kind(), .extent = axis.extent(), .expanded_extent = axis.expandedExtent()});
}

const DomainExpr* Fusion::domainExpr(const DomainExpr& expr) {
  domain_exprs_.push_back(std::make_unique<DomainExpr>(expr));
  const DomainExpr* raw = domain_exprs_.back().get();
  for (IterDomain* axis : raw->in) {
    if (axis != nullptr) axis->use_ = raw;
  }
  for (IterDomain* axis : raw->out) {
    if (axis != nullptr) axis->definition_ = raw;
  }
  return raw;
}

void Fusion::clearLoops(TensorView& tensor) {
  TensorDomain& domain = tensor.mutableDomain();
  domain.loop = domain.logical;
  domain.inline_position = 0;
  for (IterDomain* axis : domain.logical) {
    axis->use_ = nullptr;
    axis->parallelize(ParallelType::Serial);
  }
}

TensorView* Fusion::tensor(DataType dtype, TensorDomain domain) {
  for (const Axes* axes : {&domain.logical, &domain.loop, &domain.allocation}) {
    for (size_t i = 0; i < axes->size(); ++i)
      TK_REQUIRE((*axes)[i] != nullptr, Definition, "tensor: axis {} is null; it must be an axis of the fusion", i);
  }
  if (domain.loop.empty()) domain.loop = domain.logical;
  if (domain.contiguity.empty()) {
    for (const IterDomain* axis : domain.allocation.empty() ? domain.logical : domain.allocation) {
      const bool is_stored = !axis->isReduction() && !axis->isBroadcast();
      domain.contiguity.push_back(is_stored ? std::optional(true) : std::nullopt);
    }
  }
  return own(std::unique_ptr<TensorView>(new TensorView(*this, dtype, std::move(domain))));
}

TensorView* Fusion::tensor(DataType dtype, Axes logical) {
  TensorDomain domain;
  domain.logical = std::move(logical);
  return tensor(dtype, std::move(domain));
}

StreamVal* Fusion::stream(Scalar* index) { return own(std::unique_ptr<StreamVal>(new StreamVal(*this, index))); }

void Fusion::collectOperands(Expr& expr) {
  for (const Field& field : fieldsOf(expr)) {
    if (field.role > FieldRole::OperandList) continue;
    auto& list = field.role <= FieldRole::ResultList ? expr.outputs_ : expr.inputs_;
    if (const auto* val = std::get_if<Val*>(&field.value); val != nullptr && *val != nullptr) list.push_back(*val);
    if (const auto* vals = std::get_if<std::vector<Val*>>(&field.value))
      list.insert(list.end(), vals->begin(), vals->end());
  }
}

void Fusion::link(Expr* expr) {
  expr->fusion_ = this;
  collectOperands(*expr);
  for (Val* val : valsOf(*expr)) {
    TK_REQUIRE(&val->fusion() == this, Definition, "{}: an operand or result belongs to another fusion", expr->name());
  }
  for (Val* output : expr->outputs_) {
    TK_REQUIRE(isHostProgram() || output->definition_ == nullptr, Definition, "{}: its result already has a definition",
               expr->name());
    if (output->definition_ == nullptr) output->definition_ = expr;
  }
  for (Val* input : expr->inputs_) {
    if (input->uses_.empty() || input->uses_.back() != expr) input->uses_.push_back(expr);
  }
}

Expr* Fusion::append(std::unique_ptr<Expr> expr) {
  Expr* raw = expr.get();
  raw->id_ = static_cast<int64_t>(exprs_.size());
  link(raw);
  exprs_.push_back(std::move(expr));
  return raw;
}

// Numbers follow the program's order; uses are in that order.
void Fusion::renumber() {
  for (size_t i = 0; i < exprs_.size(); ++i) exprs_[i]->id_ = static_cast<int64_t>(i);
  for (const auto& expr : exprs_) {
    for (Val* input : expr->inputs_) std::ranges::sort(input->uses_, {}, &Expr::id);
  }
}

Expr* Fusion::insertBefore(const Expr* place, std::unique_ptr<Expr> expr) {
  Expr* raw = expr.get();
  link(raw);
  exprs_.insert(exprs_.begin() + place->id(), std::move(expr));
  renumber();
  return raw;
}

Expr* Fusion::replaceExpr(Expr* expr, std::unique_ptr<Expr> by) {
  for (Val* output : expr->outputs_) {
    if (output->definition_ == expr) output->definition_ = nullptr;
  }
  for (Val* input : expr->inputs_) std::erase(input->uses_, expr);
  Expr* raw = by.get();
  link(raw);
  std::unique_ptr<Expr>& place = exprs_[static_cast<size_t>(expr->id())];
  replaced_exprs_.push_back(std::exchange(place, std::move(by)));
  renumber();
  return raw;
}

void Fusion::addInput(Val* input) {
  TK_REQUIRE(input != nullptr, Definition,
             "addInput: the value is null; it must be a tensor or a scalar of the fusion");
  TK_REQUIRE(&input->fusion() == this, Definition, "addInput: the value belongs to another fusion");
  TK_REQUIRE(input->definition() == nullptr || isHostProgram(), Definition,
             "addInput: the value is computed by {}; an input has no definition", input->definition()->name());
  TK_REQUIRE(!isInput(input), Definition, "addInput: the value is already an input");
  inputs_.push_back(input);
}

void Fusion::addOutput(TensorView* output) {
  TK_REQUIRE(output != nullptr, Definition, "addOutput: the tensor is null; it must be a tensor of the fusion");
  TK_REQUIRE(&output->fusion() == this, Definition, "addOutput: {} belongs to another fusion", toString(*output));
  outputs_.push_back(output);
}

void Fusion::replaceOutput(TensorView* output, TensorView* by) {
  TK_CHECK(&by->fusion() == this && !output_aliases_.contains(output), "{} cannot be given in place of {}",
           toString(*by), toString(*output));
  std::ranges::replace(outputs_, output, by);
}

void Fusion::replaceInput(TensorView* input, TensorView* by) {
  const bool is_updated =
      std::ranges::any_of(output_aliases_, [&](const auto& alias) { return alias.second.target == input; });
  TK_CHECK(&by->fusion() == this && !is_updated && by->dtype() == input->dtype(), "{} cannot be taken in place of {}",
           toString(*by), toString(*input));
  std::ranges::replace(inputs_, static_cast<Val*>(input), static_cast<Val*>(by));
}

void Fusion::aliasOutput(TensorView* output, Val* target, bool is_hidden) {
  TK_REQUIRE(output != nullptr, Definition, "alias: the output is null; it must be a tensor of the fusion");
  TK_REQUIRE(&output->fusion() == this, Definition, "alias: {} belongs to another fusion", toString(*output));
  TK_REQUIRE(isInput(target) && target->kind() == ValKind::Tensor, Definition,
             "alias: the target of {} must be an input tensor", toString(*output));
  const TensorView& input = *static_cast<TensorView*>(target);
  TK_REQUIRE(input.dtype() == output->dtype() && shapeOf(input).size() == shapeOf(*output).size(), Definition,
             "alias: {} cannot be written into {}; type and rank must be the same", toString(*output), toString(input));
  for (const auto& [other, alias] : output_aliases_) {
    TK_REQUIRE(alias.target != target || other == output, Definition,
               "alias: {} cannot be written into {}, which {} is written into", toString(*output), toString(input),
               toString(*other));
  }
  if (!isOutput(output)) addOutput(output);
  output_aliases_[output] = {target, is_hidden};
}

bool Fusion::isInput(const Val* val) const { return std::ranges::find(inputs_, val) != inputs_.end(); }
bool Fusion::isOutput(const Val* val) const { return std::ranges::find(outputs_, val) != outputs_.end(); }

namespace {

// The same expressions with each behind what it reads, in their order as far as that allows.
std::vector<Expr*> producersFirst(const std::vector<Expr*>& exprs) {
  std::vector<Expr*> ordered;
  std::unordered_set<const Expr*> entered;
  std::unordered_set<const Expr*> placed;
  std::vector<Expr*> pending;
  for (Expr* expr : exprs) {
    pending.push_back(expr);
    while (!pending.empty()) {
      Expr* next = pending.back();
      const size_t waiting = pending.size();
      if (entered.insert(next).second) {
        for (const Val* input : next->inputs()) {
          Expr* producer = input->definition();
          if (producer != nullptr && !entered.contains(producer)) pending.push_back(producer);
        }
      }
      if (pending.size() > waiting) continue;
      pending.pop_back();
      if (placed.insert(next).second) ordered.push_back(next);
    }
  }
  return ordered;
}

}  // namespace

std::vector<Expr*> Fusion::exprs() const {
  std::unordered_set<const Expr*> reached;
  std::vector<Expr*> pending;
  const auto reach = [&](const Val* val) {
    Expr* expr = val->definition();
    if (expr != nullptr && reached.insert(expr).second) pending.push_back(expr);
    return expr;
  };
  for (const TensorView* output : outputs_) reach(output);
  std::vector<Expr*> found;
  bool is_in_order = true;
  while (!pending.empty()) {
    Expr* expr = pending.back();
    pending.pop_back();
    found.push_back(expr);
    for (const Val* input : expr->inputs()) {
      const Expr* producer = reach(input);
      is_in_order = is_in_order && (producer == nullptr || producer->id() < expr->id());
    }
  }
  std::ranges::sort(found, {}, &Expr::id);
  // An op's operands exist before it; but what replaces an expression may read what has been appended since.
  return is_in_order ? found : producersFirst(found);
}

std::vector<Expr*> Fusion::allExprs() const {
  std::vector<Expr*> all;
  for (const auto& expr : exprs_) all.push_back(expr.get());
  return all;
}

std::vector<TensorView*> Fusion::allTensors() const {
  std::vector<TensorView*> tensors;
  for (const auto& val : vals()) {
    if (TensorView* tensor = asTensor(val.get())) tensors.push_back(tensor);
  }
  return tensors;
}

std::vector<Scalar*> Fusion::allSymbols() const {
  std::vector<Scalar*> symbols;
  for (const auto& val : vals()) {
    Scalar* scalar = asScalar(val.get());
    if (scalar != nullptr && scalar->isSymbol() && !isCoordinate(*scalar)) symbols.push_back(scalar);
  }
  return symbols;
}

}  // namespace tokamak
