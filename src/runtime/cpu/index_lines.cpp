#include "runtime/cpu/index_lines.h"

#include <algorithm>

#include "base/require.h"

namespace tokamak {

namespace {

int64_t floorDivide(int64_t a, int64_t b) { return a / b - static_cast<int64_t>(a % b != 0 && a < 0); }

void cut(int64_t& length, int64_t to) { length = std::min(length, to); }

// floor(x / divisor); the piece ends where x crosses a multiple of the divisor.
Line divided(Line x, int64_t divisor, int64_t& length) {
  TK_CHECK(divisor > 0, "an index is divided by {}", divisor);
  const int64_t quotient = floorDivide(x.value, divisor);
  if (x.slope % divisor == 0) return {quotient, x.slope / divisor};
  const int64_t rest = x.value - quotient * divisor;
  cut(length, x.slope > 0 ? (divisor - rest + x.slope - 1) / x.slope : rest / -x.slope + 1);
  return {quotient, 0};
}

Line remainderOf(Line x, int64_t divisor, int64_t& length) {
  const Line quotient = divided(x, divisor, length);
  return {x.value - quotient.value * divisor, x.slope - quotient.slope * divisor};
}

// Whether x < 0; the piece ends where the sign changes.
bool isNegative(Line x, int64_t& length) {
  if (x.value < 0 && x.slope > 0) cut(length, (-x.value + x.slope - 1) / x.slope);
  if (x.value >= 0 && x.slope < 0) cut(length, x.value / -x.slope + 1);
  return x.value < 0;
}

Line minus(Line a, Line b) { return {a.value - b.value, a.slope - b.slope}; }
Line truth(bool value) { return {static_cast<int64_t>(value), 0}; }

bool isEqual(Line a, Line b, int64_t& length) {
  const Line difference = minus(a, b);
  if (difference.slope != 0) {
    // Equal at most at one point; it ends before that point, or after it.
    if (difference.value == 0)
      cut(length, 1);
    else
      static_cast<void>(isNegative(difference, length)),
          static_cast<void>(isNegative(minus({0, 0}, difference), length));
  }
  return difference.value == 0;
}

}  // namespace

bool mentionsAny(const Scalar& scalar, std::span<Scalar* const> coordinates) {
  if (std::ranges::find(coordinates, &scalar) != coordinates.end()) return true;
  return std::ranges::any_of(scalar.operands(), [&](const Scalar* s) { return mentionsAny(*s, coordinates); });
}

IndexLines::IndexLines(std::span<Scalar* const> coordinates, std::span<const int64_t> offsets,
                       const ScalarBindings& bindings)
    : coordinates_(coordinates.begin(), coordinates.end()),
      offsets_(offsets.begin(), offsets.end()),
      bindings_(&bindings) {}

int32_t IndexLines::add(const Scalar& scalar) {
  Node node;
  const auto coordinate = std::ranges::find(coordinates_, &scalar);
  if (coordinate != coordinates_.end()) {
    node.op = ScalarOp::Symbol;
    node.dimension = static_cast<size_t>(coordinate - coordinates_.begin());
    node.constant = offsets_[node.dimension];
  } else if (!mentionsAny(scalar, coordinates_)) {
    node.constant = evaluateInt(scalar, *bindings_);
  } else {
    TK_CHECK(!isFloatingType(scalar.dtype()) && scalar.op() != ScalarOp::Cast && scalar.op() != ScalarOp::Function,
             "{}: coordinates enter integer arithmetic only", toString(scalar));
    node.op = scalar.op();
    for (size_t i = 0; i < scalar.operands().size(); ++i) node.operands[i] = add(*scalar.operand(i));
  }
  nodes_.push_back(node);
  return static_cast<int32_t>(nodes_.size()) - 1;
}

Line IndexLines::at(int32_t number, const int64_t* dimensions, size_t along, int64_t& length) const {
  return follow(nodes_[static_cast<size_t>(number)], dimensions, along, length);
}

Line IndexLines::follow(const Node& node, const int64_t* dimensions, size_t along, int64_t& length) const {
  if (node.op == ScalarOp::Constant) return {node.constant, 0};
  if (node.op == ScalarOp::Symbol) {
    return {dimensions[node.dimension] + node.constant, static_cast<int64_t>(node.dimension == along)};
  }
  const Line a = at(node.operands[0], dimensions, along, length);
  if (node.op == ScalarOp::Not) return truth(a.value == 0);
  if (node.op == ScalarOp::Select) return at(node.operands[a.value != 0 ? 1 : 2], dimensions, along, length);
  const Line b = at(node.operands[1], dimensions, along, length);
  switch (node.op) {
    case ScalarOp::Add: return {a.value + b.value, a.slope + b.slope};
    case ScalarOp::Sub: return minus(a, b);
    case ScalarOp::Mul:
      if (a.slope != 0 && b.slope != 0) cut(length, 1);
      return {a.value * b.value, a.slope * b.value + b.slope * a.value};
    case ScalarOp::FloorDiv:
      if (b.slope != 0) cut(length, 1);
      return divided(a, b.value, length);
    case ScalarOp::CeilDiv:
      if (b.slope != 0) cut(length, 1);
      return divided({a.value + b.value - 1, a.slope}, b.value, length);
    case ScalarOp::Mod:
      if (b.slope != 0) cut(length, 1);
      return remainderOf(a, b.value, length);
    case ScalarOp::Min: return isNegative(minus(a, b), length) ? a : b;
    case ScalarOp::Max: return isNegative(minus(a, b), length) ? b : a;
    case ScalarOp::Less: return truth(isNegative(minus(a, b), length));
    case ScalarOp::LessEqual: return truth(!isNegative(minus(b, a), length));
    case ScalarOp::Equal: return truth(isEqual(a, b, length));
    case ScalarOp::NotEqual: return truth(!isEqual(a, b, length));
    case ScalarOp::And: return truth(a.value != 0 && b.value != 0);
    case ScalarOp::Or: return truth(a.value != 0 || b.value != 0);
    default: TK_RAISE(Internal, "not integer arithmetic");
  }
}

void IndexLines::renumber(std::span<const size_t> numbers) {
  for (Node& node : nodes_) {
    if (node.op == ScalarOp::Symbol) node.dimension = numbers[node.dimension];
  }
}

bool IndexLines::mentionsDimension(size_t i) const {
  return std::ranges::any_of(nodes_,
                             [&](const Node& node) { return node.op == ScalarOp::Symbol && node.dimension == i; });
}

}  // namespace tokamak
