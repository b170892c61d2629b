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
  if (PyLong_Check(given.ptr())) return CallersStream{.handle = std::bit_cast<void*>(nb::cast<uintptr_t>(given))};
  return CallersStream{.handle = std::bit_cast<void*>(nb::cast<uintptr_t>(given.attr("ptr"))),
                       .owner = nb::borrow(given)};
}

std::shared_ptr<Stream> adopt(Device& device, const CallersStream& stream) {
  leftovers().release();
  std::shared_ptr<Stream> adopted = adoptCudaStream(device, stream.handle);
  if (!stream.owner.is_valid()) return adopted;
  // The stream goes before its owner does.
  Stream* const told = adopted.get();
  PyObject* const owner = nb::object(stream.owner).release().ptr();
  return {told, [adopted = std::move(adopted), owner](Stream*) mutable {
            adopted.reset();
            leftovers().add(owner);
          }};
}

}  // namespace tokamak::python
