// Looking inside: what becomes of calls, as Python's lists and dictionaries.
#pragma once

#include <vector>

#include <nanobind/nanobind.h>

#include "python/compiled.h"
#include "report/explanation.h"
#include "report/program_pictures.h"

namespace tokamak::python {

nanobind::dict toPython(const Explanation& explanation);
/// A list of (name, SVG file).
nanobind::list toPython(const std::vector<ProgramPicture>& pictures);
/// A list of (inputs, reason, seconds).
nanobind::list toPython(const std::vector<NewCall>& calls);

/// The class Profile, and the function that watches compilers.
void bindInside(nanobind::module_& m);

}  // namespace tokamak::python
