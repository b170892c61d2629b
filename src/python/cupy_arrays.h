// CuPy's arrays by their attributes, which take a tenth of what DLPack's capsules do: CuPy has no table of functions.
#pragma once

#include <Python.h>

#include "device/output_layout.h"
#include "python/array_view.h"
#include "python/callers_stream.h"

namespace tokamak::python {

/// Whether `type` is CuPy's class of arrays. Subclasses are not: they may have other elements.
bool isCupyArrayType(PyTypeObject* type);

/// With the interpreter's lock, and an array whose type isCupyArrayType(). False for arrays of types, byte orders,
/// strides or ranks that the library lacks, and for what has not such attributes.
bool viewCupyArray(PyObject* array, ArrayView& view);
/// A new array of `type` that lies so in memory of its own on the device that is current, and is a new reference; null
/// where Python raised an error.
PyObject* newCupyArray(PyTypeObject* type, const OutputLayout& layout);
/// The object of the stream that is current on a device. False where CuPy does not tell.
bool currentCupyStream(int32_t device, CallersStream& stream);

}  // namespace tokamak::python
