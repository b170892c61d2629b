// DLPack's types: own declarations of its stable binary interface, versions 0.x and 1.x.
#pragma once

#include <cstdint>

namespace tokamak::dlpack {

enum class DeviceType : int32_t { Cpu = 1, Cuda = 2, CudaHost = 3, CudaManaged = 13 };
enum class TypeCode : uint8_t { Int = 0, UInt = 1, Float = 2, BFloat = 4, Complex = 5, Bool = 6 };

struct Device {
  DeviceType type = DeviceType::Cpu;
  int32_t id = 0;
};

struct Type {
  TypeCode code = TypeCode::Float;
  uint8_t bits = 32;
  uint16_t lanes = 1;
};

/// DLTensor. Strides in elements; null: row-major.
struct Array {
  void* data = nullptr;
  Device device;
  int32_t rank = 0;
  Type type;
  int64_t* sizes = nullptr;
  int64_t* strides = nullptr;
  uint64_t byte_offset = 0;
};
static_assert(sizeof(Array) == 48);

/// DLManagedTensor, of 0.x.
struct Managed {
  Array array;
  void* context = nullptr;
  void (*deleter)(Managed*) = nullptr;
};
static_assert(sizeof(Managed) == 64);

struct Version {
  uint32_t major = 1;
  uint32_t minor = 1;
};

inline constexpr uint64_t kReadOnly = 1;
inline constexpr uint64_t kSubbytePadded = 4;

/// DLManagedTensorVersioned, of 1.x.
struct ManagedVersioned {
  Version version;
  void* context = nullptr;
  void (*deleter)(ManagedVersioned*) = nullptr;
  uint64_t flags = 0;
  Array array;
};
static_assert(sizeof(ManagedVersioned) == 80);

}  // namespace tokamak::dlpack
