// DLPack's types: own declarations of its stable binary interface, versions 0.x and 1.x.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/export.h"
#include "symbolic/data_type.h"

namespace tokamak::dlpack {

enum class DeviceType : int32_t { Cpu = 1, Cuda = 2, CudaHost = 3, CudaManaged = 13 };
enum class TypeCode : uint8_t { Int = 0, UInt = 1, Float = 2, BFloat = 4, Complex = 5, Bool = 6 };

struct Device {
  DeviceType type = DeviceType::Cpu;
  int32_t id = 0;

  friend bool operator==(const Device&, const Device&) = default;
};

struct Type {
  TypeCode code = TypeCode::Float;
  uint8_t bits = 32;
  uint16_t lanes = 1;
};

/// Nothing for types that the library lacks.
TOKAMAK_EXPORT std::optional<DataType> dataTypeOf(const Type& type);
TOKAMAK_EXPORT Type typeOf(DataType dtype);
/// "uint8", "complex64", "float32x4": as other libraries call it.
TOKAMAK_EXPORT std::string nameOf(const Type& type);

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

/// What protocols of Python's call the default stream of a GPU, whose handle is null.
inline constexpr int64_t kDefaultStream = 1;

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

struct ExchangeTableHeader {
  Version version;
  ExchangeTableHeader* previous = nullptr;  ///< the table for an older major version
};

/// DLPackExchangeAPI, of 1.3: the functions by which a type of Python's gives and takes arrays, in the capsule
/// `dlpack_exchange_api` that is the type's attribute `__dlpack_c_exchange_api__`. All are called with the
/// interpreter's lock, wait for no work, and give 0, or -1 with Python's error raised.
struct ExchangeTable {
  ExchangeTableHeader header;
  /// A new array of the prototype's type, device and sizes, row-major; errors are told to `set_error`, too.
  int (*allocate)(Array* prototype, ManagedVersioned** made, void* error_context,
                  void (*set_error)(void* error_context, const char* kind, const char* message)) = nullptr;
  int (*give)(void* object, ManagedVersioned** given) = nullptr;
  /// Takes what is given also where it fails.
  int (*take)(ManagedVersioned* given, void** object) = nullptr;
  /// What the object has, as long as it lives and stays as it is. May be null.
  int (*view)(void* object, Array* viewed) = nullptr;
  int (*current_stream)(DeviceType type, int32_t id, void** stream) = nullptr;
};
static_assert(sizeof(ExchangeTable) == 56);

}  // namespace tokamak::dlpack
