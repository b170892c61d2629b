// References to Python's objects for code that nanobind would make slower.
#pragma once

#include <Python.h>

#include <cstdint>
#include <memory>
#include <span>

namespace tokamak::python {

struct Release {
  void operator()(PyObject* object) const { Py_DECREF(object); }
};
using Owned = std::unique_ptr<PyObject, Release>;

/// Null, without an error, where there is none.
inline Owned attributeOf(PyObject* object, const char* name) {
  Owned found(PyObject_GetAttrString(object, name));
  if (found == nullptr) PyErr_Clear();
  return found;
}

/// False for null, and for what is no text.
inline bool isTextEqual(const Owned& text, const char* wanted) {
  return text != nullptr && PyUnicode_Check(text.get()) && PyUnicode_CompareWithASCIIString(text.get(), wanted) == 0;
}

/// A tuple of the numbers, each times `factor`; null where Python raised an error.
inline Owned tupleOfIntegers(std::span<const int64_t> numbers, int64_t factor = 1) {
  Owned tuple(PyTuple_New(static_cast<Py_ssize_t>(numbers.size())));
  for (size_t i = 0; tuple != nullptr && i < numbers.size(); ++i) {
    PyObject* const number = PyLong_FromLongLong(numbers[i] * factor);
    if (number == nullptr) return nullptr;
    PyTuple_SetItem(tuple.get(), static_cast<Py_ssize_t>(i), number);
  }
  return tuple;
}

}  // namespace tokamak::python
