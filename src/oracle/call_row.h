// Calls a row of the function table by its name in oracle/library.h.
#pragma once

#include "symbolic/functions.h"

namespace tokamak::oracle {

/// Of operands of type T; comparisons give 0 or 1, and operand 0 of a choice is true when it is not 0.
/// Defined for long double, double, float, int64_t, int32_t and bool.
template <class T>
T callRow(FunctionId function, const T* operands);

extern template long double callRow<long double>(FunctionId, const long double*);
extern template double callRow<double>(FunctionId, const double*);
extern template float callRow<float>(FunctionId, const float*);
extern template int64_t callRow<int64_t>(FunctionId, const int64_t*);
extern template int32_t callRow<int32_t>(FunctionId, const int32_t*);
extern template bool callRow<bool>(FunctionId, const bool*);

}  // namespace tokamak::oracle
