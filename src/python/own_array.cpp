#include "python/own_array.h"

#include <bit>
#include <vector>

#include "base/require.h"
#include "host/run/given_block.h"
#include "jit/open_device.h"
#include "python/unlocked.h"

namespace nb = nanobind;

namespace tokamak::python {

namespace {

constexpr const char* kVersioned = "dltensor_versioned";
constexpr const char* kUnversioned = "dltensor";

// An array that nobody took.
template <class Given>
void destroy(PyObject* capsule) {
  constexpr const char* kName = std::is_same_v<Given, dlpack::Managed> ? kUnversioned : kVersioned;
  if (PyCapsule_IsValid(capsule, kName) == 0) return;
  auto* const given = static_cast<Given*>(PyCapsule_GetPointer(capsule, kName));
  given->deleter(given);
}

template <class Given>
nb::object capsuleAround(Given* given) {
  constexpr const char* kName = std::is_same_v<Given, dlpack::Managed> ? kUnversioned : kVersioned;
  PyObject* const capsule = PyCapsule_New(given, kName, &destroy<Given>);
  if (capsule == nullptr) {
    given->deleter(given);
    throw nb::python_error();
  }
  return nb::steal(capsule);
}

std::shared_ptr<Stream> streamNumbered(Device& device, int64_t number) {
  constexpr int64_t kPerThread = 2;
  TK_REQUIRE(number > 0, Bind, "__dlpack__: stream {}; legal are None, -1, 1, 2 and handles of streams", number);
  // (The driver takes the numbers of its default streams as handles, too.)
  if (number == dlpack::kDefaultStream) return adoptCudaStream(device, nullptr);
  TK_REQUIRE(number != kPerThread, Unsupported, "__dlpack__: the default stream of each thread is not there yet");
  return adoptCudaStream(device, std::bit_cast<void*>(number));
}

}  // namespace

OwnArray::OwnArray(std::shared_ptr<OpenedDevice> device, const OutputLayout& layout,
                   const std::optional<CallersStream>& stream)
    : device_(std::move(device)) {
  Device& on = *device_->device;
  const bool is_adopted = stream && !isOnProcessor(on);
  std::shared_ptr<Stream> used = is_adopted ? adopt(on, *stream) : on.createStream();
  std::shared_ptr<Buffer> buffer = Buffer::allocate(on, std::move(used), layout.bytes, MemoryKind::Device);
  tensor_ = Tensor(std::move(buffer), layout.offset, layout.dtype, layout.sizes, layout.strides);
}

nb::object OwnArray::capsule(std::optional<int64_t> stream, bool is_versioned) const {
  const bool is_on_processor = isOnProcessor(*device_->device);
  TK_REQUIRE(!stream || !is_on_processor, Bind, "__dlpack__: a stream of a GPU for an array on the host");
  constexpr int64_t kNobodyWaits = -1;
  std::shared_ptr<Stream> used;
  if (!is_on_processor && stream.value_or(dlpack::kDefaultStream) != kNobodyWaits)
    used = streamNumbered(*device_->device, stream.value_or(dlpack::kDefaultStream));
  dlpack::ManagedVersioned* versioned = nullptr;
  dlpack::Managed* unversioned = nullptr;
  {
    const Unlocked unlocked;  // this may wait for the data
    if (is_versioned) {
      versioned = device_->arrays.give(tensor_, used);
    } else {
      unversioned = device_->arrays.giveUnversioned(tensor_, used);
    }
  }
  return is_versioned ? capsuleAround(versioned) : capsuleAround(unversioned);
}

}  // namespace tokamak::python
