// Programs: compiled from definitions and texts, loaded from files, exported.
#pragma once

#include <nanobind/nanobind.h>

namespace tokamak {
struct PlanSummary;
}

namespace tokamak::python {

/// Compiled, Call, BoundCall, LastCall, and what makes programs. The classes Definition and Device are bound.
void bindPrograms(nanobind::module_& m);

/// What a plan has, by the names of the package's records.
void tellPlan(const PlanSummary& plan, nanobind::dict& told);

}  // namespace tokamak::python
