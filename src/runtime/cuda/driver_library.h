// DriverLibrary: NVIDIA's driver (libcuda), loaded on first use; own declarations of the functions that are used.
#pragma once

#include <cstddef>
#include <string>

#include "runtime/cuda/driver_types.h"

namespace tokamak {

struct DriverLibrary {
  driver::Result (*init)(unsigned flags) = nullptr;
  driver::Result (*driver_version)(int* version) = nullptr;
  driver::Result (*error_name)(driver::Result status, const char** text) = nullptr;
  driver::Result (*error_string)(driver::Result status, const char** text) = nullptr;

  driver::Result (*device_count)(int* count) = nullptr;
  driver::Result (*device_get)(driver::Device* device, int ordinal) = nullptr;
  driver::Result (*device_name)(char* text, int bytes, driver::Device device) = nullptr;
  driver::Result (*device_attribute)(int* value, int attribute, driver::Device device) = nullptr;
  driver::Result (*device_memory)(size_t* bytes, driver::Device device) = nullptr;

  driver::Result (*primary_retain)(driver::Context* context, driver::Device device) = nullptr;
  driver::Result (*primary_release)(driver::Device device) = nullptr;
  driver::Result (*primary_state)(driver::Device device, unsigned* flags, int* is_active) = nullptr;
  driver::Result (*context_get)(driver::Context* context) = nullptr;
  driver::Result (*context_set)(driver::Context context) = nullptr;
  driver::Result (*context_push)(driver::Context context) = nullptr;
  driver::Result (*context_pop)(driver::Context* context) = nullptr;

  driver::Result (*memory_allocate)(driver::Address* address, size_t bytes) = nullptr;
  driver::Result (*memory_free)(driver::Address address) = nullptr;
  driver::Result (*host_allocate)(void** address, size_t bytes, unsigned flags) = nullptr;
  driver::Result (*host_free)(void* address) = nullptr;
  driver::Result (*pointer_attribute)(void* value, int attribute, driver::Address address) = nullptr;
  driver::Result (*address_range)(driver::Address* base, size_t* bytes, driver::Address address) = nullptr;
  driver::Result (*copy_async)(driver::Address to, driver::Address from, size_t bytes, driver::Stream) = nullptr;
  driver::Result (*fill_async)(driver::Address to, unsigned char byte, size_t bytes, driver::Stream) = nullptr;

  driver::Result (*peer_possible)(int* is_possible, driver::Device device, driver::Device peer) = nullptr;
  driver::Result (*peer_enable)(driver::Context peer, unsigned flags) = nullptr;
  driver::Result (*handle_get)(driver::MemoryHandle* handle, driver::Address base) = nullptr;
  driver::Result (*handle_open)(driver::Address* base, driver::MemoryHandle handle, unsigned flags) = nullptr;
  driver::Result (*handle_close)(driver::Address base) = nullptr;

  driver::Result (*stream_priorities)(int* least, int* greatest) = nullptr;
  driver::Result (*stream_create_with)(driver::Stream* stream, unsigned flags, int priority) = nullptr;
  driver::Result (*stream_create)(driver::Stream* stream, unsigned flags) = nullptr;
  driver::Result (*stream_destroy)(driver::Stream stream) = nullptr;
  driver::Result (*stream_synchronize)(driver::Stream stream) = nullptr;
  driver::Result (*stream_wait_event)(driver::Stream stream, driver::Event event, unsigned flags) = nullptr;
  driver::Result (*stream_write_value)(driver::Stream, driver::Address, uint64_t value, unsigned flags) = nullptr;
  driver::Result (*stream_wait_value)(driver::Stream, driver::Address, uint64_t value, unsigned flags) = nullptr;

  driver::Result (*capture_begin)(driver::Stream stream, int mode) = nullptr;
  driver::Result (*capture_end)(driver::Stream stream, driver::Graph* graph) = nullptr;
  driver::Result (*capture_status)(driver::Stream stream, int* status) = nullptr;
  driver::Result (*capture_info)(driver::Stream stream, int* status, uint64_t* id, driver::Graph* graph,
                                 const driver::GraphNode** dependencies, size_t* count) = nullptr;
  driver::Result (*capture_mode)(int* mode) = nullptr;
  driver::Result (*graph_destroy)(driver::Graph graph) = nullptr;
  driver::Result (*graph_instantiate)(driver::GraphExec* exec, driver::Graph graph, uint64_t flags) = nullptr;
  driver::Result (*graph_exec_destroy)(driver::GraphExec exec) = nullptr;
  driver::Result (*graph_launch)(driver::GraphExec exec, driver::Stream stream) = nullptr;
  driver::Result (*graph_set_kernel)(driver::GraphExec, driver::GraphNode, const driver::KernelNode*) = nullptr;
  driver::Result (*user_object_create)(driver::UserObject* object, void* data, void (*destroy)(void*), unsigned count,
                                       unsigned flags) = nullptr;
  driver::Result (*graph_retain)(driver::Graph, driver::UserObject, unsigned count, unsigned flags) = nullptr;

  driver::Result (*event_create)(driver::Event* event, unsigned flags) = nullptr;
  driver::Result (*event_destroy)(driver::Event event) = nullptr;
  driver::Result (*event_record)(driver::Event event, driver::Stream stream) = nullptr;
  driver::Result (*event_query)(driver::Event event) = nullptr;
  driver::Result (*event_synchronize)(driver::Event event) = nullptr;
  driver::Result (*event_elapsed)(float* milliseconds, driver::Event start, driver::Event end) = nullptr;

  driver::Result (*module_load)(driver::Module* module, const void* image) = nullptr;
  driver::Result (*module_unload)(driver::Module module) = nullptr;
  driver::Result (*module_function)(driver::Function* function, driver::Module module, const char* name) = nullptr;
  driver::Result (*function_get)(int* value, int attribute, driver::Function function) = nullptr;
  driver::Result (*function_set)(driver::Function function, int attribute, int value) = nullptr;
  driver::Result (*launch)(const driver::LaunchConfig*, driver::Function, void** arguments, void** extra) = nullptr;

  std::string path;  ///< the file that was loaded

  /// The driver in the file `named`; if that is empty, in the one that $TOKAMAK_CUDA_DRIVER names; if that is not set
  /// either, the one that this process has loaded already, the loader's, or one in the usual folders. Loaded once and
  /// kept for ever; started (cuInit) by every call, which costs nothing the second time.
  /// Errors: Unsupported when there is none (with what was searched), it is too old, it does not start, or sees no
  /// device.
  static const DriverLibrary& start(const std::string& named = {});

  /// "CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected".
  std::string describe(driver::Result status) const;
};

}  // namespace tokamak
