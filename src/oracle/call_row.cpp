#include "oracle/call_row.h"

#include "base/require.h"
#include "oracle/library.h"
#include "symbolic/function_table.h"

namespace tokamak::oracle {

namespace {

template <class T>
constexpr bool isTaken(TypeRule rule) {
  constexpr bool is_floating = std::is_floating_point_v<T>;
  constexpr bool is_bool = std::is_same_v<T, bool>;
  switch (rule) {
    case TypeRule::Float: return is_floating;
    case TypeRule::Numeric: return !is_bool;
    case TypeRule::Logical: return is_bool;
    case TypeRule::Bitwise: return !is_floating;
    case TypeRule::Integer: return !is_floating && !is_bool;
    default: return true;
  }
}

template <int arity, class T, class Call>
T callWith(const T* v, Call call) {
  if constexpr (arity == 1)
    return static_cast<T>(call(v[0]));
  else if constexpr (arity == 2)
    return static_cast<T>(call(v[0], v[1]));
  else if constexpr (arity == 3)
    return static_cast<T>(call(v[0], v[1], v[2]));
  else
    return static_cast<T>(call(v[0], v[1], v[2], v[3]));
}

}  // namespace

template <class T>
T callRow(FunctionId function, const T* operands) {
  switch (function_table::rowOf(function)) {
#define TK_ROW(name, arity, rule, ...)                                                                 \
  case function_table::Row::name:                                                                      \
    if constexpr (TypeRule::rule == TypeRule::Choose) {                                                \
      return callWith<arity>(operands, [](T c, auto... v) { return library::name(c != T(0), v...); }); \
    } else if constexpr (isTaken<T>(TypeRule::rule)) {                                                 \
      return callWith<arity>(operands, [](auto... v) { return library::name(v...); });                 \
    }                                                                                                  \
    break;
    TK_FUNCTIONS(TK_ROW)
#undef TK_ROW
  }
  TK_RAISE(Internal, "{}: not defined on operands of this type", functionInfo(function).name);
}

template long double callRow<long double>(FunctionId, const long double*);
template double callRow<double>(FunctionId, const double*);
template float callRow<float>(FunctionId, const float*);
template int64_t callRow<int64_t>(FunctionId, const int64_t*);
template int32_t callRow<int32_t>(FunctionId, const int32_t*);
template bool callRow<bool>(FunctionId, const bool*);

}  // namespace tokamak::oracle
