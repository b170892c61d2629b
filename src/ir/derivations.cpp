// Everything derived from the op descriptions: the only file that includes all ops for generic work.
#include <algorithm>
#include <array>

#include "base/immortal.h"
#include "base/require.h"
#include "ir/all_ops.h"
#include "ir/fields.h"
#include "ir/shape_rule.h"

namespace tokamak {

namespace {

template <class T>
concept AnyVal = std::is_base_of_v<Val, T>;

template <class Enum>
std::span<const std::string_view> namesOf() {
  if constexpr (std::is_same_v<Enum, FunctionId>) {
    return functionNames();
  } else {
    return EnumNames<Enum>::names;
  }
}

// --- op -> fields ---

template <class T>
FieldValue toValue(const T& value) {
  if constexpr (std::is_same_v<T, DataType>)
    return value;
  else if constexpr (std::is_enum_v<T>)
    return EnumValue{static_cast<size_t>(value), namesOf<T>()};
  else
    return value;
}
template <AnyVal T>
FieldValue toValue(T* const& value) {
  if constexpr (std::is_same_v<T, Scalar>)
    return static_cast<Scalar*>(value);
  else
    return static_cast<Val*>(value);
}
FieldValue toValue(const std::optional<DataType>& value) { return value ? FieldValue(*value) : FieldValue(); }

template <AnyVal T>
FieldValue toValues(const std::vector<T*>& values) {
  return std::vector<Val*>(values.begin(), values.end());
}

struct Reader {
  Fields fields;

  void add(FieldRole role, std::string_view name, FieldValue value, AxisRelation relation = AxisRelation::None,
           TensorView* of = nullptr) {
    fields.push_back({role, name, std::move(value), relation, of});
  }
  template <AnyVal T>
  void result(std::string_view name, T* const& value) {
    add(FieldRole::Result, name, static_cast<Val*>(value));
  }
  template <AnyVal T>
  void operand(std::string_view name, T* const& value) {
    add(FieldRole::Operand, name, static_cast<Val*>(value));
  }
  template <AnyVal T>
  void optional(std::string_view name, T* const& value) {
    add(FieldRole::OptionalOperand, name, static_cast<Val*>(value));
  }
  template <class T>
  void operands(std::string_view name, const std::vector<T*>& values) {
    add(FieldRole::OperandList, name, toValues(values));
  }
  template <class T>
  void results(std::string_view name, const std::vector<T*>& values) {
    add(FieldRole::ResultList, name, toValues(values));
  }
  template <class T>
  void spelling(std::string_view name, const T& value) {
    add(FieldRole::Spelling, name, toValue(value));
  }
  void axis(std::string_view name, const int64_t& value, TensorView* of) {
    add(FieldRole::AxisNumber, name, value, AxisRelation::Number, of);
  }
  void axes(std::string_view name, const std::vector<int64_t>& value, TensorView* of) {
    add(FieldRole::AxisNumbers, name, value, AxisRelation::Numbers, of);
  }
  template <class T>
  void perAxis(std::string_view name, const T& value, TensorView* of) {
    add(FieldRole::Attribute, name, value, AxisRelation::PerAxis, of);
  }
  void extents(std::string_view name, Scalar* const& value, TensorView* of) {
    add(FieldRole::Attribute, name, value, AxisRelation::Extents, of);
  }
  void extents(std::string_view name, const std::vector<Scalar*>& value, TensorView* of) {
    add(FieldRole::Attribute, name, value, AxisRelation::Extents, of);
  }
  void permutation(std::string_view name, const std::vector<int64_t>& value, TensorView* of) {
    add(FieldRole::Attribute, name, value, AxisRelation::Permutation, of);
  }
  void origin(std::string_view name, Scalar* const& value, TensorView* of) {
    add(FieldRole::Attribute, name, value, AxisRelation::Origin, of);
  }
  template <class T>
  void attribute(std::string_view name, const T& value) {
    add(FieldRole::Attribute, name, toValue(value));
  }
  void body(std::string_view name, const Block& value) { add(FieldRole::Body, name, value); }
};

// --- fields -> op ---

struct Writer {
  std::string_view op;
  const Fields& fields;

  const Field* find(std::string_view name) const {
    const auto found = std::ranges::find(fields, name, &Field::name);
    return found == fields.end() ? nullptr : &*found;
  }

