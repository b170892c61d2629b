#include "kernel/interpreter/lane_scalars.h"

#include <algorithm>
#include <optional>

#include "base/require.h"

namespace tokamak {

namespace {

// What index arithmetic has no rule for: functions, and whatever comes of numbers that are not whole.
bool isOfHost(const Scalar& scalar) {
  return scalar.op() == ScalarOp::Function ||
         std::ranges::any_of(scalar.operands(), [](const Scalar* operand) { return isFloatingType(operand->dtype()); });
}

int64_t floorDiv(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

int64_t apply(ScalarOp op, int64_t a, int64_t b) {
  switch (op) {
    case ScalarOp::Add: return a + b;
    case ScalarOp::Sub: return a - b;
    case ScalarOp::Mul: return a * b;
    // (Threads that do not reach a statement may have any indices.)
    case ScalarOp::FloorDiv: return b <= 0 ? 0 : floorDiv(a, b);
    case ScalarOp::CeilDiv: return b <= 0 ? 0 : -floorDiv(-a, b);
    case ScalarOp::Mod: return b <= 0 ? 0 : a - b * floorDiv(a, b);
    case ScalarOp::Min: return std::min(a, b);
    case ScalarOp::Max: return std::max(a, b);
    case ScalarOp::Equal: return a == b ? 1 : 0;
    case ScalarOp::NotEqual: return a != b ? 1 : 0;
    case ScalarOp::Less: return a < b ? 1 : 0;
    case ScalarOp::LessEqual: return a <= b ? 1 : 0;
    case ScalarOp::And: return a != 0 && b != 0 ? 1 : 0;
    case ScalarOp::Or: return a != 0 || b != 0 ? 1 : 0;
    default: break;
  }
  TK_CHECK(false, "no such index arithmetic");
}

}  // namespace

LaneScalars::Entry& LaneScalars::entryOf(Scalar& scalar) {
  const auto [found, is_new] = entries_.try_emplace(&scalar);
  Entry& entry = found->second;
  if (!is_new) return entry;
  entry.scalar = &scalar;
  entry.values.assign(static_cast<size_t>(lanes_), 0);
  entry.is_symbol = scalar.isSymbol();
  const bool is_given = scalar.isSymbol() && bindings_->contains(&scalar);
  if (scalar.isConstant() || is_given) {
    const int64_t value = asInt(scalar.isConstant() ? scalar.value() : bindings_->at(&scalar));
    std::ranges::fill(entry.values, value);
    entry.is_fixed = true;
    entry.may_be_wide = isWide(value);
  }
  std::vector<Entry*> operands;  // (pointers to a map's entries stay valid)
  for (Scalar* operand : scalar.operands()) operands.push_back(&entryOf(*operand));
  entry.operands = std::move(operands);
  const auto isFixed = [](const Entry* operand) { return operand->is_fixed; };
  if (isOfHost(scalar) && std::ranges::all_of(entry.operands, isFixed)) {
    const std::optional<ScalarValue> value = evaluate(scalar, *bindings_);
    TK_CHECK(value.has_value(), "{} has no value in the kernel", toString(scalar));
    std::ranges::fill(entry.values, asInt(*value));
    entry.is_fixed = true;
    entry.may_be_wide = isWide(asInt(*value));
  }
  return entry;
}

uint64_t LaneScalars::refresh(Entry& entry) {
  if (entry.is_fixed) return 0;
  if (entry.is_symbol) {
    TK_CHECK(entry.changed > 0, "{} has no value in the kernel", toString(*entry.scalar));
    noteWidth(entry);
    return entry.changed;
  }
  uint64_t changed = 1;
  for (Entry* operand : entry.operands) changed = std::max(changed, refresh(*operand));
  if (entry.computed >= changed) return entry.computed;
  entry.computed = changed;
  const ScalarOp op = entry.scalar->op();
  const std::vector<int64_t>& a = entry.operands[0]->values;
  for (size_t lane = 0; lane < a.size(); ++lane) {
    if (op == ScalarOp::Not)
      entry.values[lane] = a[lane] == 0 ? 1 : 0;
    else if (op == ScalarOp::Select)
      entry.values[lane] = a[lane] != 0 ? entry.operands[1]->values[lane] : entry.operands[2]->values[lane];
    else if (op == ScalarOp::Cast)
      entry.values[lane] = entry.scalar->dtype() == DataType::Bool ? (a[lane] != 0 ? 1 : 0) : a[lane];
    else
      entry.values[lane] = apply(op, a[lane], entry.operands[1]->values[lane]);
  }
  noteWidth(entry);
  return changed;
}

void LaneScalars::noteWidth(Entry& entry) const {
  if (bound_ == 0) return;
  entry.may_be_wide = std::ranges::any_of(entry.values, [&](int64_t value) { return isWide(value); }) ||
                      std::ranges::any_of(entry.operands, &Entry::may_be_wide);
}

const Scalar* LaneScalars::widePart(const Entry& entry, int64_t lane) const {
  if (!entry.may_be_wide) return nullptr;
  for (const Entry* operand : entry.operands) {
    if (const Scalar* part = widePart(*operand, lane)) return part;
  }
  return isWide(entry.values[static_cast<size_t>(lane)]) ? entry.scalar : nullptr;
}

const Scalar* LaneScalars::tooWide(Scalar& scalar, int64_t lane) { return widePart(entryOf(scalar), lane); }

std::span<const int64_t> LaneScalars::of(Scalar& scalar) {
  Entry& entry = entryOf(scalar);
  refresh(entry);
  return entry.values;
}

std::span<int64_t> LaneScalars::set(const Scalar& symbol) {
  Entry& entry = entryOf(const_cast<Scalar&>(symbol));
  entry.is_fixed = false;
  entry.changed = ++now_;
  return entry.values;
}

}  // namespace tokamak
