#include "python/cupy_arrays.h"

#include <bit>

#include "python/numpy_arrays.h"
#include "python/python_objects.h"

namespace tokamak::python {

namespace {

// The attributes that are read in each call.
struct Names {
  PyObject* data = PyUnicode_InternFromString("data");
  PyObject* ptr = PyUnicode_InternFromString("ptr");
  PyObject* device_id = PyUnicode_InternFromString("device_id");
  PyObject* shape = PyUnicode_InternFromString("shape");
  PyObject* strides = PyUnicode_InternFromString("strides");
  PyObject* dtype = PyUnicode_InternFromString("dtype");
};

const Names& names() {
  static const Names made;
  return made;
}

bool readAddress(PyObject* owner, PyObject* name, void*& address) {
  const Owned number(owner == nullptr ? nullptr : PyObject_GetAttr(owner, name));
  if (number == nullptr || !PyLong_Check(number.get())) return false;
  address = PyLong_AsVoidPtr(number.get());
  return PyErr_Occurred() == nullptr;
}

bool readIntegers(PyObject* array, PyObject* name, std::array<int64_t, Tensor::kMaxRank>& numbers, size_t& count) {
  const Owned tuple(PyObject_GetAttr(array, name));
  if (tuple == nullptr || !PyTuple_Check(tuple.get())) return false;
  count = static_cast<size_t>(PyTuple_Size(tuple.get()));
  if (count > numbers.size()) return false;
  for (size_t i = 0; i < count; ++i)
    numbers[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple.get(), static_cast<Py_ssize_t>(i)));
  return PyErr_Occurred() == nullptr;
}

bool readPlace(PyObject* array, ArrayView& view) {
  const Owned memory(PyObject_GetAttr(array, names().data));
  if (memory == nullptr || !readAddress(memory.get(), names().ptr, view.data)) return false;
  const Owned device(PyObject_GetAttr(memory.get(), names().device_id));
  if (device == nullptr) return false;
  view.device = {.type = dlpack::DeviceType::Cuda, .id = static_cast<int32_t>(PyLong_AsLong(device.get()))};
  return PyErr_Occurred() == nullptr;
}

bool readAxes(PyObject* array, ArrayView& view) {
  size_t strides = 0;
  view.sizes_there = nullptr;
  view.strides_there = nullptr;
  if (!readIntegers(array, names().shape, view.sizes, view.rank)) return false;
  if (!readIntegers(array, names().strides, view.strides, strides) || strides != view.rank) return false;
  const int64_t bytes = sizeOf(view.dtype);
  for (size_t i = 0; i < strides; ++i) {
    if (view.strides[i] % bytes != 0) return false;
    view.strides[i] /= bytes;
  }
  return true;
}

bool readType(PyObject* array, ArrayView& view) {
  const Owned type(PyObject_GetAttr(array, names().dtype));
  const auto dtype = type == nullptr ? std::nullopt : dataTypeOfNumPy(type.get());
  if (dtype) view.dtype = *dtype;
  return dtype.has_value();
}

// A function of cupy.cuda, for the life of the process; null where there is none.
PyObject* functionOfCuda(const char* name) {
  const Owned module(PyImport_ImportModule("cupy.cuda"));
  if (module == nullptr) PyErr_Clear();
  return module == nullptr ? nullptr : attributeOf(module.get(), name).release();
}

// Memory of its own for elements that do not lie one behind the other from its beginning on.
Owned memoryFor(const OutputLayout& layout) {
  static PyObject* const allocate = functionOfCuda("alloc");
  if (allocate == nullptr) {
    PyErr_SetString(PyExc_ImportError, "this CuPy has no cupy.cuda.alloc");
    return nullptr;
  }
  Owned memory(PyObject_CallFunction(allocate, "L", static_cast<long long>(layout.bytes)));
  if (memory == nullptr || layout.offset == 0) return memory;
  const Owned offset(PyLong_FromLongLong(layout.offset));
  return Owned(offset == nullptr ? nullptr : PyNumber_Add(memory.get(), offset.get()));
}

}  // namespace

bool isCupyArrayType(PyTypeObject* type) {
  auto* const object = reinterpret_cast<PyObject*>(type);
  const Owned module = attributeOf(object, "__module__");
  return isTextEqual(attributeOf(object, "__name__"), "ndarray") &&
         (isTextEqual(module, "cupy") || isTextEqual(module, "cupy._core.core"));
}

bool viewCupyArray(PyObject* array, ArrayView& view) {
  view.is_writeable = true;
  if (readType(array, view) && readPlace(array, view) && readAxes(array, view)) return true;
  PyErr_Clear();
  return false;
}

PyObject* newCupyArray(PyTypeObject* type, const OutputLayout& layout) {
  const Owned sizes = tupleOfIntegers(layout.sizes);
  const Owned dtype(numPyTypeOf(layout.dtype));
  if (sizes == nullptr || dtype == nullptr) return nullptr;
  auto* const make = reinterpret_cast<PyObject*>(type);
  if (layout.isRowMajor() && layout.offset == 0)
    return PyObject_CallFunctionObjArgs(make, sizes.get(), dtype.get(), nullptr);
  const Owned memory = memoryFor(layout);
  const Owned strides = tupleOfIntegers(layout.strides, sizeOf(layout.dtype));
  if (memory == nullptr || strides == nullptr) return nullptr;
  return PyObject_CallFunctionObjArgs(make, sizes.get(), dtype.get(), memory.get(), strides.get(), nullptr);
}

bool currentCupyStream(int32_t device, CallersStream& stream) {
  static PyObject* const current = functionOfCuda("get_current_stream");
  Owned told(current == nullptr ? nullptr : PyObject_CallFunction(current, "i", static_cast<int>(device)));
  if (told != nullptr && readAddress(told.get(), names().ptr, stream.handle)) {
    stream.owner = nanobind::steal(told.release());
    return true;
  }
  PyErr_Clear();
  return false;
}

}  // namespace tokamak::python
