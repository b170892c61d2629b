// Programs: compiled from definitions and texts, loaded from files, exported.
#pragma once

#include <nanobind/nanobind.h>

namespace tokamak::python {

/// Compiled, Call, BoundCall, LastCall, and what makes programs. The classes Definition and Device are bound.
void bindPrograms(nanobind::module_& m);

}  // namespace tokamak::python
