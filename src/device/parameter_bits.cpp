#include <cstring>

#include "device/device.h"
#include "device/work.h"

namespace tokamak {

DataType parameterType(const Scalar& parameter) {
  if (isFloatingType(parameter.dtype())) return DataType::F64;
  return parameter.dtype() == DataType::Bool ? DataType::Bool : DataType::I64;
}

void* parameterBits(const Scalar& parameter, const ScalarValue& value) {
  void* bits = nullptr;
  std::visit([&](auto number) { std::memcpy(static_cast<void*>(&bits), &number, sizeof(number)); },
             convertValue(value, parameterType(parameter)));
  return bits;
}

}  // namespace tokamak
