#include "runtime/cpu/function_loops.h"

namespace tokamak {

extern template struct FunctionLoops<float>;
extern template struct FunctionLoops<double>;
extern template struct FunctionLoops<int32_t>;
extern template struct FunctionLoops<int64_t>;
extern template struct FunctionLoops<bool>;

FunctionLoop functionLoop(FunctionId id, DataType operand) {
  switch (operand) {
    case DataType::F32: return FunctionLoops<float>::find(id);
    case DataType::F64: return FunctionLoops<double>::find(id);
    case DataType::I32: return FunctionLoops<int32_t>::find(id);
    case DataType::I64: return FunctionLoops<int64_t>::find(id);
    case DataType::Bool: return FunctionLoops<bool>::find(id);
    case DataType::F16:
    case DataType::BF16: break;
  }
  TK_RAISE(Internal, "{} is computed in {}", functionInfo(id).name, dataTypeName(operand));
}

}  // namespace tokamak
