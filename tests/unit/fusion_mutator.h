// FusionMutator: breaks the invariants of a fusion on purpose; what the public interface refuses is reached directly.
#pragma once

#include "host/ir/host_ir_container.h"
#include "ir/fusion.h"

namespace tokamak {

class FusionMutator {
 public:
  static Expr*& definition(Val* val) { return val->definition_; }
  static std::vector<Expr*>& uses(Val* val) { return val->uses_; }
  static DataType& dtype(Val* val) { return val->dtype_; }
  static ScalarArena*& owner(Val* val) { return val->arena_; }

  static std::vector<Val*>& inputs(Expr* expr) { return expr->inputs_; }
  static std::vector<Val*>& outputs(Expr* expr) { return expr->outputs_; }
  static int64_t& number(Expr* expr) { return expr->id_; }
  /// The op's fields, to be changed although expressions are immutable.
  template <class Op>
  static Op& op(Expr* expr) {
    return const_cast<Op&>(*expr->as<Op>());
  }

  static Scalar*& extent(IterDomain* axis) { return axis->extent_; }
  static Scalar*& expandedExtent(IterDomain* axis) { return axis->expanded_extent_; }
  static Fusion*& owner(IterDomain* axis) { return axis->fusion_; }
  static const DomainExpr*& definition(IterDomain* axis) { return axis->definition_; }

  static std::vector<Val*>& inputs(Fusion& fusion) { return fusion.inputs_; }
  static std::vector<TensorView*>& outputs(Fusion& fusion) { return fusion.outputs_; }
  static std::map<TensorView*, OutputAlias, ById>& outputAliases(Fusion& fusion) { return fusion.output_aliases_; }
  static std::map<TensorView*, TensorView*, ById>& aliases(HostIrContainer& program) { return program.aliases_; }
};

}  // namespace tokamak
