#include "kernel/rewrite.h"

namespace tokamak::kir {

namespace {

using Replace = std::function<Scalar*(Scalar*)>;

ValueRef copyOf(const ValueRef& value, const Replace& replace) {
  Value copy = *value;
  if (copy.scalar != nullptr) copy.scalar = replace(copy.scalar);
  for (ValueRef& operand : copy.operands) operand = copyOf(operand, replace);
  return std::make_shared<const Value>(std::move(copy));
}

struct Copier {
  const Replace& replace;

  StatementRef operator()(Loop loop) const {
    loop.index = replace(loop.index);
    loop.start = replace(loop.start);
    loop.stop = replace(loop.stop);
    loop.body = kir::withScalars(loop.body, replace);
    return statement(std::move(loop));
  }
  StatementRef operator()(const If& guard) const {
    return statement(If{replace(guard.predicate), kir::withScalars(guard.body, replace)});
  }
  StatementRef operator()(const Allocate& allocate) const {
    return statement(Allocate{allocate.tensor, replace(allocate.size)});
  }
  StatementRef operator()(const Let& let) const { return statement(Let{let.variable, copyOf(let.value, replace)}); }
  StatementRef operator()(const Store& store) const {
    return statement(Store{store.tensor, replace(store.index), copyOf(store.value, replace)});
  }
  StatementRef operator()(Combine combine) const {
    combine.index = replace(combine.index);
    return statement(std::move(combine));
  }
  StatementRef operator()(const Barrier& barrier) const { return statement(barrier); }
};

}  // namespace

Statements withScalars(const Statements& statements, const Replace& replace) {
  Statements result;
  for (const StatementRef& each : statements) result.push_back(std::visit(Copier{replace}, each->node));
  return result;
}

void visitScalars(const Statements& statements, const std::function<void(Scalar&)>& visit) {
  withScalars(statements, [&](Scalar* scalar) {
    visit(*scalar);
    return scalar;
  });
}

}  // namespace tokamak::kir
