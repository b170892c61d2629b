// Rewriting of kernels: copies of statements with scalars, loops or values replaced; new names.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "kernel/kernel.h"

namespace tokamak::kir {

/// Replaces every scalar of the statements, indices of loops included.
Statements withScalars(const Statements& statements, const std::function<Scalar*(Scalar*)>& replace);

/// Replaces every index at which the statements access a tensor.
Statements withIndices(const Statements& statements,
                       const std::function<Scalar*(const TensorView& tensor, Scalar* index)>& replace);

/// Replaces every statement without a body, in order; null removes it.
Statements withLeaves(const Statements& statements, const std::function<StatementRef(const StatementRef&)>& replace);

/// Replaces every Let by `let`, and the value of every Store by `value`, in order.
Statements withOverrides(const Statements& statements, const std::function<StatementRef(const Let&)>& let,
                         const std::function<ValueRef(const ValueRef&)>& value);

/// Calls `visit` for every scalar of the statements, indices of loops included.
void visitScalars(const Statements& statements, const std::function<void(Scalar&)>& visit);

/// Replaces each outermost loop by the statements that `replace(loop, result)` adds to `result`, also within guards and
/// grid reductions.
Statements withLoops(const Statements& statements,
                     const std::function<void(const Loop& loop, Statements& result)>& replace);

/// The indices that the statements' loops and Lets define.
std::set<const Scalar*> indicesIn(const Statements& statements);

/// Old variable -> new one.
using Renamed = std::map<const Variable*, VariableRef>;
ValueRef withVariables(const ValueRef& value, const Renamed& renamed);

/// Makes variables with new names.
class NewValues {
 public:
  explicit NewValues(const Kernel& kernel);
  /// A variable called `wish`, or `wish`_2, ...
  VariableRef named(const std::string& wish, DataType dtype);

 private:
  std::set<std::string> names_;
};

/// The kernel's statements, with Lets renamed whose name is in scope already (as after hoisting).
Statements withDistinctNames(const Kernel& kernel);

}  // namespace tokamak::kir
