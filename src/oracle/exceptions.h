// What single functions may deviate by beyond the general rule of the numerics policy, each with its reason.
#pragma once

#include <span>
#include <string_view>

#include "symbolic/functions.h"

namespace tokamak::oracle {

struct Exception {
  FunctionId function;
  double ulps;              ///< further ulps of the result's type
  double epsilons;          ///< an absolute bound, in units of the type's epsilon
  double smallest_normals;  ///< an absolute bound, in units of the type's smallest normal number
  std::string_view reason;
};

std::span<const Exception> exceptions();
/// The exception for `function`, or null.
const Exception* exceptionFor(FunctionId function);

}  // namespace tokamak::oracle
