#include "ir/fusion.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "ir/fields.h"
#include "ir/functions.h"
#include "ir/scalar_simplifier.h"

namespace tokamak {

namespace {

size_t mix(size_t seed, size_t value) { return (seed ^ value) * 0x9e3779b97f4a7c15ULL + (seed >> 29U); }

size_t hashValue(const ScalarValue& value) {
  return std::visit(
      [](auto v) {
        if constexpr (std::is_same_v<decltype(v), double>)
          return std::hash<uint64_t>{}(std::bit_cast<uint64_t>(v));
        else
          return std::hash<int64_t>{}(static_cast<int64_t>(v));
      },
      value);
}

DataType resultType(ScalarOp op, Scalar* a, Scalar* b, Scalar* c) {
  switch (op) {
    case ScalarOp::Equal:
    case ScalarOp::NotEqual:
    case ScalarOp::Less:
    case ScalarOp::LessEqual:
    case ScalarOp::And:
    case ScalarOp::Or:
    case ScalarOp::Not: return DataType::Bool;
    case ScalarOp::Select: return promoteTypes(b->dtype(), c->dtype());
    default: return b == nullptr ? a->dtype() : promoteTypes(a->dtype(), b->dtype());
  }
}

// Logic is done on conditions, arithmetic on numbers.
Scalar* operandOf(ScalarOp op, size_t number, Scalar* operand) {
  const bool is_logic = op == ScalarOp::And || op == ScalarOp::Or || op == ScalarOp::Not;
  const bool is_condition = is_logic || (op == ScalarOp::Select && number == 0);
  const bool is_free =
      op == ScalarOp::Cast || op == ScalarOp::Select || op == ScalarOp::Equal || op == ScalarOp::NotEqual;
  const bool is_number = !is_condition && !is_free;
  const bool is_bool = operand->dtype() == DataType::Bool;
  if (is_bool ? !is_number : !is_condition) return operand;
  const DataType dtype = is_bool ? DataType::I64 : DataType::Bool;
  if (operand->isConstant()) return operand->fusion().constant(operand->value(), dtype);
  return simplify(operand->fusion().rawScalar(ScalarOp::Cast, dtype, {&operand, 1}));
}

// The digits a constant is written with in binary; negative ones count more, so that equal forms prefer positive constants.
int64_t digitsOf(const ScalarValue& value) {
  const auto* integer = std::get_if<int64_t>(&value);
  if (integer == nullptr) return 0;
  const auto magnitude = static_cast<uint64_t>(*integer < 0 ? ~*integer : *integer);
  return std::bit_width(magnitude) + (*integer < 0 ? 64 : 0);
}

int64_t weightOf(const Scalar& scalar) {
  constexpr int64_t kOne = int64_t{1} << Scalar::kSizeShift;
  constexpr int64_t kLargest = int64_t{1} << 60;
  int64_t weight = kOne;
  if (scalar.isConstant()) weight += digitsOf(scalar.value());
  if (scalar.op() == ScalarOp::CeilDiv) weight += 1;  // floor division is the simpler one
  for (const Scalar* operand : scalar.operands()) weight = std::min(kLargest, weight + operand->weight());
  return weight;
}

}  // namespace

bool ById::operator()(const Val* a, const Val* b) const { return a->id() < b->id(); }

size_t Fusion::ScalarKeyHash::operator()(const Scalar* scalar) const {
  size_t seed = mix(static_cast<size_t>(scalar->op()), static_cast<size_t>(scalar->dtype()));
  seed = mix(seed, static_cast<size_t>(scalar->function()));
  for (const Scalar* operand : scalar->operands()) seed = mix(seed, std::hash<const void*>{}(operand));
  return scalar->isConstant() ? mix(seed, hashValue(scalar->value())) : seed;
}

bool Fusion::ScalarKeyEqual::operator()(const Scalar* a, const Scalar* b) const {
  return a->op() == b->op() && a->dtype() == b->dtype() && a->function() == b->function() &&
         std::ranges::equal(a->operands(), b->operands()) && (!a->isConstant() || isSameValue(a->value(), b->value()));
}

Fusion::Fusion(std::string name) : name_(std::move(name)) {}
Fusion::~Fusion() = default;

template <class T>
T* Fusion::own(std::unique_ptr<T> val) {
  val->id_ = next_id_++;
  T* raw = val.get();
  vals_.push_back(std::move(val));
  return raw;
}

Scalar* Fusion::intern(std::unique_ptr<Scalar> scalar) {
  if (const auto found = interned_.find(scalar.get()); found != interned_.end()) return found->second;
  Scalar* raw = own(std::move(scalar));
  raw->weight_ = weightOf(*raw);
  raw->first_leaf_ = std::numeric_limits<int64_t>::max();
  for (const Scalar* operand : raw->operands()) raw->first_leaf_ = std::min(raw->first_leaf_, operand->first_leaf_);
  interned_.emplace(raw, raw);
  return raw;
}

Scalar* Fusion::constant(int64_t value) { return constant(ScalarValue{value}, DataType::I64); }

Scalar* Fusion::constant(ScalarValue value, DataType dtype) {
  auto scalar = std::unique_ptr<Scalar>(new Scalar(*this, dtype, ScalarOp::Constant));
  scalar->value_ = convertValue(value, dtype);
  return intern(std::move(scalar));
}

Scalar* Fusion::symbol(std::string name, DataType dtype) {
  auto scalar = std::unique_ptr<Scalar>(new Scalar(*this, dtype, ScalarOp::Symbol));
  scalar->name_ = std::move(name);
  Scalar* raw = own(std::move(scalar));
  raw->weight_ = weightOf(*raw);
  raw->first_leaf_ = raw->id();
  return raw;
}

Scalar* Fusion::coordinate(size_t number) {
  while (coordinates_.size() <= number) {
    std::string name = "c";
    name += std::to_string(coordinates_.size());
    coordinates_.push_back(symbol(std::move(name)));
  }
  return coordinates_[number];
}

Scalar* Fusion::rawScalar(ScalarOp op, DataType dtype, std::span<Scalar* const> operands, FunctionId function) {
  TK_CHECK(operands.size() <= 3 && op != ScalarOp::Constant && op != ScalarOp::Symbol, "a scalar of {} operands",
           operands.size());
  auto scalar = std::unique_ptr<Scalar>(new Scalar(*this, dtype, op));
  scalar->function_ = function;
  scalar->operand_count_ = static_cast<uint8_t>(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    TK_REQUIRE(operands[i] != nullptr, Definition, "scalar: operand {} is null; it must be a scalar of the fusion", i);
    TK_REQUIRE(&operands[i]->fusion() == this, Definition, "scalar {} belongs to another fusion",
               toString(*operands[i]));
    scalar->operands_[i] = operands[i];
  }
  return intern(std::move(scalar));
}

Scalar* Fusion::scalar(ScalarOp op, Scalar* a, Scalar* b, Scalar* c) {
  Scalar* operands[] = {a, b, c};
  const size_t count = op == ScalarOp::Not || op == ScalarOp::Cast ? 1 : op == ScalarOp::Select ? 3 : 2;
  for (size_t i = 0; i < count; ++i)
    TK_REQUIRE(operands[i] != nullptr, Definition, "scalar: operand {} is null; it must be a scalar of the fusion", i);
  for (size_t i = 0; i < count; ++i) operands[i] = operandOf(op, i, operands[i]);
  return simplify(rawScalar(op, resultType(op, operands[0], operands[1], operands[2]), {operands, count}));
}

IterDomain* Fusion::axis(const AxisSpec& spec) {
  for (const Scalar* extent : {spec.extent, spec.expanded_extent}) {
    const auto size = extent == nullptr ? std::nullopt : extent->constantInt();
    TK_REQUIRE(!size || *size >= 0, Definition, "axis: the extent {} is negative", *size);
  }
  auto axis = std::unique_ptr<IterDomain>(new IterDomain(*this));
  axis->id_ = next_id_++;
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
  for (const auto& val : vals_) {
    if (TensorView* tensor = asTensor(val.get())) tensors.push_back(tensor);
  }
  return tensors;
}

std::vector<Scalar*> Fusion::allSymbols() const {
  std::vector<Scalar*> symbols;
  for (const auto& val : vals_) {
    Scalar* scalar = asScalar(val.get());
    if (scalar == nullptr || !scalar->isSymbol() || std::ranges::find(coordinates_, scalar) != coordinates_.end())
      continue;
    symbols.push_back(scalar);
  }
  return symbols;
}

}  // namespace tokamak
