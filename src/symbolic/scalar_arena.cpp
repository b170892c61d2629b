#include "symbolic/scalar_arena.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <utility>

#include "base/require.h"
#include "symbolic/functions.h"
#include "symbolic/scalar_simplifier.h"

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
  if (operand->isConstant()) return operand->arena().constant(operand->value(), dtype);
  return simplify(operand->arena().rawScalar(ScalarOp::Cast, dtype, {&operand, 1}));
}

// The digits a constant is written with in binary; negative ones count more, so that equal forms prefer positive
// constants.
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

size_t ScalarArena::ScalarKeyHash::operator()(const Scalar* scalar) const {
  size_t seed = mix(static_cast<size_t>(scalar->op()), static_cast<size_t>(scalar->dtype()));
  seed = mix(seed, static_cast<size_t>(scalar->function()));
  for (const Scalar* operand : scalar->operands()) seed = mix(seed, std::hash<const void*>{}(operand));
  return scalar->isConstant() ? mix(seed, hashValue(scalar->value())) : seed;
}

bool ScalarArena::ScalarKeyEqual::operator()(const Scalar* a, const Scalar* b) const {
  return a->op() == b->op() && a->dtype() == b->dtype() && a->function() == b->function() &&
         std::ranges::equal(a->operands(), b->operands()) && (!a->isConstant() || isSameValue(a->value(), b->value()));
}

ScalarArena::ScalarArena() = default;
ScalarArena::~ScalarArena() = default;

Scalar* ScalarArena::intern(std::unique_ptr<Scalar> scalar) {
  if (const auto found = interned_.find(scalar.get()); found != interned_.end()) return found->second;
  Scalar* raw = own(std::move(scalar));
  raw->weight_ = weightOf(*raw);
  raw->first_leaf_ = std::numeric_limits<int64_t>::max();
  for (const Scalar* operand : raw->operands()) raw->first_leaf_ = std::min(raw->first_leaf_, operand->first_leaf_);
  interned_.emplace(raw, raw);
  return raw;
}

Scalar* ScalarArena::constant(int64_t value) { return constant(ScalarValue{value}, DataType::I64); }

Scalar* ScalarArena::constant(ScalarValue value, DataType dtype) {
  auto scalar = std::unique_ptr<Scalar>(new Scalar(*this, dtype, ScalarOp::Constant));
  scalar->value_ = convertValue(value, dtype);
  return intern(std::move(scalar));
}

Scalar* ScalarArena::symbol(std::string name, DataType dtype) {
  auto scalar = std::unique_ptr<Scalar>(new Scalar(*this, dtype, ScalarOp::Symbol));
  scalar->name_ = std::move(name);
  Scalar* raw = own(std::move(scalar));
  raw->weight_ = weightOf(*raw);
  raw->first_leaf_ = raw->id();
  return raw;
}

Scalar* ScalarArena::coordinate(size_t number) {
  while (coordinates_.size() <= number) {
    std::string name = "c";
    name += std::to_string(coordinates_.size());
    coordinates_.push_back(symbol(std::move(name)));
  }
  return coordinates_[number];
}

Scalar* ScalarArena::rawScalar(ScalarOp op, DataType dtype, std::span<Scalar* const> operands, FunctionId function) {
  TK_CHECK(operands.size() <= 3 && op != ScalarOp::Constant && op != ScalarOp::Symbol, "a scalar of {} operands",
           operands.size());
  auto scalar = std::unique_ptr<Scalar>(new Scalar(*this, dtype, op));
  scalar->function_ = function;
  scalar->operand_count_ = static_cast<uint8_t>(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    TK_REQUIRE(operands[i] != nullptr, Definition, "scalar: operand {} is null; it must be a scalar of the fusion", i);
    TK_REQUIRE(&operands[i]->arena() == this, Definition, "scalar {} belongs to another fusion",
               toString(*operands[i]));
    scalar->operands_[i] = operands[i];
  }
  return intern(std::move(scalar));
}

Scalar* ScalarArena::scalar(ScalarOp op, Scalar* a, Scalar* b, Scalar* c) {
  Scalar* operands[] = {a, b, c};
  const size_t count = op == ScalarOp::Not || op == ScalarOp::Cast ? 1 : op == ScalarOp::Select ? 3 : 2;
  for (size_t i = 0; i < count; ++i)
    TK_REQUIRE(operands[i] != nullptr, Definition, "scalar: operand {} is null; it must be a scalar of the fusion", i);
  for (size_t i = 0; i < count; ++i) operands[i] = operandOf(op, i, operands[i]);
  return simplify(rawScalar(op, resultType(op, operands[0], operands[1], operands[2]), {operands, count}));
}

bool ScalarArena::isCoordinate(const Scalar& scalar) const {
  return std::ranges::find(coordinates_, &scalar) != coordinates_.end();
}

}  // namespace tokamak
