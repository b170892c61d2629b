// ScalarSource: scalars as C expressions.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "symbolic/functions.h"
#include "symbolic/interval_analysis.h"

namespace tokamak {

/// Writes integer, bool and floating scalars as C expressions. Floor division and remainder are C's operators if the
/// dividend is proved not negative and the divisor positive. Else they are helpers, which give 0 for a divisor of 0 (an
/// empty axis).
class ScalarSource {
 public:
  using Namer = std::function<std::string(const Scalar&)>;

  ScalarSource(Namer name, IntervalAnalysis& analysis, std::set<std::string>& helpers)
      : name_(std::move(name)), analysis_(&analysis), helpers_(&helpers) {}

  std::string write(Scalar& scalar) { return write(scalar, 0); }
  /// In parentheses unless it is a name, a number or a call.
  std::string writeOperand(Scalar& scalar);

  /// The scalar is written as this name until forget().
  void define(const Scalar& scalar, std::string name) { defined_[&scalar] = std::move(name); }
  void forget(const Scalar& scalar) { defined_.erase(&scalar); }
  bool isDefined(const Scalar& scalar) const { return defined_.contains(&scalar); }

 private:
  std::string write(Scalar& scalar, int outer);
  std::string division(Scalar& scalar, int outer);
  std::string call(const std::string& helper, Scalar& scalar);
  /// Converts operands to types for which the function table has the function, and the result to the scalar's type.
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

/// A number as a C literal: 3, 1.0f, 0x1p-3; infinities as helpers' constants.
std::string numberSource(const ScalarValue& value, DataType dtype);

}  // namespace tokamak