  template <AnyVal T>
  T* toVal(std::string_view name, Val* val) const {
    if constexpr (std::is_same_v<T, Val>) return val;
    constexpr ValKind kind = std::is_same_v<T, TensorView>  ? ValKind::Tensor
                             : std::is_same_v<T, StreamVal> ? ValKind::Stream
                                                            : ValKind::Scalar;
    constexpr std::string_view kind_name = kind == ValKind::Tensor   ? "tensor"
                                           : kind == ValKind::Stream ? "stream"
                                                                     : "scalar";
    TK_REQUIRE(val->kind() == kind, Definition, "{}: '{}' must be a {}", op, name, kind_name);
    return static_cast<T*>(val);
  }

  template <AnyVal T>
  void setVal(std::string_view name, T*& target) const {
    const Field* field = find(name);
    if (field == nullptr || std::holds_alternative<std::monostate>(field->value)) return;
    Val* val = nullptr;
    if (const auto* held = std::get_if<Val*>(&field->value))
      val = *held;
    else if (const auto* scalar = std::get_if<Scalar*>(&field->value))
      val = *scalar;
    else
      TK_RAISE(Definition, "{}: '{}' must be a value, not an attribute", op, name);
    if (val != nullptr) target = toVal<T>(name, val);
  }

  template <class T>
  void setValue(std::string_view name, T& target) const {
    const Field* field = find(name);
    if (field == nullptr || std::holds_alternative<std::monostate>(field->value)) return;
    if constexpr (std::is_enum_v<T> && !std::is_same_v<T, DataType>) {
      const auto* value = std::get_if<EnumValue>(&field->value);
      TK_REQUIRE(value != nullptr && value->names.data() == namesOf<T>().data(), Definition,
                 "{}: attribute '{}' must be one of its names", op, name);
      target = static_cast<T>(value->index);
    } else {
      const auto* value = std::get_if<T>(&field->value);
      TK_REQUIRE(value != nullptr, Definition, "{}: attribute '{}' has a value of the wrong form", op, name);
      target = *value;
    }
  }

  void setValue(std::string_view name, std::optional<DataType>& target) const {
    DataType value{};
    const Field* field = find(name);
    if (field == nullptr || std::holds_alternative<std::monostate>(field->value)) return;
    setValue(name, value);
    target = value;
  }

