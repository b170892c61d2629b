#include "loops/function_loops.h"

namespace tokamak {

extern template struct FunctionLoops<float>;
extern template struct FunctionLoops<double>;
extern template struct FunctionLoops<int32_t>;
extern template struct FunctionLoops<int64_t>;
extern template struct FunctionLoops<bool>;

VectorWidth widestVectors() {
#ifdef TK_WIDE_VECTORS
  return __builtin_cpu_supports("avx2") ? VectorWidth::Wide : VectorWidth::Narrow;
#else
  return VectorWidth::Narrow;
#endif
}

FunctionLoop functionLoop(FunctionId id, DataType operand, VectorWidth width) {
  switch (operand) {
    case DataType::F32: return FunctionLoops<float>::find(id, width);
    case DataType::F64: return FunctionLoops<double>::find(id, width);
    case DataType::I32: return FunctionLoops<int32_t>::find(id, width);
    case DataType::I64: return FunctionLoops<int64_t>::find(id, width);
    case DataType::Bool: return FunctionLoops<bool>::find(id, width);
    case DataType::F16:
    case DataType::BF16: break;
  }
  TK_RAISE(Internal, "{} is computed in {}", functionInfo(id).name, dataTypeName(operand));
}

}  // namespace tokamak
