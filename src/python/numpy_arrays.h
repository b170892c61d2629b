// NumPy's arrays by their struct: the fast way in and out, loaded when the first array comes.
#pragma once

#include <Python.h>

#include <optional>

#include "device/output_layout.h"
#include "python/array_view.h"

namespace tokamak::python {

/// False for other objects, subclasses of NumPy's class included, and for arrays of types, byte orders, strides or
/// ranks that the library lacks. With the interpreter's lock.
bool viewNumPyArray(PyObject* given, ArrayView& view);

/// Whether viewNumPyArray() has seen an array.
bool canMakeNumPyArrays();
/// A new array that lies so in memory of its own, and is a new reference; null where Python raised an error, as for
/// bf16 without the package ml_dtypes. With the interpreter's lock, where canMakeNumPyArrays().
PyObject* newNumPyArray(const OutputLayout& layout);

/// The type of elements that an object numpy.dtype stands for. Nothing for types and byte orders that the library
/// lacks, and for other objects. With the interpreter's lock.
std::optional<DataType> dataTypeOfNumPy(PyObject* dtype);
/// numpy.dtype, a new reference; null where Python raised an error. With the interpreter's lock.
PyObject* numPyTypeOf(DataType dtype);

}  // namespace tokamak::python
