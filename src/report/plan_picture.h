// Plan picture: what a plan enqueues on which stream.
#pragma once

#include <string>
#include <string_view>

#include "host/check/step_list.h"
#include "host/plan/plan.h"

namespace tokamak {

/// As an SVG file: a column per stream, and arrows for the waits that the plan keeps (docs/pictures.md). Steps beyond
/// `most_steps` are left out, which the picture says. Errors: none but of memory.
std::string planPicture(const Plan& plan, std::string_view name, std::string_view id_prefix = "",
                        size_t most_steps = 400);

/// As an SVG file: the bytes of intermediates that are allocated after each step of the plan as it was recorded, and
/// the bytes that the plan holds for them.
std::string memoryPicture(const Plan& plan, std::string_view name, std::string_view id_prefix = "");

/// "T7 = linear(T6, T1)", "fill T3 with zero": what a step does, in a few words.
std::string stepText(const Step& step, const StepList& list);

}  // namespace tokamak
