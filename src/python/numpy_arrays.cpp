#include "python/numpy_arrays.h"

#include <numpy/arrayobject.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace tokamak::python {

namespace {

static_assert(sizeof(npy_intp) == sizeof(int64_t));

constexpr int64_t kAlignment = 64;   // bytes, of outputs whose loops take long enough to notice
constexpr int64_t kFewBytes = 2048;  // below, NumPy's own memory does

// The table of NumPy's functions is there once its first array came, which whoever made it had imported. Where NumPy is
// older than the headers that this was compiled with, arrays go the way of all others.
enum class State : uint8_t { Unknown, Loaded, Refused };
State numpy_state = State::Unknown;

bool isLoaded() {
  if (numpy_state != State::Unknown) return numpy_state == State::Loaded;
  numpy_state = _import_array() == 0 ? State::Loaded : State::Refused;
  if (numpy_state == State::Refused) PyErr_Clear();
  return numpy_state == State::Loaded;
}

bool isLoadedFor(PyObject* given) {
  if (numpy_state == State::Unknown && std::strcmp(Py_TYPE(given)->tp_name, "numpy.ndarray") != 0) return false;
  return isLoaded();
}

// NumPy's number of bfloat16, which ml_dtypes registers; NPY_NOTYPE, with Python's error raised, without that.
int bfloat16Number() {
  static int number = NPY_NOTYPE;
  if (number != NPY_NOTYPE) return number;
  PyObject* const module = PyImport_ImportModule("tokamak._types");
  if (module == nullptr) return NPY_NOTYPE;
  PyObject* const type = PyObject_CallMethod(module, "bfloat16_of_numpy", nullptr);
  Py_DECREF(module);
  if (type == nullptr) return NPY_NOTYPE;
  PyArray_Descr* descriptor = nullptr;
  if (PyArray_DescrConverter(type, &descriptor) != 0) {
    number = descriptor->type_num;
    Py_DECREF(descriptor);
  }
  Py_DECREF(type);
  return number;
}

bool isBFloat16(const PyArray_Descr* type) {
  const int number = type->type_num;
  if (number < NPY_USERDEF || type->type != 'E') return false;
  const int bfloat16 = bfloat16Number();
  if (bfloat16 == NPY_NOTYPE) PyErr_Clear();
  return number == bfloat16;
}

std::optional<DataType> elementTypeOf(const PyArray_Descr* type) {
  if (PyArray_ISNBO(type->byteorder) == 0) return std::nullopt;
  switch (type->type_num) {
    case NPY_BOOL: return DataType::Bool;
    case NPY_HALF: return DataType::F16;
    case NPY_FLOAT: return DataType::F32;
    case NPY_DOUBLE: return DataType::F64;
    case NPY_INT: return DataType::I32;
    case NPY_LONG: return sizeof(long) == 4 ? DataType::I32 : DataType::I64;
    case NPY_LONGLONG: return DataType::I64;
    default: return isBFloat16(type) ? std::optional(DataType::BF16) : std::nullopt;
  }
}

int numberOf(DataType dtype) {
  switch (dtype) {
    case DataType::Bool: return NPY_BOOL;
    case DataType::I32: return NPY_INT32;
    case DataType::I64: return NPY_INT64;
    case DataType::F16: return NPY_HALF;
    case DataType::F32: return NPY_FLOAT;
    case DataType::F64: return NPY_DOUBLE;
    case DataType::BF16: return bfloat16Number();
  }
  return NPY_NOTYPE;
}

}  // namespace

bool viewNumPyArray(PyObject* given, ArrayView& view) {
  if (!isLoadedFor(given) || !PyArray_CheckExact(given)) return false;
  auto* const array = reinterpret_cast<PyArrayObject*>(given);
  const auto dtype = elementTypeOf(PyArray_DESCR(array));
  if (!dtype || PyArray_NDIM(array) > static_cast<int>(Tensor::kMaxRank)) return false;
  view.data = PyArray_DATA(array);
  view.dtype = *dtype;
  view.device = {};
  view.is_writeable = PyArray_ISWRITEABLE(array) != 0;
  view.rank = static_cast<size_t>(PyArray_NDIM(array));
  const npy_intp bytes = PyArray_ITEMSIZE(array);
  view.sizes_there = PyArray_DIMS(array);
  view.strides_there = nullptr;
  const int shift = std::countr_zero(static_cast<uint64_t>(bytes));  // a division takes longer than all else
  for (size_t i = 0; i < view.rank; ++i) {
    const npy_intp stride = PyArray_STRIDES(array)[i];
    if ((stride & (bytes - 1)) != 0) return false;
    view.strides[i] = stride >> shift;
  }
  return true;
}

bool canMakeNumPyArrays() { return numpy_state == State::Loaded; }

PyObject* newNumPyArray(const OutputLayout& layout) {
  auto* const type = reinterpret_cast<PyArray_Descr*>(numPyTypeOf(layout.dtype));
  if (type == nullptr) return nullptr;
  const int64_t bytes = sizeOf(layout.dtype);
  std::array<npy_intp, Tensor::kMaxRank> sizes = {};
  std::array<npy_intp, Tensor::kMaxRank> strides = {};
  for (size_t i = 0; i < layout.sizes.size(); ++i) {
    sizes[i] = layout.sizes[i];
    strides[i] = layout.strides[i] * bytes;
  }
  const auto rank = static_cast<int>(layout.sizes.size());
  if (layout.bytes <= kFewBytes && layout.isRowMajor())
    return PyArray_NewFromDescr(&PyArray_Type, type, rank, sizes.data(), nullptr, nullptr, 0, nullptr);
  const npy_intp room = layout.bytes + kAlignment;
  PyObject* const memory = PyArray_SimpleNew(1, &room, NPY_UINT8);
  if (memory == nullptr) {
    Py_DECREF(type);
    return nullptr;
  }
  auto* data = static_cast<char*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(memory)));
  data += -reinterpret_cast<uintptr_t>(data) % kAlignment + static_cast<uintptr_t>(layout.offset);
  PyObject* const made =
      PyArray_NewFromDescr(&PyArray_Type, type, rank, sizes.data(), strides.data(), data, NPY_ARRAY_WRITEABLE, nullptr);
  if (made == nullptr) {
    Py_DECREF(memory);
    return nullptr;
  }
  if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(made), memory) != 0) {
    Py_DECREF(made);
    return nullptr;
  }
  return made;
}

std::optional<DataType> dataTypeOfNumPy(PyObject* dtype) {
  if (!isLoaded() || !PyArray_DescrCheck(dtype)) return std::nullopt;
  const auto* const type = reinterpret_cast<const PyArray_Descr*>(dtype);
  return elementTypeOf(type);
}

PyObject* numPyTypeOf(DataType dtype) {
  if (!isLoaded()) {
    PyErr_SetString(PyExc_ImportError, "this NumPy is older than the one that tokamak was compiled with");
    return nullptr;
  }
  const int number = numberOf(dtype);
  return number == NPY_NOTYPE ? nullptr : reinterpret_cast<PyObject*>(PyArray_DescrFromType(number));
}

}  // namespace tokamak::python
