#include "loops/function_loops.h"

namespace tokamak {

template struct FunctionLoops<int32_t>;

}  // namespace tokamak
