#include "python/numpy_arrays.h"

#include <numpy/arrayobject.h>

#include <algorithm>
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
State state = State::Unknown;

bool isLoadedFor(PyObject* given) {
  if (state != State::Unknown) return state == State::Loaded;
  if (std::strcmp(Py_TYPE(given)->tp_name, "numpy.ndarray") != 0) return false;
  state = _import_array() == 0 ? State::Loaded : State::Refused;
  if (state == State::Refused) PyErr_Clear();
  return state == State::Loaded;
}

std::optional<DataType> elementTypeOf(PyArrayObject* array) {
  if (PyArray_ISBYTESWAPPED(array)) return std::nullopt;
  const auto bytes = PyArray_ITEMSIZE(array);
  switch (PyArray_TYPE(array)) {
    case NPY_BOOL: return DataType::Bool;
    case NPY_HALF: return DataType::F16;
    case NPY_FLOAT: return DataType::F32;
    case NPY_DOUBLE: return DataType::F64;
    case NPY_INT:
    case NPY_LONG:
    case NPY_LONGLONG: return bytes == 4 ? DataType::I32 : DataType::I64;
    default: return std::nullopt;
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
    case DataType::BF16: return NPY_NOTYPE;
  }
  return NPY_NOTYPE;
}

// Without gaps, so that NumPy finds the same strides.
bool isRowMajor(const OutputLayout& layout) {
  int64_t dense = 1;
  for (size_t i = layout.sizes.size(); i-- > 0; dense *= layout.sizes[i]) {
    if (layout.strides[i] != dense) return false;
  }
  return layout.offset == 0 && layout.bytes == dense * sizeOf(layout.dtype);
}

}  // namespace

std::optional<NumPyArray> numPyArrayOf(PyObject* given) {
  if (!isLoadedFor(given) || !PyArray_CheckExact(given)) return std::nullopt;
  auto* const array = reinterpret_cast<PyArrayObject*>(given);
  const auto dtype = elementTypeOf(array);
  NumPyArray made = {.data = PyArray_DATA(array), .is_writeable = PyArray_ISWRITEABLE(array) != 0};
  made.rank = static_cast<size_t>(PyArray_NDIM(array));
  if (!dtype || made.rank > made.sizes.size()) return std::nullopt;
  made.dtype = *dtype;
  const npy_intp bytes = PyArray_ITEMSIZE(array);
  for (size_t i = 0; i < made.rank; ++i) {
    const npy_intp stride = PyArray_STRIDES(array)[i];
    if (stride % bytes != 0) return std::nullopt;
    made.sizes[i] = PyArray_DIMS(array)[i];
    made.strides[i] = stride / bytes;
  }
  return made;
}

bool canMakeNumPyArrays() { return state == State::Loaded; }

bool isNumPyType(DataType dtype) { return numberOf(dtype) != NPY_NOTYPE; }

PyObject* newNumPyArray(const OutputLayout& layout) {
  PyArray_Descr* const type = PyArray_DescrFromType(numberOf(layout.dtype));
  if (type == nullptr) return nullptr;
  const int64_t bytes = sizeOf(layout.dtype);
  std::array<npy_intp, Tensor::kMaxRank> sizes = {};
  std::array<npy_intp, Tensor::kMaxRank> strides = {};
  for (size_t i = 0; i < layout.sizes.size(); ++i) {
    sizes[i] = layout.sizes[i];
    strides[i] = layout.strides[i] * bytes;
  }
  const auto rank = static_cast<int>(layout.sizes.size());
  if (layout.bytes <= kFewBytes && isRowMajor(layout))
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

}  // namespace tokamak::python
