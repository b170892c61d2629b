// Arrays of types that have DLPack's table of functions, such as torch's: the fast way in and out.
#pragma once

#include <Python.h>

#include "device/output_layout.h"
#include "python/array_view.h"

namespace tokamak::python {

/// The table of an array's type. Null for types without one, and for subclasses, which may have other elements than
/// their base (Parameter of torch is taken as its base). With the interpreter's lock.
const dlpack::ExchangeTable* exchangeTableOf(PyObject* array);

/// False for arrays that the table does not tell, or of types or ranks that the library lacks. With the interpreter's
/// lock.
bool viewArray(const dlpack::ExchangeTable& table, PyObject* array, ArrayView& view);

/// A new array in memory of its own that lies so, and is a new reference; null where Python raised an error. `view` is
/// what it says of itself. With the interpreter's lock.
PyObject* newArray(const dlpack::ExchangeTable& table, const OutputLayout& layout, const dlpack::Device& device,
                   ArrayView& view);

}  // namespace tokamak::python
