// What calls of any kind are given, as tensors: arrays of all libraries, by whatever protocol they have.
#pragma once

#include <Python.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include "compile/argument.h"
#include "ir/tensor_view.h"
#include "python/array_type.h"
#include "python/opened_device.h"

namespace tokamak::python {

/// A number of Python's own types, for a scalar of this type: an integer that fits 64 bits, or becomes a floating one;
/// nothing for anything else.
std::optional<ScalarValue> numberOf(PyObject* given, DataType type);

/// What lies at an address that the host may read.
ScalarValue elementAt(const void* address, DataType dtype);

/// The list's elements, which it keeps.
std::vector<PyObject*> objectsOf(const nanobind::list& list);

/// Which of a program's inputs are tensors.
std::vector<size_t> tensorPlacesOf(const std::vector<Val*>& inputs);

/// Where the arrays among the inputs of a call are: on one GPU, or else on the host. Arrays without axes may be on the
/// host beside others on a GPU. Errors: Bind for arrays on several GPUs, and for other devices.
dlpack::Device deviceOfArrays(const std::vector<PyObject*>& inputs);

/// Tensors in the memory of arrays, and numbers. On a processor arrays are lent for the time of a call; on a GPU they
/// are there for work on `stream`, and held on to until it is done. Made and destroyed with the interpreter's lock.
class CallArrays {
 public:
  CallArrays(OpenedDevice& device, std::shared_ptr<Stream> stream) : device_(device), stream_(std::move(stream)) {}
  CallArrays(const CallArrays&) = delete;
  CallArrays& operator=(const CallArrays&) = delete;
  ~CallArrays();

  /// An array, or a number for a scalar (`number_type`: its type) or for a tensor without axes. `place`: what messages
  /// call it. Errors: Bind for what is neither, and for arrays of types or in memory that the library lacks.
  Argument argument(PyObject* given, const TensorView* tensor, DataType number_type, const std::string& place);
  /// An array to be written into. Errors: as above, and for one that may not be written.
  Tensor output(PyObject* given, const std::string& place);

 private:
  Tensor take(PyObject* given, bool is_written);
  Tensor takeViewed(const ArrayView& view);
  std::optional<Tensor> takeBuffer(PyObject* given, bool is_written);
  std::optional<Tensor> takeDlpack(PyObject* given);
  std::optional<Tensor> takeCudaArray(PyObject* given);
  void waitForProducer(nanobind::handle told) const;
  bool isInOrder(const ArrayType& type) const;
  Tensor onDevice(Tensor tensor) const;
  bool isOnProcessor() const { return device_.device->properties().ordinal < 0; }

  OpenedDevice& device_;
  const std::shared_ptr<Stream> stream_;
  std::deque<Py_buffer> buffers_;
  std::deque<std::max_align_t> numbers_;  // of tensors without axes
};

}  // namespace tokamak::python
