// Compiled code that answers one question.
#pragma once

#include "toolchain/shared_object.h"

namespace tokamak {

/// What the object's function `int answer(void)` returns.
inline int answerOf(const SharedObject& object) { return reinterpret_cast<int (*)()>(object.symbol("answer"))(); }

}  // namespace tokamak
