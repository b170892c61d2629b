// The interface for C: devices, streams and tensors.
#include <cstddef>
#include <span>

#include "device/tensor_copies.h"
#include "tokamak/c_hooks.h"
#include "tokamak/c_objects.h"
#include "tokamak/device.h"

namespace tokamak::c {

namespace {

std::shared_ptr<Stream> streamOf(tokamak_stream* stream) { return stream == nullptr ? nullptr : stream->stream; }

std::span<const int64_t> numbersOf(const int64_t* numbers, int32_t rank, const char* parameter) {
  TK_REQUIRE(rank >= 0 && rank <= static_cast<int32_t>(Tensor::kMaxRank), Bind, "rank {} was given; legal are 0 to {}",
             rank, Tensor::kMaxRank);
  if (rank > 0) required(numbers, parameter);
  return {numbers, static_cast<size_t>(rank)};
}

Tensor wrapped(Device& device, void* data, DataType dtype, std::span<const int64_t> sizes, const int64_t* strides,
               bool is_read_only) {
  const bool has_elements = checkedNumel(sizes) > 0;
  TK_REQUIRE(data != nullptr || !has_elements, Bind, "{} elements lie at a null address", checkedNumel(sizes));
  TK_REQUIRE(reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(sizeOf(dtype)) == 0, Bind,
             "elements of {} bytes lie at {}; a multiple of their size is legal", sizeOf(dtype), data);
  return Tensor::borrowHost(device, data, dtype, sizes, strides, is_read_only);
}

void readTo(const Tensor& tensor, std::byte* to, int64_t bytes) {
  const int64_t wanted = tensor.numel() * sizeOf(tensor.dtype());
  TK_REQUIRE(bytes == wanted, Bind, "read: {} bytes were given for a tensor of {}", bytes, wanted);
  if (wanted == 0) return;
  const Tensor source = tensor.buffer()->isHostReadable() ? tensor : toHost(tensor, tensor.device().createStream());
  copyDense(source, to);
}

}  // namespace

}  // namespace tokamak::c

namespace c = tokamak::c;
using tokamak::adoptCudaStream;
using tokamak::countCudaDevices;
using tokamak::CpuDeviceOptions;
using tokamak::Device;
using tokamak::DlpackExchange;
using tokamak::KernelRunner;
using tokamak::MemoryKind;
using tokamak::openCpuDevice;
using tokamak::openCudaDevice;
using tokamak::Stream;
using tokamak::Tensor;
using tokamak::c::guarded;
using tokamak::c::required;

tokamak_error* tokamak_device_open_cpu(const tokamak_cpu_options* options, tokamak_device** device) {
  return guarded([&] {
    required(device, "device");
    const tokamak_cpu_options known = c::known(options, "options");
    TK_REQUIRE(known.reserved == 0, Usage, "options: reserved is {}; it must be 0", known.reserved);
    CpuDeviceOptions cpu;
    cpu.threads = known.threads;
    cpu.memory_limit = known.memory_limit;
    cpu.runner = known.op_by_op != 0 ? KernelRunner::OpByOp : KernelRunner::Compiled;
    cpu.parallel_for = c::parallelForOf(known.parallel_for);
    *device = new tokamak_device(openCpuDevice(cpu));
  });
}

tokamak_error* tokamak_device_open_cuda(int64_t ordinal, tokamak_device** device) {
  return guarded([&] {
    required(device, "device");
    *device = new tokamak_device(openCudaDevice(ordinal));
  });
}

int64_t tokamak_cuda_device_count(void) {
  try {
    return countCudaDevices();
  } catch (const std::exception&) {
    return 0;
  }
}

const char* tokamak_device_name(const tokamak_device* device) { return device->device->properties().name.c_str(); }

int tokamak_device_host_reads_memory(const tokamak_device* device) {
  return device->device->properties().host_reads_device_memory ? 1 : 0;
}

void tokamak_device_defer_deleters(tokamak_device* device) { device->arrays->deferDeleters(); }
void tokamak_device_collect(tokamak_device* device) { device->arrays->collect(); }
void tokamak_device_free(tokamak_device* device) { delete device; }

tokamak_error* tokamak_stream_create(tokamak_device* device, tokamak_stream** stream) {
  return guarded([&] {
    required(stream, "stream");
    *stream = new tokamak_stream{required(device, "device").device->createStream()};
  });
}

