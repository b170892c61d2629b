// Exhaustive visiting: a visitor that forgets an op of the list does not compile.
#pragma once

#include <utility>

#include "base/require.h"
#include "ir/all_ops.h"
#include "ir/expr.h"

namespace tokamak {

/// Calls `visitor(const Op&)` with the fields of a math op. Every op of the math list must be callable.
template <class Visitor>
decltype(auto) visitMath(const Expr& expr, Visitor&& visitor) {
  switch (expr.kind()) {
#define TK_CASE(Op) \
  case OpKind::Op: return visitor(static_cast<const OpNode<Op>&>(expr).op());
    TK_MATH_OPS(TK_CASE)
#undef TK_CASE
    default: TK_RAISE(Internal, "{} is not a math op", expr.name());
  }
}

/// The same for the ops of host programs.
template <class Visitor>
decltype(auto) visitHost(const Expr& expr, Visitor&& visitor) {
  switch (expr.kind()) {
#define TK_CASE(Op) \
  case OpKind::Op: return visitor(static_cast<const OpNode<Op>&>(expr).op());
    TK_HOST_OPS(TK_CASE)
#undef TK_CASE
    default: TK_RAISE(Internal, "{} is not a host op", expr.name());
  }
}

/// Combines lambdas, one per op, into a visitor.
template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

}  // namespace tokamak
