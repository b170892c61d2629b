// CallersStream: a stream of a GPU that another library made, and the object that keeps it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <nanobind/nanobind.h>

#include "device/device.h"

namespace tokamak::python {

/// Thread safety: with the interpreter's lock.
struct CallersStream {
  void* handle = nullptr;  ///< null: the default stream
  nanobind::object owner;  ///< destroys it with its last reference; invalid: nobody does, as torch's pool
};

/// Of None, of a handle as a number, or of an object with a number `ptr`, such as CuPy's streams. Errors:
/// Python's TypeError for anything else, and what its attribute raises.
std::optional<CallersStream> callersStreamOf(nanobind::handle given);

/// The stream, for work of a GPU. Its owner is held for as long as somebody has what this gives, and is let go of in a
/// later call of this function. With the interpreter's lock, where there is an owner; what this gives may go without
/// it.
std::shared_ptr<Stream> adopt(Device& device, const CallersStream& stream);

}  // namespace tokamak::python
