#include "oracle/exceptions.h"

#include <algorithm>
#include <iterator>

namespace tokamak::oracle {

namespace {

constexpr Exception kExceptions[] = {
    {FunctionId::exp_term, 128, 0, 1,
     "a term of a sum that has a term of 1: the argument is rounded once more, and what is smaller than normal numbers "
     "counts as 0"},
    {FunctionId::lgamma, 0, 8, 0,
     "log|gamma| crosses zero between any two poles and at 1 and 2; libraries promise an absolute error there"},
    {FunctionId::sigmoid, 0, 0, 1024,
     "1 / (1 + exp(-x)) becomes 0 where exp overflows, a little before the exact result is the smallest number"},
    {FunctionId::silu, 0, 0, 1048576,
     "x / (1 + exp(-x)) becomes 0 where exp overflows; the exact result is then |x| times that of sigmoid"},
};

}  // namespace

std::span<const Exception> exceptions() { return kExceptions; }

const Exception* exceptionFor(FunctionId function) {
  const auto* found = std::ranges::find(kExceptions, function, &Exception::function);
  return found == std::end(kExceptions) ? nullptr : found;
}

}  // namespace tokamak::oracle
