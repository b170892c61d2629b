// What stands behind the objects of the interface for C, and how its functions run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/require.h"
#include "compile/program.h"
#include "device/intermediate_allocator.h"
#include "device/output_allocator.h"
#include "dist/job_communicator.h"
#include "interop/dlpack.h"
#include "tokamak/c.h"

struct tokamak_error {
  tokamak_error_code code = TOKAMAK_ERROR_INTERNAL;
  std::string message;
  tokamak::TextPlace place;
};

/// Exchanges keep what other libraries' arrays need, after the handle has gone, too.
struct tokamak_device {
  explicit tokamak_device(std::shared_ptr<tokamak::Device> opened)
      : device(std::move(opened)), arrays(std::make_shared<tokamak::DlpackExchange>(*device)) {}
  std::shared_ptr<tokamak::Device> device;
  std::shared_ptr<tokamak::DlpackExchange> arrays;
};

struct tokamak_stream {
  std::shared_ptr<tokamak::Stream> stream;
};

struct tokamak_tensor {
  tokamak::Tensor tensor;
};

struct tokamak_fusion {
  std::unique_ptr<tokamak::Fusion> fusion;
  std::string text;
};

struct tokamak_communicator {
  std::shared_ptr<tokamak::Communicator> communicator;
};

struct tokamak_program {
  /// `make`: gives the program with these options, the allocators and the communicator (which may be null).
  template <class Make>
  tokamak_program(const Make& make, const tokamak::CompileOptions& options,
                  std::unique_ptr<tokamak::OutputAllocator> for_outputs,
                  std::unique_ptr<tokamak::IntermediateAllocator> for_intermediates,
                  std::shared_ptr<tokamak::Communicator> through)
      : communicator(std::move(through)),
        output_allocator(std::move(for_outputs)),
        intermediate_allocator(std::move(for_intermediates)),
        program(make(withAllocators(options))),
        inputs(program.inputNames()),
        outputs(program.outputNames()) {}
  tokamak::CompileOptions withAllocators(tokamak::CompileOptions options) const {
    options.output_allocator = output_allocator.get();
    options.intermediate_allocator = intermediate_allocator.get();
    options.communicator = communicator.get();
    return options;
  }
  std::shared_ptr<tokamak::Communicator> communicator;
  std::unique_ptr<tokamak::OutputAllocator> output_allocator;
  std::unique_ptr<tokamak::IntermediateAllocator> intermediate_allocator;
  tokamak::Program program;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::once_flag text_is_made;
  std::string text;
};

namespace tokamak::c {

tokamak_error* errorOf(const std::exception& error) noexcept;
/// There is always one: of memory that was set aside, where there is no other. _free() knows it.
tokamak_error* outOfMemory() noexcept;

/// Runs the body of a function; what it raises becomes the value that the function gives.
template <class Body>
tokamak_error* guarded(const Body& body) noexcept {
  try {
    body();
    return nullptr;
  } catch (const std::bad_alloc&) {
    return outOfMemory();
  } catch (const std::exception& error) {
    return errorOf(error);
  }
}

/// Errors: Usage, naming the parameter, for null.
template <class T>
T& required(T* pointer, const char* parameter) {
  TK_REQUIRE(pointer != nullptr, Usage, "{} is null", parameter);
  return *pointer;
}

/// Errors: Usage for a number that is none of tokamak_dtype.
DataType dataTypeOf(int64_t dtype);
tokamak_dtype dtypeOf(DataType type);

/// The options as the caller's version has them; members that it does not know are zero, their default.
/// Errors: Usage for a size that no version has; Unsupported where a member of a later version is set.
template <class Options>
Options known(const Options* given, const char* parameter) {
  constexpr size_t kMostBytes = 4096;
  static_assert(std::has_unique_object_representations_v<Options>, "padding would become members of a later version");
  Options options = {};
  if (given == nullptr) return options;
  const size_t size = given->struct_size;
  TK_REQUIRE(size >= sizeof(size_t) && size <= kMostBytes && size % sizeof(int32_t) == 0, Usage,
             "{}: struct_size is {}; it must be the size of the struct", parameter, size);
  std::memcpy(&options, given, std::min(size, sizeof(Options)));
  const auto* const bytes = reinterpret_cast<const std::byte*>(given);
  for (size_t i = sizeof(Options); i < size; ++i) {
    TK_REQUIRE(bytes[i] == std::byte(0), Unsupported,
               "{}: the member at byte {} is set, which a later version of the library has; this one knows {} bytes",
               parameter, i, sizeof(Options));
  }
  return options;
}

}  // namespace tokamak::c
