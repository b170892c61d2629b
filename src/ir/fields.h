// Fields: an op as a list of named values by role, made from and turned back into the op struct. What is generic about
// ops is written once over fields.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/export.h"
#include "ir/expr.h"
#include "ir/iter_domain.h"
#include "ir/tensor_view.h"
#include "symbolic/scalar.h"

namespace tokamak {

struct HostSegment;

/// A list of statements of a host or kernel program.
struct Block {
  std::vector<Expr*> exprs;
};

/// An enumerator with the names of its enum.
struct EnumValue {
  size_t index = 0;
  std::span<const std::string_view> names;
  std::string_view name() const { return names[index]; }
  bool operator==(const EnumValue& other) const { return index == other.index && names.data() == other.names.data(); }
};

enum class FieldRole : uint8_t {
  Result,
  ResultList,
  Operand,
  OptionalOperand,
  OperandList,
  Spelling,
  AxisNumber,
  AxisNumbers,
  Attribute,
  Body,
};

using FieldValue = std::variant<std::monostate, Val*, std::vector<Val*>, Scalar*, std::vector<Scalar*>, IterDomain*,
                                int64_t, bool, double, std::string, DataType, EnumValue, std::vector<int64_t>,
                                std::vector<bool>, Block, std::shared_ptr<const HostSegment>>;

/// How an attribute depends on the axes of a tensor of the op (an operand or the result, by its visible shape). What
/// changes when an axis is taken away or cut is derived from that.
enum class AxisRelation : uint8_t {
  None,
  Number,       ///< an axis' number
  Numbers,      ///< a list of axis numbers
  PerAxis,      ///< a list with one entry per axis (or two: pad widths)
  Extents,      ///< a list with one size per axis, that of the axis itself where the op keeps it whole
  Permutation,  ///< entry i is the number of the operand's axis at position i of the result
  Origin,       ///< the value at position 0 of the result's only axis; it moves by `step` per position
};

struct Field {
  FieldRole role = FieldRole::Attribute;
  std::string_view name;
  FieldValue value;
  AxisRelation relation = AxisRelation::None;
  TensorView* of = nullptr;  ///< the tensor whose axes are meant
};
using Fields = std::vector<Field>;

/// The op's fields in the order of its description.
TOKAMAK_EXPORT Fields fieldsOf(const Expr& expr);
/// The fields of an op that was just default-constructed: what absent attributes mean.
TOKAMAK_EXPORT const Fields& defaultFields(OpKind kind);
/// An expression of this kind with these fields (absent ones keep their defaults), not yet in a fusion.
/// Errors: Definition when a value has the wrong form for its field or a required operand is missing.
TOKAMAK_EXPORT std::unique_ptr<Expr> makeExpr(OpKind kind, const Fields& fields);
/// The same, with its results inferred in `fusion` and appended to it. Math ops only.
TOKAMAK_EXPORT Expr* defineExpr(Fusion& fusion, OpKind kind, const Fields& fields);

TOKAMAK_EXPORT const OpInfo& opInfo(OpKind kind);
TOKAMAK_EXPORT OpList opList(OpKind kind);
TOKAMAK_EXPORT std::span<const OpKind> allOpKinds();

/// What a call's name stands for: an op, and for ops with a spelling which one.
struct OpName {
  OpKind kind;
  std::optional<EnumValue> spelling;
};
TOKAMAK_EXPORT std::optional<OpName> findOp(std::string_view name, OpList list = OpList::Math);
/// The name a call of this op is written with: its spelling if it has one, else the op's name.
TOKAMAK_EXPORT std::string_view callName(const Expr& expr);

/// Every val and scalar the expression mentions, results and attributes included, in order of description; not those in
/// bodies.
TOKAMAK_EXPORT std::vector<Val*> valsOf(const Expr& expr);

}  // namespace tokamak
