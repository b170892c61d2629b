// Expr: one operation. OpInfo: the traits that passes ask for.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "ir/op_lists.h"
#include "symbolic/val.h"

namespace tokamak {

enum class OpList : uint8_t { Math, Kernel, Host };

/// Every structured op, by the name of its struct.
enum class OpKind : uint8_t {
#define TK_ENUMERATOR(Op) Op,
  TK_MATH_OPS(TK_ENUMERATOR) TK_KERNEL_OPS(TK_ENUMERATOR) TK_HOST_OPS(TK_ENUMERATOR)
#undef TK_ENUMERATOR
};

/// What passes may know of an op without knowing the op.
struct OpInfo {
  std::string_view name;          ///< in text and dumps
  bool stands_alone = false;      ///< always its own group, cloned into the host program (matmul, set, communications)
  bool is_library = false;        ///< run by a library call where there is one
  bool may_be_view = false;       ///< the result can be a view of the first operand
  bool is_communication = false;  ///< moves data between devices
  bool ends_group = false;        ///< what reads the result is in another group (segment_set)
  /// For docs/ops.md: what it does in words, and an example that runs: "x: f32[4, 8]", "y = flip(x, axes=[1])". Empty
  /// for ops whose calls have rows of their own (define/op_reference.cpp).
  std::string_view meaning = {};
  std::string_view example_inputs = {};
  std::string_view example_call = {};
};

template <class Op>
inline constexpr OpKind kindOf = [] {
  static_assert(sizeof(Op) == 0, "not in an op list");
  return OpKind{};
}();
#define TK_KIND(Op) \
  template <>       \
  inline constexpr OpKind kindOf<Op> = OpKind::Op;
TK_MATH_OPS(TK_KIND)
TK_KERNEL_OPS(TK_KIND)
TK_HOST_OPS(TK_KIND)
#undef TK_KIND

template <class Op>
class OpNode;

/// Immutable once made. The op's own fields are reached by `as<Op>()` or by visiting (ir/visit.h).
/// Thread safety: that of its fusion. Its op, operands and results stay as they are once it is appended; its number
/// does not.
class TOKAMAK_EXPORT Expr {
 public:
  virtual ~Expr() = default;
  Expr(const Expr&) = delete;
  Expr& operator=(const Expr&) = delete;

  OpKind kind() const { return kind_; }
  const OpInfo& info() const { return *info_; }
  OpList list() const;
  std::string_view name() const { return info_->name; }
  Fusion& fusion() const { return *fusion_; }
  int64_t id() const { return id_; }

  /// Operands in the order of the op's description, without absent optional ones.
  std::span<Val* const> inputs() const { return inputs_; }
  std::span<Val* const> outputs() const { return outputs_; }
  Val* input(size_t i) const { return inputs_[i]; }
  Val* output(size_t i) const { return outputs_[i]; }

  /// The fields of the op if this is one, else null.
  template <class Op>
  const Op* as() const {
    return kind_ == kindOf<Op> ? &static_cast<const OpNode<Op>*>(this)->op() : nullptr;
  }
  template <class Op>
  bool is() const {
    return kind_ == kindOf<Op>;
  }

 protected:
  Expr(OpKind kind, const OpInfo& info) : kind_(kind), info_(&info) {}

 private:
  friend class Fusion;
  friend class FusionMutator;  // breaks fusions on purpose, in tests
  Fusion* fusion_ = nullptr;
  int64_t id_ = 0;
  OpKind kind_;
  const OpInfo* info_;
  std::vector<Val*> inputs_;
  std::vector<Val*> outputs_;
};

/// An expression holding the op struct itself.
/// Thread safety: that of Expr.
template <class Op>
class OpNode final : public Expr {
 public:
  explicit OpNode(Op op) : Expr(kindOf<Op>, Op::info), op_(std::move(op)) {}
  const Op& op() const { return op_; }

 private:
  const Op op_;
};

/// Allows `expr.as<Op>()` results to be tested for the tensors of an expression.
TOKAMAK_EXPORT std::vector<class TensorView*> tensorsOf(std::span<Val* const> vals);
TOKAMAK_EXPORT class TensorView* asTensor(Val* val);
TOKAMAK_EXPORT class Scalar* asScalar(Val* val);

}  // namespace tokamak
