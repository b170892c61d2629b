// Random scalars and values for property tests, and an evaluation that tells failure by nothing instead of raising.
#pragma once

#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "ir/fusion.h"

namespace tokamak::test {

/// `gate` cases, or as many as TOKAMAK_TEST_CASES says.
inline int64_t caseCount(int64_t gate) {
  const char* wanted = std::getenv("TOKAMAK_TEST_CASES");
  return wanted != nullptr ? std::atoll(wanted) : gate;
}

using Values = std::unordered_map<const Scalar*, int64_t>;

/// The value as evaluate() gives it (true is 1); nothing when that raises.
inline std::optional<int64_t> valueOf(const Scalar& scalar, const Values& values) {
  if (scalar.isConstant()) return asInt(scalar.value());
  if (scalar.isSymbol()) return values.at(&scalar);
  std::optional<int64_t> v[3];
  for (size_t i = 0; i < scalar.operands().size(); ++i) {
    v[i] = valueOf(*scalar.operand(i), values);
    if (!v[i]) return std::nullopt;
  }
  if (scalar.op() == ScalarOp::Not) return *v[0] == 0;
  if (scalar.op() == ScalarOp::Select) return *v[0] != 0 ? v[1] : v[2];
  const auto value = applyChecked(scalar.op(), *v[0], *v[1]);
  return value ? std::optional(asInt(*value)) : std::nullopt;
}

class RandomScalars {
 public:
  RandomScalars(Fusion& fusion, std::mt19937_64& random) : fusion_(fusion), random_(random) {
    for (const char* name : {"i0", "i2", "i3", "i4"}) integers_.push_back(fusion.symbol(name));
    for (const char* name : {"p", "q"}) truths_.push_back(fusion.symbol(name, DataType::Bool));
  }

  const std::vector<Scalar*>& integers() const { return integers_; }
  const std::vector<Scalar*>& truths() const { return truths_; }
  size_t below(size_t count) { return random_() % count; }

  Scalar* integer(int depth) {
    if (depth == 0 || below(8) == 0)
      return below(3) == 0 ? fusion_.constant(constant()) : integers_[below(integers_.size())];
    constexpr ScalarOp kOps[] = {ScalarOp::Add, ScalarOp::Add,      ScalarOp::Sub,     ScalarOp::Mul,
                                 ScalarOp::Mul, ScalarOp::FloorDiv, ScalarOp::CeilDiv, ScalarOp::Mod,
                                 ScalarOp::Min, ScalarOp::Max,      ScalarOp::Select};
    const ScalarOp op = kOps[below(std::size(kOps))];
    if (op == ScalarOp::Select)
      return raw(op, DataType::I64, {truth(depth - 1), integer(depth - 1), integer(depth - 1)});
    const bool divides = op == ScalarOp::FloorDiv || op == ScalarOp::CeilDiv || op == ScalarOp::Mod;
    Scalar* right = divides && below(3) != 0 ? fusion_.constant(int64_t(1 + below(8))) : integer(depth - 1);
    return raw(op, DataType::I64, {integer(depth - 1), right});
  }

  Scalar* truth(int depth) {
    if (depth == 0 || below(8) == 0) {
      return below(4) == 0 ? fusion_.constant(below(2) == 0, DataType::Bool) : truths_[below(truths_.size())];
    }
    constexpr ScalarOp kOps[] = {ScalarOp::Equal, ScalarOp::NotEqual, ScalarOp::Less, ScalarOp::LessEqual,
                                 ScalarOp::And,   ScalarOp::Or,       ScalarOp::Not};
    const ScalarOp op = kOps[below(std::size(kOps))];
    if (op == ScalarOp::Not) return raw(op, DataType::Bool, {truth(depth - 1)});
    const bool joins = op == ScalarOp::And || op == ScalarOp::Or;
    return joins ? raw(op, DataType::Bool, {truth(depth - 1), truth(depth - 1)})
                 : raw(op, DataType::Bool, {integer(depth - 1), integer(depth - 1)});
  }

  /// Small, near a power of two, or any 64 bits.
  int64_t wideValue() {
    switch (below(5)) {
      case 0: return smallValue();
      case 1: return static_cast<int64_t>(below(2001)) - 1000;
      case 2: return static_cast<int64_t>((uint64_t{1} << below(64)) + below(3) - 1);
      case 3: return -static_cast<int64_t>(uint64_t{1} << below(63));
      default: return static_cast<int64_t>(random_());
    }
  }
  int64_t smallValue() { return static_cast<int64_t>(below(17)) - 8; }

  template <class Draw>
  Values values(const Draw& draw) {
    Values drawn;
    for (const Scalar* symbol : integers_) drawn[symbol] = draw();
    for (const Scalar* symbol : truths_) drawn[symbol] = static_cast<int64_t>(below(2));
    return drawn;
  }

  Scalar* raw(ScalarOp op, DataType dtype, std::vector<Scalar*> operands) {
    return fusion_.rawScalar(op, dtype, operands);
  }

 private:
  int64_t constant() { return below(40) == 0 ? wideValue() : smallValue(); }

  Fusion& fusion_;
  std::mt19937_64& random_;
  std::vector<Scalar*> integers_;
  std::vector<Scalar*> truths_;
};

}  // namespace tokamak::test
