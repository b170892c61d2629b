#include "loops/function_loops.h"

namespace tokamak {

template struct FunctionLoops<float>;

}  // namespace tokamak
