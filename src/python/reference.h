// Reference: what a definition must give for some inputs, and the judgement of results, for Python.
#pragma once

#include <nanobind/nanobind.h>

namespace tokamak::python {

/// The class Reference. The classes Definition and Device are bound.
void bindReference(nanobind::module_& m);

}  // namespace tokamak::python