tokamak_error* tokamak_stream_adopt_cuda(tokamak_device* device, void* cuda_stream, tokamak_stream** stream) {
  return guarded([&] {
    required(stream, "stream");
    *stream = new tokamak_stream{adoptCudaStream(*required(device, "device").device, cuda_stream)};
  });
}

tokamak_error* tokamak_stream_synchronize(tokamak_stream* stream) {
  return guarded([&] { required(stream, "stream").stream->synchronize(); });
}

void* tokamak_stream_cuda_handle(const tokamak_stream* stream) { return stream->stream->nativeHandle(); }

void tokamak_stream_free(tokamak_stream* stream) { delete stream; }

tokamak_error* tokamak_tensor_wrap(tokamak_device* device, void* data, tokamak_dtype dtype, int32_t rank,
                                   const int64_t* sizes, const int64_t* strides, int is_read_only,
                                   tokamak_tensor** tensor) {
  return guarded([&] {
    required(tensor, "tensor");
    *tensor = new tokamak_tensor{c::wrapped(*required(device, "device").device, data, c::dataTypeOf(dtype),
                                            c::numbersOf(sizes, rank, "sizes"), strides, is_read_only != 0)};
  });
}

tokamak_error* tokamak_tensor_empty(tokamak_device* device, tokamak_dtype dtype, int32_t rank, const int64_t* sizes,
                                    tokamak_stream* stream, tokamak_tensor** tensor) {
  return guarded([&] {
    required(tensor, "tensor");
    Device& on = *required(device, "device").device;
    const std::span<const int64_t> given = c::numbersOf(sizes, rank, "sizes");
    const std::shared_ptr<Stream> used = stream == nullptr ? on.createStream() : stream->stream;
    Tensor made = Tensor::empty(on, used, c::dataTypeOf(dtype), given, MemoryKind::Device);
    if (stream == nullptr) {
      used->synchronize();
      made.buffer()->settle();
    }
    *tensor = new tokamak_tensor{std::move(made)};
  });
}

tokamak_dtype tokamak_tensor_dtype(const tokamak_tensor* tensor) { return c::dtypeOf(tensor->tensor.dtype()); }
int32_t tokamak_tensor_rank(const tokamak_tensor* tensor) { return static_cast<int32_t>(tensor->tensor.rank()); }
const int64_t* tokamak_tensor_sizes(const tokamak_tensor* tensor) { return tensor->tensor.sizes().data(); }
const int64_t* tokamak_tensor_strides(const tokamak_tensor* tensor) { return tensor->tensor.strides().data(); }

tokamak_error* tokamak_tensor_host_data(const tokamak_tensor* tensor, int for_writing, void** data) {
  return guarded([&] {
    required(data, "data");
    const Tensor& asked = required(tensor, "tensor").tensor;
    if (for_writing != 0) {
      *data = asked.hostData();
    } else {
      asked.hostDataToRead();
      *data = asked.data();
    }
  });
}

tokamak_error* tokamak_tensor_wait(const tokamak_tensor* tensor) {
  return guarded([&] { required(tensor, "tensor").tensor.waitReady(); });
}

tokamak_error* tokamak_tensor_read(const tokamak_tensor* tensor, void* to, int64_t bytes) {
  return guarded([&] {
    TK_REQUIRE(to != nullptr || bytes == 0, Usage, "to is null");
    c::readTo(required(tensor, "tensor").tensor, static_cast<std::byte*>(to), bytes);
  });
}

void tokamak_tensor_free(tokamak_tensor* tensor) { delete tensor; }

tokamak_error* tokamak_tensor_from_dlpack(tokamak_device* device, DLManagedTensorVersioned* array,
                                          tokamak_stream* stream, tokamak_tensor** tensor) {
  return guarded([&] {
    required(tensor, "tensor");
    tokamak_device& on = required(device, "device");
    std::shared_ptr<Stream> used = c::streamOf(stream);
    if (used == nullptr) used = on.device->createStream();
    auto handle = std::make_unique<tokamak_tensor>();
    handle->tensor = on.arrays->take(reinterpret_cast<tokamak::dlpack::ManagedVersioned*>(array), used);
    *tensor = handle.release();
  });
}

tokamak_error* tokamak_tensor_to_dlpack(const tokamak_tensor* tensor, tokamak_stream* stream,
                                        DLManagedTensorVersioned** array) {
  return guarded([&] {
    required(array, "array");
    const Tensor& given = required(tensor, "tensor").tensor;
    *array =
        reinterpret_cast<DLManagedTensorVersioned*>(DlpackExchange(given.device()).give(given, c::streamOf(stream)));
  });
}