  template <AnyVal T>
  void result(std::string_view name, T*& target) const {
    setVal(name, target);
  }
  template <AnyVal T>
  void operand(std::string_view name, T*& target) const {
    setVal(name, target);
    TK_REQUIRE(target != nullptr, Definition, "{}: operand '{}' is missing", op, name);
  }
  template <AnyVal T>
  void optional(std::string_view name, T*& target) const {
    setVal(name, target);
  }
  template <AnyVal T>
  void operands(std::string_view name, std::vector<T*>& target) const {
    const Field* field = find(name);
    if (field == nullptr) return;
    const auto* vals = std::get_if<std::vector<Val*>>(&field->value);
    TK_REQUIRE(vals != nullptr, Definition, "{}: '{}' must be a list of values", op, name);
    for (Val* val : *vals) target.push_back(toVal<T>(name, val));
  }
  template <AnyVal T>
  void results(std::string_view name, std::vector<T*>& target) const {
    operands(name, target);
  }
  template <class T>
  void spelling(std::string_view name, T& target) const {
    setValue(name, target);
  }
  void axis(std::string_view name, int64_t& target, const TensorView*) const { setValue(name, target); }
  void axes(std::string_view name, std::vector<int64_t>& target, const TensorView*) const { setValue(name, target); }
  template <class T>
  void perAxis(std::string_view name, T& target, const TensorView*) const {
    setValue(name, target);
  }
  void extents(std::string_view name, Scalar*& target, const TensorView*) const { setVal(name, target); }
  void extents(std::string_view name, std::vector<Scalar*>& target, const TensorView*) const { setValue(name, target); }
  void permutation(std::string_view name, std::vector<int64_t>& target, const TensorView*) const {
    setValue(name, target);
  }
  void origin(std::string_view name, Scalar*& target, const TensorView*) const { setVal(name, target); }
  template <class T>
  void attribute(std::string_view name, T& target) const {
    setValue(name, target);
  }
  void body(std::string_view name, Block& target) const { setValue(name, target); }
};

template <class Op>
Fields readFields(const Op& op) {
  Reader reader;
  Op::describe(reader, op);
  return std::move(reader.fields);
}

template <class Op>
Op writeFields(const Fields& fields) {
  Op op;
  const Writer writer{Op::info.name, fields};
  Op::describe(writer, op);
  return op;
}

struct OpRow {
  OpKind kind;
  OpList list;
  const OpInfo* info;
  Fields (*read)(const Expr&);
  std::unique_ptr<Expr> (*make)(const Fields&);
  Expr* (*define)(Fusion&, const Fields&);
  Fields (*defaults)();
};

template <class Op>
constexpr OpRow rowOf(OpList list) {
  OpRow row{kindOf<Op>, list, &Op::info, nullptr, nullptr, nullptr, nullptr};
  row.read = [](const Expr& expr) { return readFields(static_cast<const OpNode<Op>&>(expr).op()); };
  row.make = [](const Fields& fields) -> std::unique_ptr<Expr> {
    return std::make_unique<OpNode<Op>>(writeFields<Op>(fields));
  };
  row.defaults = [] { return readFields(Op{}); };
  if constexpr (requires(Op op, const ShapeRule& rule) { op.infer(rule); }) {
    row.define = [](Fusion& fusion, const Fields& fields) -> Expr* {
      Op op = writeFields<Op>(fields);
      op.infer(ShapeRule(fusion, Op::info.name));
      return fusion.appendOp(std::move(op));
    };
  }
  return row;
}

constexpr OpRow kOps[] = {
#define TK_ROW(Op) rowOf<Op>(OpList::Math),
    TK_MATH_OPS(TK_ROW)
#undef TK_ROW
#define TK_ROW(Op) rowOf<Op>(OpList::Kernel),
        TK_KERNEL_OPS(TK_ROW)
#undef TK_ROW
#define TK_ROW(Op) rowOf<Op>(OpList::Host),
            TK_HOST_OPS(TK_ROW)
#undef TK_ROW
};

const OpRow& rowOf(OpKind kind) { return kOps[static_cast<size_t>(kind)]; }

}  // namespace

Fields fieldsOf(const Expr& expr) { return rowOf(expr.kind()).read(expr); }

const Fields& defaultFields(OpKind kind) {
  static const auto& all = *immortal([] {
    std::array<Fields, std::size(kOps)> list;
    std::ranges::transform(kOps, list.begin(), [](const OpRow& row) { return row.defaults(); });
    return list;
  }());
  return all[static_cast<size_t>(kind)];
}

std::unique_ptr<Expr> makeExpr(OpKind kind, const Fields& fields) { return rowOf(kind).make(fields); }

Expr* defineExpr(Fusion& fusion, OpKind kind, const Fields& fields) {
  const OpRow& row = rowOf(kind);
  TK_CHECK(row.define != nullptr, "{} has no type rule; its results must be given", row.info->name);
  return row.define(fusion, fields);
}

const OpInfo& opInfo(OpKind kind) { return *rowOf(kind).info; }
OpList opList(OpKind kind) { return rowOf(kind).list; }

std::span<const OpKind> allOpKinds() {
  static const auto kinds = [] {
    std::array<OpKind, std::size(kOps)> list;
    std::ranges::transform(kOps, list.begin(), &OpRow::kind);
    return list;
  }();
  return kinds;
}

std::optional<OpName> findOp(std::string_view name, OpList list) {
  for (const OpRow& row : kOps) {
    if (row.list != list) continue;
    const Fields& fields = defaultFields(row.kind);
    const auto spelling = std::ranges::find(fields, FieldRole::Spelling, &Field::role);
    if (spelling == fields.end()) {
      if (row.info->name == name) return OpName{row.kind, std::nullopt};
      continue;
    }
    EnumValue value = std::get<EnumValue>(spelling->value);
    const auto found = std::ranges::find(value.names, name);
    if (found == value.names.end()) continue;
    value.index = static_cast<size_t>(found - value.names.begin());
    return OpName{row.kind, value};
  }
  return std::nullopt;
}

std::string_view callName(const Expr& expr) {
  for (const Field& field : fieldsOf(expr)) {
    if (field.role == FieldRole::Spelling) return std::get<EnumValue>(field.value).name();
  }
  return expr.name();
}

std::vector<Val*> valsOf(const Expr& expr) {
  std::vector<Val*> vals;
  const auto add = [&](Val* val) {
    if (val != nullptr) vals.push_back(val);
  };
  for (const Field& field : fieldsOf(expr)) {
    if (const auto* val = std::get_if<Val*>(&field.value)) add(*val);
    if (const auto* scalar = std::get_if<Scalar*>(&field.value)) add(*scalar);
    if (const auto* list = std::get_if<std::vector<Val*>>(&field.value)) std::ranges::for_each(*list, add);
    if (const auto* list = std::get_if<std::vector<Scalar*>>(&field.value)) std::ranges::for_each(*list, add);
  }
  return vals;
}

}  // namespace tokamak
