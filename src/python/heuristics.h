// Heuristics: what kind of kernel a definition is, and schedules by the library's rules.
#pragma once

#include <nanobind/nanobind.h>

namespace tokamak::python {

/// KernelTarget, ChosenParameters, judge_kinds, choose_parameters, apply_parameters. The class Definition is bound.
void bindHeuristics(nanobind::module_& m);

}  // namespace tokamak::python
