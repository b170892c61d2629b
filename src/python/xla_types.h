// XLA's types: own declarations of what a handler needs of XLA's C interface for foreign functions, version 0.3.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tokamak::xla {

constexpr int kMajorVersion = 0;
constexpr int kMinorVersion = 3;

enum class Stage : int32_t { Instantiate = 0, Prepare = 1, Initialize = 2, Execute = 3 };
enum class ElementType : int32_t { Bool = 1, I32 = 4, I64 = 5, F16 = 10, F32 = 11, F64 = 12, BF16 = 16 };
enum class AttributeType : int32_t { Array = 1, Dictionary = 2, Scalar = 3, String = 4 };
enum class ValueType : int32_t { Buffer = 1 };
enum class ExtensionType : int32_t { Metadata = 1 };
enum class Code : int32_t {
  InvalidArgument = 3,
  NotFound = 5,
  ResourceExhausted = 8,
  FailedPrecondition = 9,
  Unimplemented = 12,
  Internal = 13,
};

struct Error;    // XLA's own
struct Context;  // of one execution

struct Extension {
  size_t struct_size = sizeof(Extension);
  ExtensionType type = ExtensionType::Metadata;
  Extension* next = nullptr;
};

/// What each struct that is passed begins with: its size, as the side that made it knows it.
struct Head {
  size_t struct_size = 0;
  Extension* extensions = nullptr;
};

struct Version {
  Head head;
  int major = 0;
  int minor = 0;
};

struct TypeId {
  int64_t number = 0;
};

struct TypeInfo {
  Head head;
  void (*destroy)(void* object) = nullptr;
};

struct Metadata {
  size_t struct_size = 0;
  Version version;
  uint32_t traits = 0;
  TypeId state_type;
};

struct MetadataExtension {
  Extension base;
  Metadata* metadata = nullptr;
};

struct Buffer {
  Head head;
  ElementType type = ElementType::F32;
  void* data = nullptr;
  int64_t rank = 0;
  int64_t* sizes = nullptr;
};

struct Text {
  const char* data = nullptr;
  size_t size = 0;
};

/// An attribute of type Array.
struct Array {
  ElementType type = ElementType::F32;
  size_t size = 0;
  void* data = nullptr;
};

/// Arguments, or results.
struct Values {
  Head head;
  int64_t size = 0;
  ValueType* types = nullptr;
  void** values = nullptr;
};

/// Sorted by name.
struct Attributes {
  Head head;
  int64_t size = 0;
  AttributeType* types = nullptr;
  Text** names = nullptr;
  void** values = nullptr;
};

struct Interface;

struct CallFrame {
  Head head;
  const Interface* interface = nullptr;
  Context* context = nullptr;
  Stage stage = Stage::Execute;
  Values arguments;
  Values results;
  Attributes attributes;
  void* future = nullptr;  // out, for work that is not done when the handler returns
};

// --- the functions that a handler may call: each takes one of these ---

struct ErrorRequest {
  Head head;
  const char* message = nullptr;
  Code code = Code::Internal;
};

struct StateRequest {
  Head head;
  Context* context = nullptr;
  Stage stage = Stage::Instantiate;
  TypeId* type = nullptr;
  void* state = nullptr;  // in or out
};

struct StreamRequest {
  Head head;
  Context* context = nullptr;
  void* stream = nullptr;  // out: of CUDA
};

struct OrdinalRequest {
  Head head;
  Context* context = nullptr;
  int32_t ordinal = 0;  // out: of the device
};

using Unused = void (*)();

struct Interface {
  Head head;
  Version version;
  const void* own = nullptr;
  Error* (*create_error)(ErrorRequest*) = nullptr;
  Unused get_message = nullptr;
  Unused destroy_error = nullptr;
  Unused register_handler = nullptr;
  Error* (*get_stream)(StreamRequest*) = nullptr;
  Unused register_type = nullptr;
  Unused get_context = nullptr;
  Error* (*set_state)(StateRequest*) = nullptr;
  Error* (*get_state)(StateRequest*) = nullptr;
  Unused allocate = nullptr;
  Unused free = nullptr;
  Unused schedule_task = nullptr;
  Unused count_threads = nullptr;
  Unused create_future = nullptr;
  Unused set_future = nullptr;
  Unused fail_future = nullptr;
  Unused get_run = nullptr;
  Error* (*get_ordinal)(OrdinalRequest*) = nullptr;
};

}  // namespace tokamak::xla
