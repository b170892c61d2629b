// Dot: one element of a matrix product, of any type but bool.
#pragma once

#include <cmath>

#include "oracle/functions.h"
#include "oracle/sum.h"

namespace tokamak::oracle {

/// Floating types are summed in f32 or wider with the bound of Summation; integers wrap.
class Dot {
 public:
  Dot(DataType dtype, Mode mode) : Dot(dtype, dtype, mode) {}
  /// `result`: the type that finish() rounds to, if it is not that of the operands.
  Dot(DataType dtype, DataType result, Mode mode)
      : dtype_(dtype), result_(result), mode_(mode), sum_(computeType(dtype), mode) {}

  void add(const Element& a, const Element& b) {
    if (isFloatingType(dtype_))
      sum_.addProduct(a, b);
    else
      integer_ = call(FunctionId::add, integer_, call(FunctionId::mul, a, b));
  }
  /// In place of all products of a floating type.
  void take(const Summation::Collected& products) { sum_.take(products); }
  /// The sum, with `bias` added unless it is null. A half result may be rounded before the bias and after it.
  Element finish(const Element* bias) {
    if (!isFloatingType(dtype_)) return bias == nullptr ? integer_ : call(FunctionId::add, integer_, *bias);
    if (bias == nullptr) return sum_.finish(result_);
    const Element product = sum_.finish(computeType(dtype_));
    sum_.add(*bias);
    Element result = sum_.finish(result_);
    const bool may_be_rounded_first =
        mode_.isExact() && !(boundOf(product) == 0 && isRepresentable(result_, product.number));
    if (isHalfType(result_) && may_be_rounded_first) {
      const auto largest = [](const Element& element) { return std::fabs(element.number) + boundOf(element); };
      result.bound += static_cast<double>(ulpOf(result_, largest(product)) / 2 + ulpOf(result_, largest(result)));
    }
    return result;
  }

 private:
  Element call(FunctionId function, const Element& a, const Element& b) const {
    const Element operands[] = {a, b};
    return applyFunction(function, {.operand = dtype_, .result = dtype_}, operands, mode_);
  }

  DataType dtype_;
  DataType result_;
  Mode mode_;
  Summation sum_;
  Element integer_;
};

}  // namespace tokamak::oracle
