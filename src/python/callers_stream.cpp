#include "python/callers_stream.h"

#include <bit>
#include <mutex>
#include <utility>
#include <vector>

#include "jit/open_device.h"

namespace nb = nanobind;

namespace tokamak::python {

namespace {

// What nobody needs any more. Streams go on any thread, which may hold locks: none of them asks for the interpreter's.
class Leftovers {
 public:
  void add(PyObject* object) {
    const std::lock_guard lock(mutex_);
    objects_.push_back(object);
  }
  void release() {
    std::vector<PyObject*> objects;
    {
      const std::lock_guard lock(mutex_);
      objects.swap(objects_);
    }
    for (PyObject* const each : objects) Py_DECREF(each);
  }

 private:
  std::mutex mutex_;
  std::vector<PyObject*> objects_;
};

Leftovers& leftovers() {
  static auto* const made = new Leftovers();  // for streams that go while the process ends
  return *made;
}

}  // namespace

std::optional<CallersStream> callersStreamOf(nb::handle given) {
  if (given.is_none()) return std::nullopt;
  const bool is_number = PyLong_Check(given.ptr()) != 0;
  const nb::object number = is_number ? nb::borrow(given) : nb::getattr(given, "ptr", nb::none());
  uintptr_t handle = 0;
  if (PyLong_Check(number.ptr()) == 0 || !nb::try_cast(number, handle))
    throw nb::type_error("stream: a handle from 0 on, an object that tells one as `ptr`, and None are legal");
  return CallersStream{.handle = std::bit_cast<void*>(handle), .owner = is_number ? nb::object() : nb::borrow(given)};
}

std::shared_ptr<Stream> adopt(Device& device, const CallersStream& stream) {
  std::shared_ptr<Stream> adopted = adoptCudaStream(device, stream.handle);
  if (!stream.owner.is_valid()) return adopted;
  leftovers().release();
  // The stream goes before its owner does.
  Stream* const told = adopted.get();
  PyObject* const owner = nb::object(stream.owner).release().ptr();
  return {told, [adopted = std::move(adopted), owner](Stream*) mutable {
            adopted.reset();
            leftovers().add(owner);
          }};
}

}  // namespace tokamak::python
