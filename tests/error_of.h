// errorOf: the error that a call raises, for tests of messages.
#pragma once

#include "base/error.h"

namespace tokamak {

template <class Function>
Error errorOf(const Function& function) {
  try {
    function();
  } catch (const Error& error) {
    return error;
  }
  return {ErrorCode::Internal, "nothing was raised"};
}

}  // namespace tokamak
