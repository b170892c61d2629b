// What passes make changed kernels with: copies of statements with scalars or loops replaced, values with names of
// their own.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "kernel/kernel.h"

namespace tokamak::kir {

/// Every scalar of the statements (indices of loops included) goes through `replace`.
Statements withScalars(const Statements& statements, const std::function<Scalar*(Scalar*)>& replace);

/// Every index of a tensor that the statements read or write goes through `replace`.
Statements withIndices(const Statements& statements,
                       const std::function<Scalar*(const TensorView& tensor, Scalar* index)>& replace);

/// Every statement without a body goes through `replace`, in order; null: it goes.
Statements withLeaves(const Statements& statements, const std::function<StatementRef(const StatementRef&)>& replace);

/// Every Let goes through `let`, the value of every Store through `value`, in order.
Statements withOverrides(const Statements& statements, const std::function<StatementRef(const Let&)>& let,
                         const std::function<ValueRef(const ValueRef&)>& value);

/// Calls `visit` for every scalar that the statements mention, indices of loops included.
void visitScalars(const Statements& statements, const std::function<void(Scalar&)>& visit);

/// The statements, where `replace(loop, result)` adds to `result` what stands for each loop that is in no other one.
/// Those inside of guards and of what the last block does are replaced there.
Statements withLoops(const Statements& statements,
                     const std::function<void(const Loop& loop, Statements& result)>& replace);

/// The indices of the statements' loops and of their values that are indices.
std::set<const Scalar*> indicesIn(const Statements& statements);

/// New names of values, and the value where uses of some have their new ones.
using Renamed = std::map<const Variable*, VariableRef>;
ValueRef withVariables(const ValueRef& value, const Renamed& renamed);

/// Makes values with names that the kernel does not have yet.
class NewValues {
 public:
  explicit NewValues(const Kernel& kernel);
  /// Called `wish`, or `wish`_2, ...
  VariableRef named(const std::string& wish, DataType dtype);

 private:
  std::set<std::string> names_;
};

/// The kernel's statements, where a Let whose name is known already, as after a Let of that name left the loop that it
/// stood in, has a name of its own.
Statements withDistinctNames(const Kernel& kernel);

}  // namespace tokamak::kir
