// Fusion: the container that owns a tensor program's nodes, and its inputs, outputs and aliases.
#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/export.h"
#include "ir/expr.h"
#include "ir/tensor_view.h"
#include "symbolic/scalar_arena.h"

namespace tokamak {

/// An output that shares an input's buffer: the output's values are written into it (an in-place update).
struct OutputAlias {
  Val* target = nullptr;
  bool is_hidden = false;  ///< not returned to the caller
};

/// Orders vals by creation, so that iteration never depends on addresses.
struct ById {
  bool operator()(const Val* a, const Val* b) const;
};

/// A size of an input: a number, or the name of an extent.
class NamedSize {
 public:
  template <std::integral T>
  NamedSize(T size) : value_(static_cast<int64_t>(size)) {}        // NOLINT(google-explicit-constructor)
  NamedSize(const char* name) : value_(std::string(name)) {}       // NOLINT(google-explicit-constructor)
  NamedSize(std::string name) : value_(std::move(name)) {}         // NOLINT(google-explicit-constructor)
  NamedSize(std::string_view name) : value_(std::string(name)) {}  // NOLINT(google-explicit-constructor)
  NamedSize(char) = delete;
  NamedSize(bool) = delete;
  NamedSize(std::nullptr_t) = delete;
  const int64_t* number() const { return std::get_if<int64_t>(&value_); }
  const std::string* name() const { return std::get_if<std::string>(&value_); }

 private:
  std::variant<int64_t, std::string> value_;
};

/// A tensor program: owns all of its nodes.
/// Thread safety: the const functions only read: threads may call them, and cloneFusion(), side by side while nobody
/// changes the fusion. All else is for one thread at a time. Whoever makes a scalar changes the fusion, constants and
/// sums of scalars that are there included: so do simplification, the rules of ops, analyses and lowering, which reach
/// it by Val::fusion() of a const node, too. Threads that lower one fusion each take a clone.
class TOKAMAK_EXPORT Fusion : public ScalarArena {
 public:
  explicit Fusion(std::string name = "fusion");
  ~Fusion() override;

  const std::string& name() const { return name_; }
  void setName(std::string name) { name_ = std::move(name); }

  // --- axes, tensors, streams ---
  struct AxisSpec {
    IterKind kind = IterKind::Iteration;
    Scalar* extent = nullptr;           ///< null: 1
    Scalar* expanded_extent = nullptr;  ///< of an expanded broadcast axis
    bool is_rfactor = false;
    ParallelType parallel = ParallelType::Serial;
  };
  IterDomain* axis(const AxisSpec& spec);
  /// An axis of the same kind and extents, Serial.
  IterDomain* axisLike(const IterDomain& axis);
  /// Records the step and links its axes.
  const DomainExpr* domainExpr(const DomainExpr& expr);
  /// Makes the logical axes the loops again and Serial; steps from them are forgotten. For a schedule that starts anew.
  void clearLoops(TensorView& tensor);
  /// A tensor with these logical axes, dense, in logical order; `domain` completes missing parts (loop, contiguity).
  TensorView* tensor(DataType dtype, TensorDomain domain);
  TensorView* tensor(DataType dtype, Axes logical);
  StreamVal* stream(Scalar* index = nullptr);

  // --- expressions ---
  /// Takes ownership, links definitions and uses. Errors: Definition when a result already has a definition in a fusion
  /// (a host program allows it) or a node of another fusion is used.
  Expr* append(std::unique_ptr<Expr> expr);
  /// As append, in front of `place` in the program's order. What it reads must be given before.
  Expr* insertBefore(const Expr* place, std::unique_ptr<Expr> expr);
  /// Puts `by` in the place of `expr`, which is no part of the fusion any more (pointers to it stay valid). The results
  /// of `expr` that `by` does not give are left without a definition. `by` may read what stands behind that place:
  /// exprs() is in order all the same, creation order is not.
  Expr* replaceExpr(Expr* expr, std::unique_ptr<Expr> by);
  template <class Op>
  Expr* appendOp(Op op) {
    return append(std::unique_ptr<Expr>(std::make_unique<OpNode<Op>>(std::move(op))));
  }

  // --- the program ---
  /// An input tensor, dense and row-major, in two words: input("x", DataType::F32, {"n", "m", 64}). A name among the
  /// sizes is an extent: one for all inputs that use it. The tensor has its name in texts and messages.
  /// Errors: Definition for a name that is taken or cannot stand in a text, and negative sizes.
  TensorView* input(std::string_view name, DataType dtype, std::span<const NamedSize> sizes);
  TensorView* input(std::string_view name, DataType dtype, std::initializer_list<NamedSize> sizes) {
    return input(name, dtype, std::span<const NamedSize>(sizes.begin(), sizes.size()));
  }
  /// An input scalar. Errors: as above.
  Scalar* scalarInput(std::string_view name, DataType dtype);
  /// Makes a tensor an output of this name, and gives it back. Errors: Definition for a name that is taken or cannot
  /// stand in a text, and for a tensor that has a name: set() makes another of it.
  TensorView* output(std::string_view name, TensorView* tensor);
  /// Calls write `value`, of its type and sizes, into the memory of `input`, and do not give it. Errors: Definition.
  void update(TensorView* input, TensorView* value);
  void addInput(Val* input);
  void addOutput(TensorView* output);
  /// Puts `by` in the place of an output that updates no input.
  void replaceOutput(TensorView* output, TensorView* by);
  /// Puts `by`, of the same type, in the place of an input that no output updates and no expression makes.
  void replaceInput(TensorView* input, TensorView* by);
  void aliasOutput(TensorView* output, Val* target, bool is_hidden = false);
  const std::vector<Val*>& inputs() const { return inputs_; }
  const std::vector<TensorView*>& outputs() const { return outputs_; }
  const std::map<TensorView*, OutputAlias, ById>& outputAliases() const { return output_aliases_; }
  bool isInput(const Val* val) const;
  bool isOutput(const Val* val) const;

  /// Expressions that outputs depend on, producers first; ties in creation order.
  std::vector<Expr*> exprs() const;
  /// All expressions, in creation order.
  std::vector<Expr*> allExprs() const;
  std::vector<TensorView*> allTensors() const;
  std::vector<Scalar*> allSymbols() const;

  /// Default sizes from the text: symbol -> value.
  std::map<Scalar*, int64_t, ById>& defaultSizes() { return default_sizes_; }
  const std::map<Scalar*, int64_t, ById>& defaultSizes() const { return default_sizes_; }

  virtual bool isHostProgram() const { return false; }

 private:
  friend class FusionMutator;
  void requireFreeName(std::string_view what, std::string_view name) const;
  Scalar* extentNamed(const std::string& name);
  void collectOperands(Expr& expr);
  void link(Expr* expr);
  void renumber();

  std::string name_;
  std::vector<std::unique_ptr<IterDomain>> axes_;
  std::vector<std::unique_ptr<DomainExpr>> domain_exprs_;
  std::vector<std::unique_ptr<Expr>> exprs_;
  std::vector<std::unique_ptr<Expr>> replaced_exprs_;
  std::vector<Val*> inputs_;
  std::vector<TensorView*> outputs_;
  std::map<TensorView*, OutputAlias, ById> output_aliases_;
  std::map<Scalar*, int64_t, ById> default_sizes_;
};

inline Fusion& Val::fusion() const { return static_cast<Fusion&>(*arena_); }

}  // namespace tokamak
