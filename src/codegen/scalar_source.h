// Index arithmetic as source.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "symbolic/functions.h"
#include "symbolic/interval_analysis.h"

namespace tokamak {

/// Writes integer, bool and floating scalars as expressions of C. Floor division and remainder are C's own where the
/// dividend is proved not to be negative and the divisor to be positive, else helpers, for which a division by 0 (an
/// index along an empty axis) is 0.
class ScalarSource {
 public:
  using Namer = std::function<std::string(const Scalar&)>;

  ScalarSource(Namer name, IntervalAnalysis& analysis, std::set<std::string>& helpers)
      : name_(std::move(name)), analysis_(&analysis), helpers_(&helpers) {}

  std::string write(Scalar& scalar) { return write(scalar, 0); }
  /// In parentheses where it is more than a name, a number or a call: for what binds as strongly as a conversion.
  std::string writeOperand(Scalar& scalar);

  /// From here on the scalar is written as a name, until it is forgotten.
  void define(const Scalar& scalar, std::string name) { defined_[&scalar] = std::move(name); }
  void forget(const Scalar& scalar) { defined_.erase(&scalar); }
  bool isDefined(const Scalar& scalar) const { return defined_.contains(&scalar); }

 private:
  std::string write(Scalar& scalar, int outer);
  std::string division(Scalar& scalar, int outer);
  std::string call(const std::string& helper, Scalar& scalar);
  /// Operands, in any mix of types, are brought to those that the table has the function for, and its result to the
  /// scalar's.
  std::string callFunction(FunctionId function, Scalar& scalar);
  /// The scalar converted to the type.
  std::string writeAs(DataType type, Scalar& scalar, int outer);
  std::string converted(DataType to, DataType from, std::string text);
  /// The operation on floating operands of one type, or of halves, which compute in f32.
  std::string floatingOperation(Scalar& scalar, int outer);
  std::string infixOperation(Scalar& scalar, DataType type, int outer);

  Namer name_;
  IntervalAnalysis* analysis_;
  std::set<std::string>* helpers_;
  std::map<const Scalar*, std::string> defined_;
};

/// A number of a type: "1.0f", "-INFINITY" as a helper's constant, 3, 0x1p-3.
std::string numberSource(const ScalarValue& value, DataType dtype);

}  // namespace tokamak
