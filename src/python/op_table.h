// The table of what can be called by name, for Python.
#pragma once

#include <nanobind/nanobind.h>

namespace tokamak::python {

/// By name: a dictionary of `parameters` (name, whether it is required, kind, value when left out), `results`
/// (names) and `meaning` (a sentence).
nanobind::dict callablesOf();

}  // namespace tokamak::python
